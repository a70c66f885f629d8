// The cells of projected trees: what replaying on rows that are there and predicting rows that
// come later have in common.
//
// The cells of a projected tree are numbered from the leaves up. Under a split in U a row is in
// its own side's cell (the counts of the sides add); under any other split it is in a cell of
// each side (the counts multiply). Rows with the same number reach the same set of leaves.
//
// A subtree only sees the columns that it splits on, so subsets that agree on them share its
// cells: low in the tree almost all do, and only the root is left to do for each subset.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cell_sums.hpp"
#include "shaff/projected_boosting.hpp"

namespace shaff {

// Numbers keys in order of first appearance.
class KeyTable {
 public:
  void reset(std::size_t n_keys) {
    const std::size_t size = std::bit_ceil(2 * n_keys + 2);
    shift_ = 64 - std::countr_zero(size);
    keys_.resize(size);
    index_.assign(size, kFree);
    count_ = 0;
  }

  std::uint32_t number(std::uint64_t key) {
    const std::size_t slot = slot_of(key);
    if (index_[slot] == kFree) {
      keys_[slot] = key;
      index_[slot] = count_++;
    }
    return index_[slot];
  }

  // The number of a key, or how many there are if it has none.
  std::uint32_t find(std::uint64_t key) const {
    const std::uint32_t index = index_[slot_of(key)];
    return index == kFree ? count_ : index;
  }

  std::uint32_t count() const { return count_; }
  std::size_t bytes() const { return keys_.size() * 8 + index_.size() * 4; }

 private:
  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = index_.size() - 1;
    std::size_t slot = (key * 0x9E3779B97F4A7C15ULL) >> shift_;
    while (index_[slot] != kFree && keys_[slot] != key) slot = (slot + 1) & mask;
    return slot;
  }

  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> index_;
  std::uint32_t count_ = 0;
  int shift_ = 0;
};

// How the subsets split into groups that agree on a subtree.
struct Subtree {
  std::size_t node = 0;
  std::int32_t feature = -1;
  std::uint32_t left = 0, right = 0;  // positions of the children in the post-order
  std::vector<std::uint32_t> group;   // of each subset
  std::vector<std::uint32_t> first;   // one subset of each group
};

// The subtrees of one tree that hold a split, children before parents.
class TreeGroups {
 public:
  static constexpr std::uint32_t kLeaf = 0xFFFFFFFF;

  TreeGroups(const BoostedTrees& trees, std::span<const std::uint64_t> subsets, std::size_t words)
      : trees_(trees), subsets_(subsets), words_(words) {}

  // Reads the tree at `root` for the first `n_subsets` of the subsets.
  void read(std::size_t root, std::size_t n_subsets) {
    n_subsets_ = n_subsets;
    size_ = 0;
    add(root);
  }

  std::size_t size() const { return size_; }
  const Subtree& operator[](std::size_t at) const { return subtrees_[at]; }
  const Subtree& root() const { return subtrees_[size_ - 1]; }

  bool contains(std::size_t subset, std::int32_t feature) const {
    return subsets_[subset * words_ + feature / 64] >> (feature % 64) & 1;
  }

  // The subsets of each group of the root.
  const std::vector<std::vector<std::uint32_t>>& root_members() {
    members_.assign(root().first.size(), {});
    for (std::size_t u = 0; u < n_subsets_; ++u)
      members_[root().group[u]].push_back(static_cast<std::uint32_t>(u));
    return members_;
  }

 private:
  std::uint32_t add(std::size_t node) {
    if (trees_.feature[node] < 0) return kLeaf;
    const std::uint32_t left = add(static_cast<std::size_t>(trees_.left[node]));
    const std::uint32_t right = add(static_cast<std::size_t>(trees_.right[node]));
    if (subtrees_.size() == size_) subtrees_.emplace_back();
    Subtree& subtree = subtrees_[size_];
    subtree.node = node;
    subtree.feature = trees_.feature[node];
    subtree.left = left;
    subtree.right = right;
    group_subsets(subtree);
    return static_cast<std::uint32_t>(size_++);
  }

