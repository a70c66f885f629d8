// The weighted means of the current cell, and the predictions that they become.
//
// Invariants
// - If is_known(), the sums are those of the current cell's bag. Whoever changes the cell says so
//   with forget(), or subtracts what leaves.
// - emit() uses the sums as they were at the last divide().
// - Every query is emitted once a subset: no prediction has to be cleared.
#pragma once

#include "tree_data.hpp"

namespace shaff {
namespace {

template <class Value>
class CellMean {
 public:
  CellMean(const TreeData<Value>& tree, const MeanScratch& scratch)
      : tree_(tree), scratch_(scratch) {}

  bool is_known() const { return is_known_; }
  void forget() { is_known_ = false; }
  void know() { is_known_ = true; }

  // What a place of the bag adds to the sums: its weight and its weighted targets.
  const double* part(std::uint32_t place) const {
    return tree_.part + place * (tree_.n_outputs + 1);
  }
  double weight(std::uint32_t place) const { return *part(place); }

  void clear() const {
    for (std::size_t o = 0; o <= tree_.n_outputs; ++o) scratch_.sums[o] = 0;
  }
  void add(std::uint32_t place) const {
    for (std::size_t o = 0; o <= tree_.n_outputs; ++o) scratch_.sums[o] += part(place)[o];
  }
  void subtract(std::uint32_t place) const {
    for (std::size_t o = 0; o <= tree_.n_outputs; ++o) scratch_.sums[o] -= part(place)[o];
  }
  void set_one_output(double weight, double total) const {
    scratch_.sums[0] = weight;
    scratch_.sums[1] = total;
  }

  void divide() { scale_ = 1 / scratch_.sums[0]; }
  void emit(std::uint32_t place) const {
    double* out = scratch_.prediction + (place - tree_.first_query) * tree_.n_outputs;
    for (std::size_t o = 0; o < tree_.n_outputs; ++o) out[o] = scratch_.sums[o + 1] * scale_;
  }

  // Once at the end and in the order of the rows: the sums of many subsets do not fit the cache.
  void add_predictions(double* sum, double* sum_squares) const {
    for (std::uint32_t k = 0; k < tree_.n_query; ++k) {
      const double* prediction = scratch_.prediction + tree_.query_place[k] * tree_.n_outputs;
      const std::size_t row = tree_.query_row[k] * tree_.n_outputs;
      for (std::size_t o = row; o < row + tree_.n_outputs; ++o, ++prediction) {
        sum[o] += *prediction;
        sum_squares[o] += *prediction * *prediction;
      }
    }
  }

 private:
  const TreeData<Value>& tree_;
  const MeanScratch scratch_;
  double scale_ = 0;
  bool is_known_ = false;
};

}  // namespace
}  // namespace shaff
