#include "shaff/tree_expectation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "poll.hpp"

namespace shaff {
namespace {

using Index = std::int64_t;

// Known splits depend on the query alone and the other splits on the background row alone, so the
// (query, background) pairs that reach a node are always a rectangle: a range of queries times a
// range of background rows (or a cover share). One walk of the tree serves all pairs.
class Walk {
 public:
  Walk(const ExpectationTree& tree, const RowView& queries, const RowView& background,
       std::span<const std::uint8_t> known, Index n_outputs, std::span<double> sums, Poll& poll)
      : tree_(tree),
        queries_(queries),
        background_(background),
        known_(known),
        n_outputs_(n_outputs),
        sums_(sums),
        poll_(poll),
        query_order_(queries.rows.begin(), queries.rows.end()),
        background_order_(background.rows.begin(), background.rows.end()),
        spill_(std::max(queries.rows.size(), background.rows.size())) {
    find_known_below();
    if (by_cover()) find_means();
  }

  void run() {
    std::vector<double> shared(n_outputs_, 0.0);
    const Range queries{0, static_cast<Index>(query_order_.size())};
    visit(0, queries, {0, static_cast<Index>(background_order_.size())}, 1.0, shared.data());
    add_to_rows(queries, shared.data());
  }

 private:
  struct Range {
    Index begin;
    Index end;
    Index size() const { return end - begin; }
  };

  bool by_cover() const { return background_order_.empty(); }
  bool is_leaf(Index node) const { return tree_.feature[node] < 0; }
  bool splits_on_known(Index node) const { return known_[tree_.feature[node]] != 0; }

  void find_known_below() {
    known_below_.assign(tree_.left.size(), 0);
    for (Index node = static_cast<Index>(tree_.left.size()) - 1; node >= 0; --node) {
      if (is_leaf(node)) continue;
      known_below_[node] = splits_on_known(node) || known_below_[tree_.left[node]] ||
                           known_below_[tree_.right[node]];
    }
  }

  // The mean of each subtree by cover: what a subtree without a known split is worth at once.
  void find_means() {
    means_.assign(tree_.value.begin(), tree_.value.end());
    for (Index node = static_cast<Index>(tree_.left.size()) - 1; node >= 0; --node) {
      if (is_leaf(node)) continue;
      const double share = left_share(node);
      for (Index k = 0; k < n_outputs_; ++k) {
        means_[node * n_outputs_ + k] = share * means_[tree_.left[node] * n_outputs_ + k] +
                                        (1.0 - share) * means_[tree_.right[node] * n_outputs_ + k];
      }
    }
  }

  double left_share(Index node) const { return tree_.cover[tree_.left[node]] / tree_.cover[node]; }

  // The largest float under a threshold: a float is <= it if and only if it is <= the threshold.
  // Scikit-learn before 1.7 may leave NaN as a threshold: no value is <= NaN.
  static float float_below(double threshold) {
    if (std::isnan(threshold)) return -INFINITY;
    const float rounded = static_cast<float>(threshold);
    return rounded > threshold ? std::nextafter(rounded, -INFINITY) : rounded;
  }

  // Calls `use` with a test of values that sends NaN to the side of the node, without a branch.
  template <class Use>
  auto with_test(Index node, Use use) const {
    const float threshold = float_below(tree_.threshold[node]);
    if (tree_.missing_left[node] != 0)
      return use([threshold](float x) { return !(x > threshold); });
    return use([threshold](float x) { return x <= threshold; });
  }

  const float* column(const RowView& view, Index node) const {
    return view.columns.data() + tree_.feature[node] * view.n_rows;
  }

  // Moves the rows that go left to the front of the range and returns where the others begin.
  Index partition(const RowView& view, std::vector<std::int32_t>& order, Range range, Index node) {
    const float* x = column(view, node);
    return with_test(node, [&](auto goes_left) {
      std::int32_t* front = order.data() + range.begin;
      std::int32_t* back = spill_.data();
      for (Index i = range.begin; i < range.end; ++i) {
        const std::int32_t row = order[i];
        const bool left = goes_left(x[row]);
        // Both writes, then one pointer moves: no branch to mispredict.
        *front = row;
        *back = row;
        front += left;
        back += !left;
      }
      std::copy(spill_.data(), back, front);
      return static_cast<Index>(front - order.data());
    });
  }

  void add(double weight, const double* value, double* shared) const {
    for (Index k = 0; k < n_outputs_; ++k) shared[k] += weight * value[k];
  }

