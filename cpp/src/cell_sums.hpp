// Sums over the training rows of cells.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace shaff {

// Over the training rows of a cell.
struct CellSums {
  double residual = 0.0, weight = 0.0;

  void add(double row_weight, double row_residual) {
    residual += row_weight * row_residual;
    weight += row_weight;
  }
  void add(const CellSums& other) {
    residual += other.residual;
    weight += other.weight;
  }
  // A cell without training rows stays where it is.
  double step(double learning_rate, double shrinkage) const {
    return weight <= 0 ? 0.0 : learning_rate * residual / (weight + shrinkage);
  }
};

inline constexpr std::size_t kTables = 4;

// Adds the tables up in the first one.
template <class Sum>
void merge_tables(std::vector<Sum>& sums, std::size_t count, std::size_t n_tables) {
  for (std::size_t table = 1; table < n_tables; ++table)
    for (std::size_t c = 0; c < count; ++c) sums[c].add(sums[table * count + c]);
}

// The first `count` entries of `sums` get the sums of the cells. Rows take turns at several tables:
// neighbours in one cell need not wait for each other. `add` gets a table and a row.
template <class Sum, class Add>
void sum_in_turns(std::size_t count, std::size_t n, std::vector<Sum>& sums, Add add) {
  sums.assign(kTables * count, Sum{});
  std::size_t i = 0;
  for (; i + kTables <= n; i += kTables)
    for (std::size_t table = 0; table < kTables; ++table)
      add(sums.data() + table * count, i + table);
  for (; i < n; ++i) add(sums.data(), i);
  merge_tables(sums, count, kTables);
}

// One cell has no numbers (null). The order of the sums is that of `replay_boosting`, for the same
// bits.
template <class Id>
void sum_cells(const Id* number, std::size_t count, std::span<const double> weight,
               const double* residual, std::vector<CellSums>& sums) {
  sum_in_turns(count, weight.size(), sums, [=](CellSums* table, std::size_t i) {
    table[number ? number[i] : 0].add(weight[i], residual[i]);
  });
}

}  // namespace shaff
