// Projected random forests: Algorithm 1 of the paper, for all query rows of a tree at once.
#pragma once

#include <stdexcept>

#include "shaff/forest.hpp"

namespace shaff {

struct ProjectionInput {
  ForestView forest;
  std::span<const std::uint16_t> bags;     // n_trees x n_rows: in-bag multiplicity
  std::span<const double> row_weight;      // n_rows; multiplies the multiplicity
  std::span<const std::uint8_t> is_query;  // n_rows: predicted by the trees whose bag lacks it
  std::span<const double> targets;         // n_rows x n_outputs
  std::size_t n_outputs;
  double min_node_size;  // least in-bag weight of a cell that predicts
  // Each tree sees the categories of a column in its own order. Both are empty without categories.
  std::span<const std::int64_t> rank_offset{};     // n_columns: start of the column's ranks, or -1
  std::span<const std::uint32_t> category_rank{};  // n_trees x n_ranks: code -> place in the order

  const std::uint32_t* ranks(std::size_t tree, std::int32_t column) const {
    if (rank_offset.empty() || rank_offset[static_cast<std::size_t>(column)] < 0) return nullptr;
    const std::size_t n_ranks = category_rank.size() / forest.n_trees();
    return category_rank.data() + tree * n_ranks + rank_offset[static_cast<std::size_t>(column)];
  }
};

// Which build of the kernel runs, and how wide the numbers of its values are. All give the same
// bits; the defaults are the fastest of this machine.
enum class Instructions { fastest, portable, avx2 };
enum class Width { narrowest, one_byte, two_bytes, four_bytes };

struct Kernel {
  Instructions instructions = Instructions::fastest;
  Width width = Width::narrowest;
};

bool has_avx2_kernel();     // in this build and on this processor
const char* kernel_name();  // of the fastest: "AVX2", "SSE2" or "plain"

// Where the kernel that was asked for cannot run: no AVX2, or more cuts than its numbers.
struct NoSuchKernel : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// For each subset (rows of `subsets`, `n_words` words each) adds over the trees first..last-1 the
// predictions of the query rows to `sum` and their squares to `sum_squares`, both of shape
// (n_subsets x n_rows x n_outputs), in tree order. Returns false if interrupted.
bool project_forest(const ProjectionInput& input, const CodedRows<std::uint16_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted, Kernel kernel = {});
bool project_forest(const ProjectionInput& input, const CodedRows<std::uint32_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted, Kernel kernel = {});

}  // namespace shaff