  void add_to_rows(Range range, const double* shared) {
    for (Index i = range.begin; i < range.end; ++i) {
      double* sum = sums_.data() + query_order_[i] * n_outputs_;
      for (Index k = 0; k < n_outputs_; ++k) sum[k] += shared[k];
    }
  }

  // `shared` gathers what all queries of the range have in common, so that rows are only touched
  // at known splits. An interrupted walk only has to end: nobody reads its sums.
  void visit(Index node, Range queries, Range background, double weight, double* shared) {
    if (queries.size() == 0 || (!by_cover() && background.size() == 0)) return;
    if (poll_.should_end_after(static_cast<std::size_t>(queries.size() + background.size())))
      return;
    if (by_cover() && !known_below_[node]) {
      add(weight, &means_[node * n_outputs_], shared);
    } else if (is_leaf(node)) {
      add(share_of(background), &tree_.value[node * n_outputs_], shared);
    } else if (splits_on_known(node)) {
      split_queries(node, queries, background, weight);
    } else if (by_cover()) {
      const double share = left_share(node);
      visit(tree_.left[node], queries, background, weight * share, shared);
      visit(tree_.right[node], queries, background, weight * (1.0 - share), shared);
    } else {
      const Index middle = partition(background_, background_order_, background, node);
      visit(tree_.left[node], queries, {background.begin, middle}, weight, shared);
      visit(tree_.right[node], queries, {middle, background.end}, weight, shared);
    }
  }

  double share_of(Range background) const {
    return static_cast<double>(background.size()) / static_cast<double>(background_order_.size());
  }

  void split_queries(Index node, Range queries, Range background, double weight) {
    const Index left = tree_.left[node];
    const Index right = tree_.right[node];
    // One output is the rule: no allocation for it.
    double pair[2] = {0.0, 0.0};
    std::vector<double> longer(n_outputs_ > 1 ? 2 * n_outputs_ : 0, 0.0);
    double* of_left = n_outputs_ > 1 ? longer.data() : pair;
    double* of_right = of_left + n_outputs_;
    if (!known_below_[left] && !known_below_[right]) {
      visit(left, queries, background, weight, of_left);
      visit(right, queries, background, weight, of_right);
      add_by_side(node, queries, of_left, of_right);
      return;
    }
    const Index middle = partition(queries_, query_order_, queries, node);
    visit(left, {queries.begin, middle}, background, weight, of_left);
    add_to_rows({queries.begin, middle}, of_left);
    visit(right, {middle, queries.end}, background, weight, of_right);
    add_to_rows({middle, queries.end}, of_right);
  }

  // The last split on the way: nothing needs the order of the rows any more.
  void add_by_side(Index node, Range range, const double* of_left, const double* of_right) {
    const float* x = column(queries_, node);
    with_test(node, [&](auto goes_left) {
      for (Index i = range.begin; i < range.end; ++i) {
        const Index row = query_order_[i];
        const double* side = goes_left(x[row]) ? of_left : of_right;
        for (Index k = 0; k < n_outputs_; ++k) sums_[row * n_outputs_ + k] += side[k];
      }
    });
  }

  const ExpectationTree& tree_;
  const RowView& queries_;
  const RowView& background_;
  std::span<const std::uint8_t> known_;
  Index n_outputs_;
  std::span<double> sums_;
  Poll& poll_;
  std::vector<std::int32_t> query_order_;
  std::vector<std::int32_t> background_order_;
  std::vector<std::int32_t> spill_;
  std::vector<std::uint8_t> known_below_;
  std::vector<double> means_;
};

}  // namespace

bool add_tree_expectation(const ExpectationTree& tree, const RowView& queries,
                          const RowView& background, const KnownColumns& subsets,
                          std::int64_t n_outputs, std::span<double> sums,
                          const Interrupted& interrupted) {
  Poll poll(interrupted);
  const std::size_t n = subsets.n_subsets;
  for (std::size_t s = 0; s < n && !poll.should_end(); ++s) {
    const auto part = [s, n](auto all) {
      return all.subspan(s * (all.size() / n), all.size() / n);
    };
    const RowView rows{background.columns, background.n_rows, part(subsets.background_rows)};
    Walk(tree, queries, rows, part(subsets.known), n_outputs, part(sums), poll).run();
  }
  return !poll.should_end();
}

}  // namespace shaff
