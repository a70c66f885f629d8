// The best split of a node: along the bins of a numeric column, or along categories in order of
// their mean residuals.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shaff/booster_growing.hpp"

namespace shaff::growing {

using BinSet = std::array<std::uint64_t, kSetWords>;

// Rows of a node, or of one side of a split.
struct Side {
  double sum = 0.0, weight = 0.0, count = 0.0;

  template <class Bin>
  void add(const Bin& bin) {
    sum += bin.sum;
    weight += bin.weight();
    count += bin.count();
  }
  Side operator-(const Side& other) const {
    return {sum - other.sum, weight - other.weight, count - other.count};
  }
  // As many as there would be if rows were repeated.
  double size(bool weights_count) const { return weights_count ? weight : count; }
};

struct Split {
  double gain = 0.0;  // 0: there is none
  std::int32_t column = -1;
  std::int32_t cut = 0;
  bool missing_left = false;
  bool categorical = false;
  BinSet set{};
  Side left;
};

inline void include(BinSet& set, std::size_t bin) {
  set[bin / 64] |= std::uint64_t{1} << (bin % 64);
}
inline bool contains(const BinSet& set, std::size_t bin) { return set[bin / 64] >> (bin % 64) & 1; }

// `weights_count`: a row of weight 2 is two rows.
struct SplitRules {
  double shrinkage;
  double min_samples_leaf;
  bool weights_count;
};

// Sides that weigh less than this have no mean to speak of.
inline constexpr double kLeastWeight = 1e-3;
// Rows that a category needs to be told from others, and as many at the mean that it is ordered
// with. Fewer, and the order is noise (`benchmarks.data`).
inline constexpr double kCategorySupport = 10.0;

// What differs by rounding is a tie, which the first wins: else the trees would move with a shift
// of the target.
inline constexpr double kClearlyMore = 1 + 1e-10;

template <class Bin>
class SplitSearch {
 public:
  SplitSearch(const Side& node, double node_score, const SplitRules& rules)
      : node_(node), node_score_(node_score), best_score_(node_score), rules_(rules) {}

  const Split& best() const { return best_; }

  // Missing values go right; and where there are some, also left.
  void try_numeric(std::int32_t column, std::span<const Bin> bins, bool has_missing) {
    const std::size_t n_bins = bins.size() - 1;
    Side left;
    for (std::size_t b = 0; b + 1 < n_bins + has_missing; ++b) {
      if (bins[b].count() == 0) continue;
      left.add(bins[b]);
      if (ends(node_ - left)) break;
      consider(column, b, left, false);
    }
    if (!has_missing) return;
    Side right;
    for (std::size_t b = n_bins - 1; b > 0; --b) {
      if (bins[b].count() == 0) continue;
      right.add(bins[b]);
      if (ends(node_ - right)) break;
      consider(column, b - 1, node_ - right, true);
    }
  }

  // A missing value is one more category. Categories of few rows stay on the right, with at least
  // half of the others: each end of the order is tried up to its middle.
  void try_categories(std::int32_t column, std::span<const Bin> bins) {
    order_categories(bins);
    const std::size_t n = order_.size(), middle = (n + 1) / 2;
    if (n < 2) return;
    scan_categories(column, bins, middle, false);
    scan_categories(column, bins, middle - 1, true);
  }

 private:
  bool too_small(const Side& side) const {
    return side.size(rules_.weights_count) < rules_.min_samples_leaf || side.weight < kLeastWeight;
  }
  // The other side only gets smaller from here on.
  bool ends(const Side& other) const { return too_small(other); }

  bool is_better(const Side& left, const Side& right) {
    if (too_small(left) || too_small(right)) return false;
    // The sum of squared sums over weights, with one denominator: dividing is slow.
    const double of_left = left.weight + rules_.shrinkage;
    const double of_right = right.weight + rules_.shrinkage;
    const double both = left.sum * left.sum * of_right + right.sum * right.sum * of_left;
    if (!(both > best_score_ * kClearlyMore * (of_left * of_right))) return false;
    best_score_ = both / (of_left * of_right);
    best_.gain = best_score_ - node_score_;
    best_.left = left;
    return true;
  }

  void consider(std::int32_t column, std::size_t cut, const Side& left, bool missing_left) {
    if (!is_better(left, node_ - left)) return;
    best_.column = column;
    best_.cut = static_cast<std::int32_t>(cut);
    best_.missing_left = missing_left;
    best_.categorical = false;
  }

  void order_categories(std::span<const Bin> bins) {
    const double rows_per_weight = node_.size(rules_.weights_count) / node_.weight;
    order_.clear();
    for (std::size_t b = 0; b < bins.size(); ++b)
      if (bins[b].count() > 0 && bins[b].weight() * rows_per_weight >= kCategorySupport)
        order_.push_back(static_cast<std::uint32_t>(b));
    // The loss falls with the residual, so that the largest mean comes first.
    const auto mean = [&](std::uint32_t b) {
      return bins[b].sum / (bins[b].weight() + kCategorySupport);
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mean(a) > mean(b); });
  }

  void scan_categories(std::int32_t column, std::span<const Bin> bins, std::size_t n_tried,
                       bool from_end) {
    Side left;
    BinSet set{};
    for (std::size_t k = 0; k < n_tried; ++k) {
      const std::size_t bin = order_[from_end ? order_.size() - 1 - k : k];
      left.add(bins[bin]);
      include(set, bin);
      const Side right = node_ - left;
      if (ends(right)) break;
      if (!is_better(left, right)) continue;
      best_.column = column;
      best_.set = set;
      best_.categorical = true;
      best_.missing_left = contains(set, bins.size() - 1);
    }
  }

  Side node_;
  double node_score_, best_score_;
  SplitRules rules_;
  Split best_;
  std::vector<std::uint32_t> order_;
};

}  // namespace shaff::growing
