// What the core knows of a forest: node arrays of all trees end to end, on rank-coded data.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace shaff {

// Children are numbered within their tree; a leaf has feature -1. A row goes left when the code of
// its value is less than `cut`, or when the value is missing and `missing_left` is set.
struct TreeView {
  std::span<const std::int32_t> feature;
  std::span<const std::uint32_t> cut;
  std::span<const std::int32_t> left;
  std::span<const std::int32_t> right;
  std::span<const std::uint8_t> missing_left;
};

struct ForestView {
  std::span<const std::int64_t> offsets;  // n_trees + 1
  TreeView nodes;

  std::size_t n_trees() const { return offsets.size() - 1; }

  TreeView tree(std::size_t t) const {
    const auto first = static_cast<std::size_t>(offsets[t]);
    const auto count = static_cast<std::size_t>(offsets[t + 1]) - first;
    return {nodes.feature.subspan(first, count), nodes.cut.subspan(first, count),
            nodes.left.subspan(first, count), nodes.right.subspan(first, count),
            nodes.missing_left.subspan(first, count)};
  }
};

// Which splits lie below which, without where they cut.
struct TreeShape {
  std::span<const std::int32_t> feature;
  std::span<const std::int32_t> left;
  std::span<const std::int32_t> right;
};

struct ForestShape {
  std::span<const std::int64_t> offsets;  // n_trees + 1
  TreeShape nodes;

  std::size_t n_trees() const { return offsets.size() - 1; }

  TreeShape tree(std::size_t t) const {
    const auto first = static_cast<std::size_t>(offsets[t]);
    const auto count = static_cast<std::size_t>(offsets[t + 1]) - first;
    return {nodes.feature.subspan(first, count), nodes.left.subspan(first, count),
            nodes.right.subspan(first, count)};
  }
};

// Column-major ranks of the values; the largest code of the type stands for a missing value.
template <class Code>
struct CodedRows {
  std::span<const Code> codes;                // n_columns x n_rows
  std::span<const std::uint8_t> has_missing;  // n_columns
  std::size_t n_rows;

  static constexpr Code missing = static_cast<Code>(-1);
  const Code* column(std::int32_t j) const {
    return codes.data() + static_cast<std::size_t>(j) * n_rows;
  }
};

// True ends a long evaluation early. It is asked at the start and then every 20 ms (poll.hpp),
// however long a tree or a subset takes, and not again once it has said yes.
using Interrupted = std::function<bool()>;

// A byte that another thread sets while kernels run. Nothing else is passed on with it, so that no
// order with other memory is needed: once set it is seen at some later poll.
inline bool is_set(std::uint8_t& flag) {
  return std::atomic_ref<std::uint8_t>(flag).load(std::memory_order_relaxed) != 0;
}

inline bool contains(std::span<const std::uint64_t> subset, std::int32_t feature) {
  return (subset[static_cast<std::size_t>(feature) / 64] >> (feature % 64)) & 1u;
}

}  // namespace shaff
