// Linear steps of cells: in place of a constant, a small ridge regression on columns of the tree.
//
// The columns, the sums of their products and so the factors of the regressions are the same for
// all subsets that share the cells of a tree; only the sums with the residuals differ.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cell_sums.hpp"
#include "shaff/projected_boosting.hpp"
#include "slope_loops.hpp"

namespace shaff {

// Columns that a cell has slopes in, at most.
inline constexpr std::size_t kMaxSlopes = 3;

// What a row has in the columns with slopes; 0 where these are fewer. Aligned for the loops, which
// read four numbers at once.
struct alignas(16) SlopeRow {
  float x[kMaxSlopes] = {};
};

// Of a cell: sums over rows, alone and times each of their values; or an intercept and slopes.
struct alignas(32) Lanes {
  double at[1 + kMaxSlopes] = {};

  void add(const Lanes& other) {
    for (std::size_t k = 0; k <= kMaxSlopes; ++k) at[k] += other.at[k];
  }
  double step(const SlopeRow& row) const {
    double sum = at[0];
    for (std::size_t k = 0; k < kMaxSlopes; ++k) sum += at[1 + k] * row.x[k];
    return sum;
  }
};

// The numeric columns that a tree splits on, those of the largest gains first; of equal gains, the
// one that a node has first.
class RankedColumns {
 public:
  void read(std::span<const std::int32_t> feature, std::span<const std::int32_t> category_set,
            std::span<const double> gain) {
    columns_.clear();
    for (std::size_t node = 0; node < feature.size(); ++node)
      if (feature[node] >= 0 && category_set[node] < 0) at(feature[node]).gain += gain[node];
    std::stable_sort(columns_.begin(), columns_.end(),
                     [](const Column& a, const Column& b) { return a.gain > b.gain; });
  }

  void read(const BoostedTrees& trees, std::size_t tree) {
    const auto first = static_cast<std::size_t>(trees.tree_offset[tree]);
    const std::size_t n = static_cast<std::size_t>(trees.tree_offset[tree + 1]) - first;
    read(trees.feature.subspan(first, n), trees.category_set.subspan(first, n),
         trees.gain.subspan(first, n));
  }

  // The first ones that are seen.
  template <class Seen>
  std::vector<std::int32_t> first(Seen seen) const {
    std::vector<std::int32_t> out;
    for (const Column& column : columns_)
      if (out.size() < kMaxSlopes && seen(column.number)) out.push_back(column.number);
    return out;
  }

 private:
  struct Column {
    std::int32_t number;
    double gain = 0.0;
  };

  Column& at(std::int32_t number) {
    const auto is_it = [=](const Column& column) { return column.number == number; };
    const auto found = std::find_if(columns_.begin(), columns_.end(), is_it);
    return found != columns_.end() ? *found : columns_.emplace_back(Column{number});
  }

  std::vector<Column> columns_;
};

// The columns with slopes, by row. They are read where they are: columns stay in the cache for all
// subsets, which rows that are copied together would not.
class SlopeColumns {
 public:
  SlopeColumns() = default;

  // `values` are column-major; `zeros`, as many as there are rows, stand for columns that are not.
  SlopeColumns(std::span<const float> values, std::span<const float> zeros,
               std::span<const std::int32_t> columns)
      : count_(columns.size()) {
    column_.fill(zeros.data());
    for (std::size_t k = 0; k < columns.size(); ++k)
      column_[k] = values.data() + static_cast<std::size_t>(columns[k]) * zeros.size();
  }

  std::size_t count() const { return count_; }
  SlopeRow operator[](std::size_t i) const {
    return {{column_[0][i], column_[1][i], column_[2][i]}};
  }
  // Rows from `first` on, whose cells have the numbers from `number` on.
  template <class Id>
  SlopeBlock<Id> block(const Id* number, std::size_t first, std::size_t size) const {
    return {number, {column_[0] + first, column_[1] + first, column_[2] + first}, count_, size};
  }
  SlopeColumns from(std::size_t row) const {
    SlopeColumns out = *this;
    for (const float*& column : out.column_) column += row;
    return out;
  }

 private:
  std::size_t count_ = 0;
  std::array<const float*, kMaxSlopes> column_{};
};

// What the training rows of a cell have in the columns with slopes. Other rows are brought within,
// so that nothing is extrapolated.
struct CellRange {
  SlopeRow low, high;

  SlopeRow clip(SlopeRow row) const {
    for (std::size_t k = 0; k < kMaxSlopes; ++k)
      row.x[k] = std::min(std::max(row.x[k], low.x[k]), high.x[k]);
    return row;
  }
};

// Places of the products of columns 0, 1 and 2 in a Gram matrix, whose two sides are the same.
inline constexpr std::size_t kProducts = 6;
inline constexpr std::size_t kProductOf[kMaxSlopes][kMaxSlopes] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

// Over the training rows of a cell; those without weight are none.
struct CellGram {
  Lanes sums;  // of the weights
  double product[kProducts] = {};
  CellRange range{highest(), lowest()};

