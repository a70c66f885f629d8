// One tree projected on one subset: all cells, all out-of-bag queries (Algorithm 1 of the paper).
//
// A cell goes through up to three forms as cuts make it smaller, each the fastest for its size:
// a bit set over all places of the tree (bit_cells.hpp), two lists of places (list_cells.hpp), and,
// from 64 places of each kind on, a block (block_cells.hpp). All three ask splits.hpp for the next
// cut and hand their rows to cell_mean.hpp.
//
// These headers are compiled twice (portable and AVX2). Everything is in an unnamed namespace and
// the hot path uses no library template, so that the linker can never mix the two builds.
#pragma once

#include "bit_cells.hpp"

namespace shaff {
namespace {

template <class Value>
class Projection {
 public:
  Projection(const TreeData<Value>& tree, const ProjectionScratch<Value>& scratch)
      : splits_(tree, scratch.splits),
        mean_(tree, scratch.mean),
        blocks_(tree, scratch.blocks, splits_, mean_),
        lists_(tree, scratch.lists, splits_, mean_, blocks_),
        bits_(tree, scratch.bits, scratch.lists, splits_, mean_, lists_) {}
  Projection(const Projection&) = delete;
  Projection& operator=(const Projection&) = delete;

  void run(const std::uint64_t* subset, double* sum, double* sum_squares) {
    splits_.compress(subset);
    bits_.walk_all();
    mean_.add_predictions(sum, sum_squares);
  }

 private:
  Splits<Value> splits_;
  CellMean<Value> mean_;
  BlockCells<Value> blocks_;
  ListCells<Value> lists_;
  BitCells<Value> bits_;
};

template <class Value>
bool project_tree(const TreeData<Value>& tree, const ProjectionScratch<Value>& scratch,
                  const std::uint64_t* subsets, std::size_t n_subsets, std::size_t subset_words,
                  std::size_t n_rows, double* sum, double* sum_squares, bool (*interrupted)(void*),
                  void* context) {
  Projection<Value> projection(tree, scratch);
  for (std::size_t k = 0; k < n_subsets; ++k) {
    if (interrupted(context)) return false;
    projection.run(subsets + k * subset_words, sum + k * n_rows * tree.n_outputs,
                   sum_squares + k * n_rows * tree.n_outputs);
  }
  return true;
}

}  // namespace
}  // namespace shaff
