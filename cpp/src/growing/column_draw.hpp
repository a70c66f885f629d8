// Which columns a node looks at, by seed, tree and node alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shaff::growing {

// A bijection that leaves no trace of its input's order (the finalizer of SplitMix64).
inline std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class ColumnDraw {
 public:
  ColumnDraw(std::vector<std::uint32_t> columns, double share, std::uint64_t seed)
      : columns_(std::move(columns)), seed_(seed), wants_all_(share >= 1) {
    const std::size_t n = columns_.size();
    const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(n)));
    n_drawn_ = std::min(n, std::max<std::size_t>(wanted, 1));
  }

  // In the order in which they were drawn: of equal splits the first is taken, so that copies of a
  // column share alike. Where nothing is to be drawn, in their own order.
  std::span<const std::uint32_t> draw(std::size_t tree, std::size_t node) {
    if (wants_all_) return columns_;
    drawn_ = columns_;
    const std::uint64_t key = scramble(scramble(scramble(seed_) + tree) + node);
    for (std::size_t k = 0; k < n_drawn_; ++k) {
      const std::uint64_t left = drawn_.size() - k;
      const std::uint64_t place = ((scramble(key + k) >> 32) * left) >> 32;
      std::swap(drawn_[k], drawn_[k + static_cast<std::size_t>(place)]);
    }
    return std::span(drawn_).first(n_drawn_);
  }

 private:
  std::vector<std::uint32_t> columns_, drawn_;
  std::size_t n_drawn_ = 0;
  std::uint64_t seed_;
  bool wants_all_;
};

}  // namespace shaff::growing