  void add(const CellGram& other) {
    sums.add(other.sums);
    for (std::size_t at = 0; at < kProducts; ++at) product[at] += other.product[at];
    widen(other.range);
  }
  void widen(const CellRange& other) {
    for (std::size_t k = 0; k < kMaxSlopes; ++k) {
      range.low.x[k] = std::min(range.low.x[k], other.low.x[k]);
      range.high.x[k] = std::max(range.high.x[k], other.high.x[k]);
    }
  }
  // A cell without rows has no step; its range is any.
  CellRange known_range() const { return sums.at[0] > 0 ? range : CellRange{}; }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static SlopeRow highest() { return {{kInfinity, kInfinity, kInfinity}}; }
  static SlopeRow lowest() { return {{-kInfinity, -kInfinity, -kInfinity}}; }
};

// `add` gets the tables of all turns, four after each other.
template <class Sum, class Add>
void sum_tables(std::size_t count, std::vector<Sum>& sums, Add add) {
  sums.assign(kTables * count, Sum{});
  add(sums.data());
  merge_tables(sums, count, kTables);
}

template <class Id>
void sum_grams(const SlopeLoops<Id>& loops, const Id* number, std::size_t count,
               std::span<const double> weight, const SlopeColumns& rows,
               std::vector<CellGram>& grams) {
  sum_tables(count, grams, [&](CellGram* tables) {
    loops.add_grams(rows.block(number, 0, weight.size()), weight.data(), tables, count);
  });
}

// Sums of weight * residual over the training rows of the cells.
template <class Id>
void sum_slopes(const SlopeLoops<Id>& loops, const Id* number, std::size_t count,
                std::span<const double> weight, const double* residual, const SlopeColumns& rows,
                std::vector<Lanes>& sums) {
  sum_tables(count, sums, [&](Lanes* tables) {
    loops.add_residuals(rows.block(number, 0, weight.size()), weight.data(), residual, tables,
                        count);
  });
}

struct Shrinkages {
  double step;   // added to the weight of a cell
  double slope;  // added to the diagonal of its Gram matrix; above 0
};

// The regression of a cell, all but the residuals.
class CellFit {
 public:
  // Cells of few rows have no slopes, and those without any no step.
  CellFit(const CellGram& gram, const Shrinkages& shrinkage, std::size_t n_slopes) {
    const double weight = gram.sums.at[0];
    if (weight <= 0) return;
    mass_ = weight + shrinkage.step;
    if (weight < static_cast<double>(2 * n_slopes + 5)) return;
    for (std::size_t k = 0; k < kMaxSlopes; ++k) mean_[k] = gram.sums.at[1 + k] / weight;
    double centred[kProducts];
    for (std::size_t j = 0; j < kMaxSlopes; ++j)
      for (std::size_t k = j; k < kMaxSlopes; ++k) {
        const std::size_t at = kProductOf[j][k];
        centred[at] = gram.product[at] - mean_[j] * gram.sums.at[1 + k];
        if (j == k) centred[at] = std::max(centred[at], 0.0) + shrinkage.slope;
      }
    invert(centred);
  }

  // Intercept and slopes, from the sums with the residuals.
  Lanes step(const Lanes& sums, double learning_rate) const {
    Lanes out;
    if (mass_ <= 0) return out;
    out.at[0] = learning_rate * sums.at[0] / mass_;
    double moment[kMaxSlopes];
    for (std::size_t k = 0; k < kMaxSlopes; ++k) moment[k] = sums.at[1 + k] - mean_[k] * sums.at[0];
    for (std::size_t j = 0; j < kMaxSlopes; ++j) {
      double slope = 0.0;
      for (std::size_t k = 0; k < kMaxSlopes; ++k) slope += inverse_[kProductOf[j][k]] * moment[k];
      out.at[1 + j] = learning_rate * slope;
      out.at[0] -= out.at[1 + j] * mean_[j];
    }
    return out;
  }

 private:
  // By cofactors: the matrix is small and, shrunk, well conditioned.
  void invert(const double (&m)[kProducts]) {
    const double cofactor[kProducts] = {m[3] * m[5] - m[4] * m[4], m[2] * m[4] - m[1] * m[5],
                                        m[1] * m[4] - m[2] * m[3], m[0] * m[5] - m[2] * m[2],
                                        m[1] * m[2] - m[0] * m[4], m[0] * m[3] - m[1] * m[1]};
    const double determinant = m[0] * cofactor[0] + m[1] * cofactor[1] + m[2] * cofactor[2];
    for (std::size_t at = 0; at < kProducts; ++at) inverse_[at] = cofactor[at] / determinant;
  }

  double mass_ = 0.0, mean_[kMaxSlopes] = {}, inverse_[kProducts] = {};
};

inline void fit_cells(const std::vector<CellGram>& grams, std::size_t count,
                      const Shrinkages& shrinkage, std::size_t n_slopes,
                      std::vector<CellFit>& fits) {
  fits.clear();
  for (std::size_t c = 0; c < count; ++c) fits.emplace_back(grams[c], shrinkage, n_slopes);
}

}  // namespace shaff