  std::uint64_t child_group(std::uint32_t child, std::size_t subset) const {
    return child == kLeaf ? 0 : subtrees_[child].group[subset];
  }

  // Subsets agree on a subtree iff they agree on its first split and on both sides of it.
  void group_subsets(Subtree& subtree) {
    subtree.group.resize(n_subsets_);
    subtree.first.clear();
    keys_.reset(n_subsets_);
    for (std::size_t u = 0; u < n_subsets_; ++u) {
      const std::uint64_t key = child_group(subtree.left, u) << 33 |
                                child_group(subtree.right, u) << 1 | contains(u, subtree.feature);
      const std::uint32_t group = keys_.number(key);
      subtree.group[u] = group;
      if (group == subtree.first.size()) subtree.first.push_back(static_cast<std::uint32_t>(u));
    }
  }

  const BoostedTrees& trees_;
  std::span<const std::uint64_t> subsets_;
  std::size_t words_, n_subsets_ = 0, size_ = 0;
  std::vector<Subtree> subtrees_;
  std::vector<std::vector<std::uint32_t>> members_;
  KeyTable keys_;
};

// Where the rows of one node go.
struct Split {
  std::int32_t feature = -1;
  std::uint16_t threshold = 0;
  bool missing_left = false;
  std::int32_t set = -1;  // of categories that go left, or -1

  Split(const BoostedTrees& trees, std::size_t node)
      : feature(trees.feature[node]),
        threshold(trees.threshold[node]),
        missing_left(trees.missing_left[node] != 0),
        set(trees.category_set[node]) {}

  // All bits set where the row goes left, so that the side is picked without a branch.
  template <class Id>
  void route(std::span<const std::uint16_t> code, std::span<const std::int64_t> set_offset,
             std::span<const std::uint64_t> set_words, Id* goes_left) const {
    if (set < 0) {
      for (std::size_t i = 0; i < code.size(); ++i) {
        const bool left = (code[i] <= threshold) | (missing_left & (code[i] == kMissingCode));
        goes_left[i] = static_cast<Id>(0 - static_cast<Id>(left));
      }
      return;
    }
    const auto words =
        set_words.subspan(static_cast<std::size_t>(set_offset[set]),
                          static_cast<std::size_t>(set_offset[set + 1] - set_offset[set]));
    for (std::size_t i = 0; i < code.size(); ++i) {
      bool left = missing_left;
      if (code[i] != kMissingCode)
        left = code[i] / 64u < words.size() && (words[code[i] / 64u] >> (code[i] % 64u) & 1);
      goes_left[i] = static_cast<Id>(0 - static_cast<Id>(left));
    }
  }
};

// Numbers under a split of the subset; a side without numbers (null) is one cell.
template <class Id>
void pick_side(const Id* goes_left, const Id* left, Id n_left, const Id* right, std::size_t n,
               Id* out) {
  if (left && right) {
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<Id>((left[i] & goes_left[i]) | ((right[i] + n_left) & ~goes_left[i]));
  } else if (left) {
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<Id>((left[i] & goes_left[i]) | (n_left & ~goes_left[i]));
  } else if (right) {
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<Id>((right[i] + n_left) & ~goes_left[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Id>(n_left & ~goes_left[i]);
  }
}

// The same where numbers may outgrow their type.
template <class Id>
std::uint64_t picked_key(const Id* goes_left, const Id* left, std::size_t n_left, const Id* right,
                         std::size_t i) {
  if (goes_left[i]) return left ? left[i] : 0;
  return n_left + (right ? right[i] : 0);
}

// Numbers under a split that the subset does not see.
template <class Id>
void cross_sides(const Id* left, const Id* right, Id n_right, std::size_t n, Id* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Id>(left[i] * n_right + right[i]);
}

template <class Id>
std::uint64_t crossed_key(const Id* left, const Id* right, std::size_t n_right, std::size_t i) {
  return static_cast<std::uint64_t>(left[i]) * n_right + right[i];
}

}  // namespace shaff
