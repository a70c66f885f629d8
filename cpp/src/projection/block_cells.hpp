// Small cells: a block has at most 64 places of the bag and 64 queries, a set of its rows is one
// word, and all cells of the block are cut side by side, without branches, which nobody could
// predict.
//
// Invariants
// - A cell is named by its first query: its rows are in bag_of_ and queries_of_ there. The name 64
//   is that of cells without queries; it is written and never read.
// - The sets of queries of the cells that still move are disjoint and make up live_.
// - The rows of a cell have taken the same sides everywhere, so they reach a node together:
//   reach[node] is a union of cells.
// - Bits of a word past the block's rows are 0 in all sets of rows; the masks of a cut may have
//   anything there, since they are always met with such a set.
#pragma once

#include <limits>

#include "block_mask.hpp"
#include "cell_mean.hpp"
#include "splits.hpp"

namespace shaff {
namespace {

struct Sides {  // rows of a block
  std::uint64_t bag, queries;
};

// The binary digits of the excess weights (at most 7) of a block's bag, a mask each.
struct Digits {
  std::uint64_t ones, twos, fours;
  std::uint32_t weight(std::uint64_t bag) const {
    return count_bits(bag) + count_bits(bag & ones) + 2 * count_bits(bag & twos) +
           4 * count_bits(bag & fours);
  }
};

template <class Value>
class BlockCells {
 public:
  BlockCells(const TreeData<Value>& tree, const BlockScratch<Value>& scratch, Splits<Value>& splits,
             CellMean<Value>& mean)
      : tree_(tree),
        scratch_(scratch),
        splits_(splits),
        mean_(mean),
        whole_min_(tree.whole_weights ? static_cast<std::uint32_t>(tree.min_node_size) : 0) {}

  // Predicts all queries of a block. The lists are read up to a whole group past their ends.
  void walk(const std::uint32_t* bag, std::uint32_t n_bag, const std::uint32_t* query,
            std::uint32_t n_query) {
    bag_ = bag;
    query_ = query;
    n_bag_ = n_bag;
    n_query_ = n_query;
    live_ = low_bits(n_query_);
    bag_of_[0] = low_bits(n_bag_);
    queries_of_[0] = live_;
    n_stopped_ = 0;
    ++block_;
    if (tree_.whole_weights) weigh();
    splits_.each_of_frontier([this](std::uint32_t node) { scratch_.reach[node] = live_; });
    for (std::int32_t node; live_ != 0 && (node = splits_.next_node()) >= 0;) {
      const std::uint64_t reach = scratch_.reach[node] & live_;
      if (reach != 0) split(node, reach);
    }
    for (; live_ != 0; live_ &= ~queries_of_[first_bit(live_)])
      stopped_[n_stopped_++] = {bag_of_[first_bit(live_)], queries_of_[first_bit(live_)]};
    for (std::uint32_t k = 0; k < n_stopped_; ++k) predict(stopped_[k]);
  }

 private:
  void split(std::int32_t node, std::uint64_t reach) {
    const int side = splits_.side_by_box(node);
    std::uint64_t left = side == 1 ? 0 : reach, right = side == 0 ? 0 : reach;
    if (side < 0) {
      const Sides sides = goes_left(node);
      if (tree_.whole_weights)
        cut_cells<true>(sides, reach);
      else
        cut_cells<false>(sides, reach);
      left &= sides.queries & live_;
      right &= ~sides.queries & live_;
    }
    for (std::int32_t c = splits_.node(node).child; c >= 0; c = splits_.node(c).next) {
      scratch_.reach[c] = splits_.node(c).right ? right : left;
      splits_.set_bit(c, scratch_.reach[c] != 0);
    }
  }

  Sides goes_left(std::int32_t node) {
    const ProjectedNode<Value> split = splits_.node(node);
    const Value* values = column(static_cast<std::size_t>(split.column));
    Sides left{less_mask(values, split.cut), less_mask(values + kBlock, split.cut)};
    if (split.missing_left) {
      constexpr Value missing = std::numeric_limits<Value>::max();
      left.bag |= ~less_mask(values, missing);
      left.queries |= ~less_mask(values + kBlock, missing);
    }
    return left;
  }

