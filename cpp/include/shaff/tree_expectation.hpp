// Expectation of a tree when only some of its columns are known (TreeSHAP, kernelSHAP, SAGE).
#pragma once

#include <cstdint>
#include <span>

#include "shaff/forest.hpp"

namespace shaff {

// A fitted tree with children after their parent; a leaf has a negative feature.
struct ExpectationTree {
  std::span<const std::int64_t> left;
  std::span<const std::int64_t> right;
  std::span<const std::int64_t> feature;
  std::span<const double> threshold;           // a value <= threshold goes left
  std::span<const std::uint8_t> missing_left;  // NaN goes left
  std::span<const double> cover;               // training weight of each node
  std::span<const double> value;               // (n_nodes, n_outputs)
};

// A column-major matrix and the rows of it that take part.
struct RowView {
  std::span<const float> columns;  // (n_columns, n_rows)
  std::int64_t n_rows = 0;
  std::span<const std::int32_t> rows;
};

// The subsets of columns that are known, and the rows that stand for the others: none, or as many
// for each subset.
struct KnownColumns {
  std::span<const std::uint8_t> known;            // (n_subsets, n_columns)
  std::span<const std::int32_t> background_rows;  // (n_subsets, n_draws)
  std::size_t n_subsets = 0;
};

// Adds to `sums[subset, row, output]` the expectation of the tree for each of `queries.rows`, where
// the columns with `known[subset, column] != 0` are those of the row and the others are
//  - spread over both children in proportion to the cover, when there are no background rows;
//  - those of each background row in turn, averaged, otherwise.
// Of `background` the rows are those of the subset. Returns false if interrupted.
bool add_tree_expectation(const ExpectationTree& tree, const RowView& queries,
                          const RowView& background, const KnownColumns& subsets,
                          std::int64_t n_outputs, std::span<double> sums,
                          const Interrupted& interrupted);

}  // namespace shaff
