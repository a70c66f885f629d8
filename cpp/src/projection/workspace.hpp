// Memory of one thread for the kernel, reused over trees and subsets. Each array has the length
// that tree_data.hpp states.
#pragma once

#include <algorithm>
#include <vector>

#include "aligned_array.hpp"
#include "block_mask.hpp"
#include "tree_data.hpp"

namespace shaff {
namespace {

// Node masks kept per thread. Smaller: large cells compute their masks again for every subset;
// larger: the masks of deep trees leave the cache. `benchmarks.kernel` shows it at n = 30 000.
constexpr std::size_t kMaskBytes = std::size_t{16} << 20;

template <class Value>
class Workspace {
 public:
  const ProjectionScratch<Value>& fit(const TreeData<Value>& tree) {
    const auto n_internal = static_cast<std::size_t>(tree.n_internal);
    fit_splits(n_internal, tree.n_columns);
    fit_bits(n_internal, tree.n_words);
    fit_lists(tree.n_words * kBlock + kListSlack);
    fit_blocks(n_internal, tree.n_columns);
    scratch_.mean.sums = sums_.resize(tree.n_outputs + 1);
    scratch_.mean.prediction = prediction_.resize(tree.n_query * tree.n_outputs);
    return scratch_;
  }

 private:
  void fit_splits(std::size_t n_internal, std::size_t n_columns) {
    SplitScratch<Value>& splits = scratch_.splits;
    splits.own = own_.resize(n_internal);
    splits.slot = slot_.resize(n_internal);
    splits.origin = origin_.resize(n_internal);
    splits.node = nodes_.resize(n_internal);
    splits.box = box_.resize(n_columns);
    splits.frontier = frontier_.resize(n_internal / 64 + 1);
    std::fill_n(splits.frontier, n_internal / 64 + 1, 0);
  }

  void fit_bits(std::size_t n_internal, std::size_t n_words) {
    BitScratch& bits = scratch_.bits;
    const std::size_t fitting =
        std::max<std::size_t>(1, kMaskBytes / (sizeof(std::uint64_t) * n_words));
    const std::size_t n_masks = std::min(n_internal, fitting);
    bits.cell = cell_.resize(n_words);
    bits.node_masks = masks_.resize((n_masks + 1) * n_words);
    bits.node_mask_of = mask_of_.resize(n_internal);
    std::fill_n(bits.node_mask_of, n_internal, -1);
    bits.max_node_masks = static_cast<std::int32_t>(n_masks);
  }

  void fit_lists(std::size_t n_listed) {
    ListScratch& lists = scratch_.lists;
    lists.bag = bag_.resize(n_listed);
    lists.query = query_.resize(n_listed);
    lists.spare = spare_.resize(n_listed);
    // An earlier, larger tree may have left places that this one lacks.
    std::fill_n(lists.bag, n_listed, 0u);
    std::fill_n(lists.query, n_listed, 0u);
  }

  void fit_blocks(std::size_t n_internal, std::size_t n_columns) {
    BlockScratch<Value>& blocks = scratch_.blocks;
    const std::size_t n_groups = n_columns / kGroup<Value> + 1;  // with that of the weights
    blocks.reach = reach_.resize(n_internal);
    blocks.values = values_.resize(n_groups * kGroup<Value> * 2 * kBlock);
    blocks.stamp = stamp_.resize(n_groups);
    std::fill_n(blocks.stamp, n_groups, 0);
  }

  ProjectionScratch<Value> scratch_{};
  AlignedArray<std::int32_t> own_, slot_, origin_, mask_of_;
  AlignedArray<ProjectedNode<Value>> nodes_;
  AlignedArray<Range<Value>> box_;
  AlignedArray<std::uint64_t> frontier_, cell_, masks_, reach_, stamp_;
  AlignedArray<std::uint32_t> bag_, query_, spare_;
  AlignedArray<Value> values_;
  AlignedArray<double> sums_, prediction_;
};

}  // namespace
}  // namespace shaff