  // A column of the block, first the bag and then the queries, read when first needed.
  const Value* column(std::size_t number) {
    const std::size_t group = number / kGroup<Value>, first = group * kGroup<Value>;
    if (scratch_.stamp[group] != block_) {
      const Value* table = tree_.grouped + first * tree_.n_words * kBlock;
      Value* out = scratch_.values + first * 2 * kBlock;
      transpose_rows(table, bag_, n_bag_, out);
      transpose_rows(table, query_, n_query_, out + kBlock);
      scratch_.stamp[group] = block_;
    }
    return scratch_.values + number * 2 * kBlock;
  }

  // Cuts every cell that reaches the node; a side that is too small keeps the cell for its queries.
  // Without a branch if weights are whole, and in registers: the arrays might alias members.
  template <bool whole>
  void cut_cells(const Sides& left, std::uint64_t reach) {
    const Digits digits = digits_;
    std::uint64_t all_stopped = 0;
    std::uint32_t n_stopped = n_stopped_;
    while (reach != 0) {
      const std::uint32_t cell = first_bit(reach);
      const std::uint64_t bag = bag_of_[cell], queries = queries_of_[cell];
      reach &= ~queries;
      const std::uint64_t left_bag = bag & left.bag, right_bag = bag & ~left.bag;
      const std::uint64_t left_queries = queries & left.queries,
                          right_queries = queries & ~left.queries;
      const bool left_enough = whole ? digits.weight(left_bag) >= whole_min_ : enough(left_bag);
      const bool right_enough = whole ? digits.weight(right_bag) >= whole_min_ : enough(right_bag);
      const std::uint64_t stopped =
          (left_enough ? 0 : left_queries) | (right_enough ? 0 : right_queries);
      stopped_[n_stopped] = {bag, stopped};  // at most 64 stop, and one more may be written
      n_stopped += stopped != 0;
      all_stopped |= stopped;
      name_cell(left_bag, left_queries);
      name_cell(right_bag, right_queries);
    }
    n_stopped_ = n_stopped;
    live_ &= ~all_stopped;
  }

  void name_cell(std::uint64_t bag, std::uint64_t queries) {
    const std::uint32_t name = first_bit(queries);  // 64 if there are none
    bag_of_[name] = bag;
    queries_of_[name] = queries;
  }

  bool enough(std::uint64_t bag) const {
    if (count_bits(bag) >= tree_.enough_places) return true;
    double total = 0;
    for (; bag != 0; bag &= bag - 1) total += mean_.weight(bag_[first_bit(bag)]);
    return total >= tree_.min_node_size;
  }

  void weigh() {
    const Value* excess = column(tree_.n_columns);
    std::uint64_t least[8];  // an excess of at least so much
    for (int k = 1; k < 8; ++k) least[k] = ~less_mask(excess, static_cast<Value>(k));
    digits_.ones =
        (least[1] & ~least[2]) | (least[3] & ~least[4]) | (least[5] & ~least[6]) | least[7];
    digits_.twos = (least[2] & ~least[4]) | least[6];
    digits_.fours = least[4];
  }

  void predict(const Sides& cell) {
    if (tree_.n_outputs == 1)
      sum_one_output(cell.bag);
    else
      sum_outputs(cell.bag);
    mean_.divide();
    for (std::uint64_t queries = cell.queries; queries != 0; queries &= queries - 1)
      mean_.emit(query_[first_bit(queries)]);
  }

  void sum_one_output(std::uint64_t bag) {  // in registers
    double weight = 0, total = 0;
    for (; bag != 0; bag &= bag - 1) {
      const double* row = tree_.part + 2 * bag_[first_bit(bag)];
      weight += row[0];
      total += row[1];
    }
    mean_.set_one_output(weight, total);
  }

  void sum_outputs(std::uint64_t bag) {
    mean_.clear();
    for (; bag != 0; bag &= bag - 1) mean_.add(bag_[first_bit(bag)]);
  }

  const TreeData<Value>& tree_;
  const BlockScratch<Value> scratch_;
  Splits<Value>& splits_;
  CellMean<Value>& mean_;
  const std::uint32_t whole_min_;  // used where weights are whole
  const std::uint32_t *bag_ = nullptr, *query_ = nullptr;
  std::uint32_t n_bag_ = 0, n_query_ = 0;
  std::uint64_t block_ = 0;  // counts the blocks of the tree
  std::uint64_t live_ = 0;   // the queries that still move
  std::uint64_t bag_of_[kBlock + 1], queries_of_[kBlock + 1];
  std::uint32_t n_stopped_ = 0;
  Sides stopped_[kBlock + 1];
  Digits digits_{};
};

}  // namespace
}  // namespace shaff
