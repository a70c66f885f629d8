// Sums of residuals over the bins of the columns, for the rows of a node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "shaff/booster_growing.hpp"

namespace shaff::growing {

// Without weights the count is the weight. Counts are doubles, which are exact here, so that
// histograms are subtracted as one run of numbers.
struct PlainBin {
  double sum = 0.0, rows = 0.0;

  double weight() const { return rows; }
  double count() const { return rows; }
  void add(double residual, double) {
    sum += residual;
    rows += 1;
  }
  PlainBin& operator-=(const PlainBin& other) {
    sum -= other.sum;
    rows -= other.rows;
    return *this;
  }
};

struct WeightedBin {
  double sum = 0.0, total = 0.0, rows = 0.0;  // the sum is of weight * residual

  double weight() const { return total; }
  double count() const { return rows; }
  void add(double weighted_residual, double weight) {
    sum += weighted_residual;
    total += weight;
    rows += 1;
  }
  WeightedBin& operator-=(const WeightedBin& other) {
    sum -= other.sum;
    total -= other.total;
    rows -= other.rows;
    return *this;
  }
};

// Where the bins of each column begin in a histogram; only columns that can be split have any.
class Layout {
 public:
  explicit Layout(const BinnedRows& rows) : first_(rows.n_columns(), 0) {
    for (std::size_t j = 0; j < rows.n_columns(); ++j) {
      const auto n_bins = static_cast<std::size_t>(rows.n_bins[j]);
      const std::uint8_t* bins = rows.column(j);
      has_missing_.push_back(std::find(bins, bins + rows.n_rows, n_bins) != bins + rows.n_rows);
      if (n_bins + has_missing_[j] < 2) continue;
      columns_.push_back(static_cast<std::uint32_t>(j));
      first_[j] = size_;
      size_ += n_bins + 1;
    }
  }

  const std::vector<std::uint32_t>& columns() const { return columns_; }
  std::size_t first(std::size_t column) const { return first_[column]; }
  bool has_missing(std::size_t column) const { return has_missing_[column] != 0; }
  std::size_t size() const { return size_; }

 private:
  std::vector<std::uint32_t> columns_;
  std::vector<std::size_t> first_;
  std::vector<std::uint8_t> has_missing_;
  std::size_t size_ = 0;
};

// Histograms that are no longer needed are used again.
template <class Bin>
class Pool {
 public:
  using Histogram = std::unique_ptr<std::vector<Bin>>;

  explicit Pool(std::size_t size) : size_(size) {}

  // With what was in it.
  Histogram take() {
    if (free_.empty()) return std::make_unique<std::vector<Bin>>(size_);
    Histogram out = std::move(free_.back());
    free_.pop_back();
    return out;
  }

  void give_back(Histogram&& histogram) {
    if (histogram) free_.push_back(std::move(histogram));
  }

 private:
  std::size_t size_;
  std::vector<Histogram> free_;
};

// Residuals (times weights) and weights of some rows, in the order of the rows.
struct Gathered {
  std::vector<double> residual, weight;
};

// `row` is null when the rows are all rows in order.
template <class Bin>
void add_column(const std::uint8_t* bins, const std::uint32_t* row, std::size_t n,
                const Gathered& at, Bin* out) {
  const double* residual = at.residual.data();
  const double* weight = at.weight.empty() ? residual : at.weight.data();
  if (row == nullptr) {
    for (std::size_t i = 0; i < n; ++i) out[bins[i]].add(residual[i], weight[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) out[bins[row[i]]].add(residual[i], weight[i]);
  }
}

template <class Bin>
void subtract(std::vector<Bin>& from, const std::vector<Bin>& other) {
  for (std::size_t k = 0; k < from.size(); ++k) from[k] -= other[k];
}

}  // namespace shaff::growing
