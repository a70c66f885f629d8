// A tree as the kernel reads it: its splits in the order of Algorithm 1, its cuts by number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shaff/forest.hpp"

namespace shaff {
namespace {

// Internal nodes by depth, then from left to right: the order of the paper's Algorithm 1.
//
// Only the place of a value among the cuts of its column matters, so a cut is its number among
// those of the tree: most trees have few enough of them for one byte a value.
struct LevelOrder {
  std::vector<std::int32_t> feature, column, parent;
  std::vector<std::uint32_t> cut;  // a value goes left if fewer than this many cuts are <= its code
  std::vector<std::uint8_t> side, missing_left;
  std::vector<std::int32_t> columns;             // the features of the tree, once each
  std::vector<std::vector<std::uint32_t>> cuts;  // of each column, ascending
  std::size_t most_cuts = 0;

  explicit LevelOrder(const TreeView& tree) {
    read_nodes(tree);
    columns = feature;
    keep_distinct(columns);
    for (const auto f : feature) column.push_back(static_cast<std::int32_t>(place(columns, f)));
    number_cuts();
  }

 private:
  void read_nodes(const TreeView& tree) {
    struct Entry {
      std::int32_t node, parent;
      std::uint8_t side;
    };
    std::vector<Entry> queue{{0, -1, 0}};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const Entry entry = queue[head];
      if (tree.feature[entry.node] < 0) continue;
      const auto own = static_cast<std::int32_t>(feature.size());
      feature.push_back(tree.feature[entry.node]);
      cut.push_back(tree.cut[entry.node]);
      missing_left.push_back(tree.missing_left[entry.node]);
      parent.push_back(entry.parent);
      side.push_back(entry.side);
      queue.push_back({tree.left[entry.node], own, 0});
      queue.push_back({tree.right[entry.node], own, 1});
    }
  }

  void number_cuts() {
    cuts.resize(columns.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      cuts[static_cast<std::size_t>(column[i])].push_back(cut[i]);
    for (auto& of_column : cuts) {
      keep_distinct(of_column);
      most_cuts = std::max(most_cuts, of_column.size());
    }
    for (std::size_t i = 0; i < cut.size(); ++i)
      cut[i] =
          static_cast<std::uint32_t>(place(cuts[static_cast<std::size_t>(column[i])], cut[i]) + 1);
  }

  template <class T>
  static void keep_distinct(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  template <class T>
  static std::size_t place(const std::vector<T>& sorted, T value) {
    return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                    sorted.begin());
  }
};

}  // namespace
}  // namespace shaff
