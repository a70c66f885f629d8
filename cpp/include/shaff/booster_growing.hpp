// Gradient boosting by least squares on binned columns: the trees of the default booster.
//
// A tree grows best first: of all leaves the one is split whose best split lowers the loss most.
// Splits are found on histograms, and of two siblings only the smaller one's is built from rows:
// what is left of the parent's is the other's. Every node looks at some columns only, drawn by a
// counter, so that the trees are the same bits whoever grows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shaff/forest.hpp"

namespace shaff {

// A bin is one byte, so a column has at most so many and one more for missing values.
inline constexpr std::size_t kMaxBins = 255;
inline constexpr std::size_t kSetWords = 4;  // a bit for each bin

// Column j has the bins 0 to n_bins[j] - 1, and n_bins[j] for missing values. Categories have a bin
// each, in no order. Bins are column-major.
struct BinnedRows {
  std::span<const std::uint8_t> bins;
  std::span<const std::int32_t> n_bins;
  std::span<const std::uint8_t> categorical;
  std::span<const double> weight;  // of each row, whole ones count rows; empty: all are 1
  std::size_t n_rows;
  // Standardised numbers, column-major, for linear steps; empty: steps are constant.
  std::span<const float> values = {};

  std::size_t n_columns() const { return n_bins.size(); }
  const std::uint8_t* column(std::size_t j) const { return bins.data() + j * n_rows; }
};

// `max_features`: share of the columns that a node looks at, of those that can be split at all.
// Trees are numbered from `first_tree` on, which decides what they draw: growth goes on later.
struct GrowingOptions {
  double learning_rate;
  double shrinkage;  // added to the weight of a leaf
  double max_features;
  std::size_t min_samples_leaf;
  std::size_t max_leaf_nodes;
  std::size_t first_tree;
  std::size_t n_trees;
  std::uint64_t seed;
  double slope_shrinkage = 0.0;  // above 0 for linear steps
};

// Nodes of all trees end to end, as `Ensemble` has them, but for bins in place of values: a row
// goes left when its bin is at most `cut`, or in set `category_set` of kSetWords words.
struct GrownTrees {
  std::vector<std::int32_t> feature;  // -1 at a leaf
  std::vector<std::int32_t> cut;
  std::vector<std::int32_t> left, right;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::int32_t> category_set;  // -1 where there is none
  std::vector<double> value;               // of a leaf, with the learning rate in it; at its mean
  std::vector<double> gain;
  std::vector<double> count;  // rows
  std::vector<std::uint64_t> set_words;
  std::vector<std::int64_t> tree_offset{0};
};

// Grows trees on the residuals, and takes from these what each tree predicts. With `values` a leaf
// predicts what `replay_boosting` has as the linear step of a cell; its splits are those that
// constant leaves would have. Returns false if interrupted.
bool grow_trees(const BinnedRows& rows, const GrowingOptions& options, std::span<double> residual,
                GrownTrees& trees, const Interrupted& interrupted);

}  // namespace shaff
