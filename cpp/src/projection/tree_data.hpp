// What the two builds of the projection kernel and their caller share: plain pointers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shaff {

inline constexpr std::size_t kBlock = 64;  // rows in a word

// A tree with its rows at places of their own: the bag first, from a word boundary the queries.
//
// Places from n_bag to first_query, and those after the last query, belong to no row. Their values
// are 0 and no cell has their bits.
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
  // The same by rows, kGroup columns at a time. One row more than there are places can be read:
  // see `ListScratch`.
  const Value* grouped;
  const std::uint8_t* has_missing;
  const std::uint64_t* missing;                  // n_columns x n_words, filled where has_missing
  const std::uint32_t *query_row, *query_place;  // of each query, in the order of the rows
  const double* part;  // of each place in the bag: its weight, its weighted targets
  std::size_t n_outputs;
  double min_node_size;
  std::uint32_t enough_places;  // so many places weigh enough, whichever they are
  bool whole_weights;

  const Value* column_values(std::int32_t of) const {
    return values + static_cast<std::size_t>(of) * n_words * kBlock;
  }
};

// A node of the compressed tree.
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

// Memory of each machine of the kernel, by the header that it is in. All of it is given once a
// tree; arrays of `n` values have exactly n unless a comment says why they have more.

template <class Value>
struct SplitScratch {                 // splits.hpp
  std::int32_t *own, *slot, *origin;  // n_internal
  ProjectedNode<Value>* node;         // n_internal
  std::uint64_t* frontier;            // n_internal / 64 + 1, all 0 between two subsets
  Range<Value>* box;                  // n_columns: of the current cell
};

struct BitScratch {     // bit_cells.hpp
  std::uint64_t* cell;  // n_words: the current cell
  // Masks of the rows that go left at a node, made when first needed and kept over the subsets:
  // max_node_masks + 1 of n_words, the last of them for the nodes that find all others taken.
  std::uint64_t* node_masks;
  std::int32_t* node_mask_of;  // n_internal: place of a node's mask, or -1
  std::int32_t max_node_masks;
};

// Lists are written up to two places past their end (bit_cells.hpp, `list_bits`) and read by whole
// groups, up to 15 past it (block_mask.hpp, `transpose_groups`): hence the slack behind each. What
// is read there is a place: 0 at first, later one that an earlier list left, at most 64 * n_words.
inline constexpr std::size_t kListSlack = 16;

struct ListScratch {                   // list_cells.hpp
  std::uint32_t *bag, *query, *spare;  // 64 * n_words + kListSlack
};

template <class Value>
struct BlockScratch {    // block_cells.hpp
  std::uint64_t* reach;  // n_internal
  Value* values;         // 64 of the bag and 64 queries, column by column, in groups
  std::uint64_t* stamp;  // of each group of columns: the block that read it last
};

struct MeanScratch {   // cell_mean.hpp
  double* prediction;  // n_query x n_outputs
  double* sums;        // n_outputs + 1: of the current cell
};

template <class Value>
struct ProjectionScratch {
  SplitScratch<Value> splits;
  BitScratch bits;
  ListScratch lists;
  BlockScratch<Value> blocks;
  MeanScratch mean;
};

// Projects a tree on each subset in turn; the outputs advance by n_rows. False if interrupted.
template <class Value>
using ProjectTree = bool (*)(const TreeData<Value>&, const ProjectionScratch<Value>&,
                             const std::uint64_t* subsets, std::size_t n_subsets,
                             std::size_t subset_words, std::size_t n_rows, double* sum,
                             double* sum_squares, bool (*interrupted)(void*), void* context);

// Null where this build has no AVX2 kernel.
ProjectTree<std::int8_t> project_tree_avx2(std::int8_t);
ProjectTree<std::int16_t> project_tree_avx2(std::int16_t);
ProjectTree<std::int32_t> project_tree_avx2(std::int32_t);

}  // namespace shaff
