// Cells of middle size: a range of the list of bag places and one of the query places, which a cut
// partitions in place.
//
// Invariants
// - A place stays in the range of the cell that it is in: cells that wait keep their ranges whole
//   while others are partitioned.
// - The partition is stable, so the sums over a cell add in the same order in every build.
#pragma once

#include <cstring>
#include <limits>

#include "block_cells.hpp"
#include "cell_mean.hpp"
#include "splits.hpp"

namespace shaff {
namespace {

template <class Value>
class ListCells {
 public:
  ListCells(const TreeData<Value>& tree, const ListScratch& scratch, Splits<Value>& splits,
            CellMean<Value>& mean, BlockCells<Value>& block_cells)
      : tree_(tree), scratch_(scratch), splits_(splits), mean_(mean), block_cells_(block_cells) {}

  // Walks the cell and every cell that it is cut in; those that wait below are left alone.
  void walk_all(const ListCell& cell) {
    const std::size_t base = splits_.n_pending();
    walk(cell);
    while (splits_.n_pending() > base) {
      const auto right = splits_.pop();
      mean_.forget();
      walk(right.lists);
    }
  }

 private:
  void walk(ListCell cell) {
    for (;;) {
      if (cell.n_query() == 0) return;
      if (cell.n_bag() <= kBlock && cell.n_query() <= kBlock)
        return block_cells_.walk(scratch_.bag + cell.bag_begin, cell.n_bag(),
                                 scratch_.query + cell.query_begin, cell.n_query());
      const std::int32_t node = splits_.next_cut();
      if (node < 0) {
        sum(cell);
        return emit(cell.query_begin, cell.query_end);
      }
      const std::uint32_t bag = partition(scratch_.bag, cell.bag_begin, cell.bag_end, node);
      const std::uint32_t query = partition(scratch_.query, cell.query_begin, cell.query_end, node);
      const bool none_left = bag == cell.bag_begin && query == cell.query_begin;
      if (none_left || (bag == cell.bag_end && query == cell.query_end)) {
        splits_.follow(node, none_left);
        continue;
      }
      const bool left = enough(cell.bag_begin, bag), right = enough(bag, cell.bag_end);
      const bool left_queries = query > cell.query_begin, right_queries = cell.query_end > query;
      if ((!left && left_queries) || (!right && right_queries)) sum(cell);
      if (!left && left_queries) emit(cell.query_begin, query);
      if (!right && right_queries) emit(query, cell.query_end);
      const bool keep_left = left && left_queries, keep_right = right && right_queries;
      if (!keep_left && !keep_right) return;
      if (keep_left && keep_right)
        splits_.push_right({}, {bag, cell.bag_end, query, cell.query_end}, node,
                           splits_.arena_size());
      mean_.forget();
      (keep_left ? cell.bag_end : cell.bag_begin) = bag;
      (keep_left ? cell.query_end : cell.query_begin) = query;
      splits_.follow(node, !keep_left);
    }
  }

  // Stable and without branches: places of the left side first.
  std::uint32_t partition(std::uint32_t* places, std::uint32_t begin, std::uint32_t end,
                          std::int32_t node) {
    const ProjectedNode<Value> split = splits_.node(node);
    const Value* values = tree_.column_values(split.column);
    std::uint32_t left = begin, right = 0;
    for (std::uint32_t k = begin; k < end; ++k) {
      const std::uint32_t place = places[k];
      const Value value = values[place];
      const bool goes_left =
          value < split.cut || (split.missing_left && value == std::numeric_limits<Value>::max());
      places[left] = place;
      scratch_.spare[right] = place;
      left += goes_left;
      right += !goes_left;
    }
    std::memcpy(places + left, scratch_.spare, right * sizeof(std::uint32_t));
    return left;
  }

  bool enough(std::uint32_t begin, std::uint32_t end) const {
    if (end - begin >= tree_.enough_places) return true;
    double total = 0;
    for (std::uint32_t k = begin; k < end; ++k) total += mean_.weight(scratch_.bag[k]);
    return total >= tree_.min_node_size;
  }

  void sum(const ListCell& cell) {
    if (mean_.is_known()) return;
    mean_.clear();
    for (std::uint32_t k = cell.bag_begin; k < cell.bag_end; ++k) mean_.add(scratch_.bag[k]);
    mean_.know();
  }

  void emit(std::uint32_t begin, std::uint32_t end) {
    mean_.divide();
    for (std::uint32_t k = begin; k < end; ++k) mean_.emit(scratch_.query[k]);
  }

  const TreeData<Value>& tree_;
  const ListScratch scratch_;
  Splits<Value>& splits_;
  CellMean<Value>& mean_;
  BlockCells<Value>& block_cells_;
};

}  // namespace
}  // namespace shaff
