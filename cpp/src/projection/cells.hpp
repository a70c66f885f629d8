// What a cell is, in the two forms that can wait for their turn.
#pragma once

#include <cstdint>

namespace shaff {
namespace {

inline std::uint64_t low_bits(std::uint32_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

struct Words {  // a range of words of a bit set
  std::uint32_t begin, end;
  std::uint32_t size() const { return end - begin; }
};

// Where the current bit set has bits, and how many. No bit outside of the words is read.
struct BitCell {
  Words bag, queries;
  std::uint32_t n_bag, n_query;
};

// Ranges of the lists of places. Cells that wait have ranges that no other cell shares.
struct ListCell {
  std::uint32_t bag_begin, bag_end, query_begin, query_end;
  std::uint32_t n_bag() const { return bag_end - bag_begin; }
  std::uint32_t n_query() const { return query_end - query_begin; }
};

}  // namespace
}  // namespace shaff
