// Expectation of a tree when only some of its columns are known (TreeSHAP, kernelSHAP, SAGE).
#pragma once

#include <cstdint>
#include <span>

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

// Adds to `sums[row, output]` the expectation of the tree for each of `queries.rows`, where the
// columns with `known[column] != 0` are those of the row and the others are
//  - spread over both children in proportion to the cover, when `background` has no rows;
//  - those of each background row in turn, averaged, otherwise.
void add_tree_expectation(const ExpectationTree& tree, const RowView& queries,
                          const RowView& background, std::span<const std::uint8_t> known,
                          std::int64_t n_outputs, std::span<double> sums);

}  // namespace shaff
