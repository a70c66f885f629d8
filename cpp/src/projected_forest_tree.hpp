// What the two builds of the projection kernel and their caller share: plain pointers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shaff {

inline constexpr std::size_t kBlock = 64;  // rows in a word

// A tree with its rows at places of their own: the bag first, from a word boundary the queries.
template <class Value>
struct TreeData {
  // Internal nodes by depth, then from left to right.
  std::int32_t n_internal;
  const std::int32_t *feature, *parent;  // feature: as subsets know it
  const std::int32_t* column;            // the same, among the columns of this tree
  const std::uint8_t *side, *missing_left;
  const Value* cut;
  // Places.
  std::uint32_t n_bag, n_query, first_query, n_words;
  std::size_t n_columns;
  // n_columns x (64 * n_words): how many cuts are not above, shifted. Where all weights and
  // min_node_size are whole, one column more: by how much a place of the bag exceeds the weight 1,
  // at most as far as matters.
  const Value* values;
  const Value* grouped;  // the same by rows, kGroup columns at a time
  const std::uint8_t* has_missing;
  const std::uint64_t* missing;                  // n_columns x n_words, filled where has_missing
  const std::uint32_t *query_row, *query_place;  // of each query, in the order of the rows
  const double* part;  // of each place in the bag: its weight, its weighted targets
  std::size_t n_outputs;
  double min_node_size;
  std::uint32_t enough_places;  // so many places weigh enough, whichever they are
  bool whole_weights;
};

template <class Value>
struct ProjectedNode {
  std::int32_t column;
  std::int32_t child, next;  // its last child, and the child of its parent before it; or -1
  Value cut;
  std::uint8_t right : 1;         // the side of its parent that it is on
  std::uint8_t has_missing : 1;   // the column has missing values
  std::uint8_t missing_left : 1;  // and they go left here
};

template <class Value>
struct Range {  // low <= value < high
  Value low, high;
};

template <class Value>
struct ProjectionScratch {
  // The compressed tree.
  std::int32_t *own, *slot, *origin;
  ProjectedNode<Value>* node;
  std::uint64_t *frontier, *reach;
  Range<Value>* box;  // of the current cell, a range a column
  // Masks of the rows that go left at a node, made when first needed and kept over the subsets.
  std::uint64_t* node_masks;
  std::int32_t* node_mask_of;  // place of a node's mask, or -1
  std::int32_t n_node_masks, max_node_masks;
  std::uint64_t* cell;  // the current cell, while it is large
  std::uint32_t *bag, *query, *spare;
  double* prediction;   // of each query
  double* sums;         // weight and weighted targets of the current cell
  Value* block_values;  // 64 values of the bag and 64 of the queries, column by column
  std::uint64_t* block_stamp;
  std::uint64_t stamp;
};

// Projects a tree on each subset in turn; the outputs advance by n_rows.
template <class Value>
using ProjectTree = bool (*)(const TreeData<Value>&, ProjectionScratch<Value>&,
                             const std::uint64_t* subsets, std::size_t n_subsets,
                             std::size_t subset_words, std::size_t n_rows, double* sum,
                             double* sum_squares, bool (*interrupted)(void*), void* context);

// Null where this build has no AVX2 kernel.
ProjectTree<std::int8_t> project_tree_avx2(std::int8_t);
ProjectTree<std::int16_t> project_tree_avx2(std::int16_t);
ProjectTree<std::int32_t> project_tree_avx2(std::int32_t);

}  // namespace shaff
