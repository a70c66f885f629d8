// Projected boosting: boosting replayed on fixed tree structures seen through a subset of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shaff/forest.hpp"

namespace shaff {

// The code that stands for a missing value; every other code of a column is smaller.
inline constexpr std::uint16_t kMissingCode = 0xFFFF;

// Trees over coded columns. A leaf has feature -1. `code <= threshold` goes left, or, at a node
// with category_set >= 0, membership of the code in that bit set; a missing value follows
// missing_left. Children are absolute node indices; tree t starts at its root, tree_offset[t].
struct BoostedTrees {
  std::span<const std::int32_t> feature;
  std::span<const std::uint16_t> threshold;
  std::span<const std::int32_t> left;
  std::span<const std::int32_t> right;
  std::span<const std::uint8_t> missing_left;
  std::span<const std::int32_t> category_set;
  std::span<const std::int64_t> set_offset;  // first word of each bit set, and one end
  std::span<const std::uint64_t> set_words;
  std::span<const std::int64_t> tree_offset;
  std::span<const double> gain = {};  // of the splits; only linear steps ask for it

  std::size_t n_trees() const { return tree_offset.size() - 1; }
};

// Rows of one fold, training rows first. Codes are column-major.
struct BoostingRows {
  std::span<const std::uint16_t> codes;
  std::span<const double> weight;  // of the training rows; its size says how many they are
  std::size_t n_rows;
  // Standardised numbers, column-major, for linear steps; empty: steps are constant.
  std::span<const float> values = {};

  std::size_t n_train() const { return weight.size(); }
  const std::uint16_t* column(std::size_t j) const { return codes.data() + j * n_rows; }
};

struct ReplayOptions {
  double learning_rate;
  double shrinkage;
  double slope_shrinkage = 0.0;  // above 0 for linear steps
};

// Two more replays, each with steps that half of the training rows decide: the first `n_first`
// rows, or the other training rows. A half has half of each shrinkage, so that cells are shrunk as
// by all.
struct HalfResiduals {
  std::size_t n_first = 0;
  std::span<double> train;  // (n_subsets, n_train): of each row by its own half
  std::span<double> test;   // (n_subsets, 2, n_test): of the held-out rows by both

  bool wanted() const { return !train.empty(); }
};

// Replays every tree, in order, for each of the subsets of columns (packed bits, row-major).
//
// The cells of a tree for a subset U are its projected partition: two rows share a cell iff they
// can reach the same leaves when splits outside U send a row both ways. A cell steps by
// learning_rate * sum(weight * residual) / (sum(weight) + shrinkage) over its training rows, and
// the step leaves the residual of all rows of the cell. `residual` has shape
// (n_subsets, n_rows); it holds the start's residuals and is overwritten with the final ones, and
// so are those of the halves where they are wanted: they share the cells.
//
// With `values` a step is linear in up to three numeric columns of U that the tree splits on, those
// of the largest gains: to the constant comes b (x - mean of x), where b is the ridge regression of
// the cell's residuals on x, with slope_shrinkage added to the diagonal of the Gram matrix. Cells
// that weigh less than 5 and twice the number of slopes have none. Held-out rows are clipped to
// what the cell's training rows have.
//
// Returns false if interrupted; the residuals are then those of no tree in particular.
bool replay_boosting(const BoostedTrees& trees, const BoostingRows& rows,
                     std::span<const std::uint64_t> subsets, std::size_t words_per_subset,
                     const ReplayOptions& options, std::span<double> residual,
                     const HalfResiduals& halves, const Interrupted& interrupted);

}  // namespace shaff
