#include "shaff/booster_growing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "boosting_slopes.hpp"
#include "growing/column_draw.hpp"
#include "growing/histogram.hpp"
#include "growing/split_search.hpp"
#include "poll.hpp"

namespace shaff {
namespace {

using namespace growing;

// A leaf that may yet be split. Its rows are order_[first : first + n_rows()].
template <class Bin>
struct Leaf {
  std::size_t node = 0;  // within its tree
  std::size_t first = 0;
  Side side;
  Split split;

  std::size_t n_rows() const { return static_cast<std::size_t>(side.count); }
  typename Pool<Bin>::Histogram histogram;
};

template <class Bin>
class Grower {
 public:
  Grower(const BinnedRows& rows, const GrowingOptions& options, std::span<double> residual,
         GrownTrees& trees, const Interrupted& interrupted)
      : rows_(rows),
        options_(options),
        residual_(residual),
        trees_(trees),
        poll_(interrupted),
        weights_count_(!rows.weight.empty() && std::ranges::all_of(rows.weight, is_whole)),
        total_weight_(std::accumulate(rows.weight.begin(), rows.weight.end(), 0.0)),
        layout_(rows),
        draw_(layout_.columns(), options.max_features, options.seed),
        pool_(layout_.size()),
        order_(rows.n_rows),
        right_rows_(rows.n_rows) {
    gathered_.residual.resize(rows.n_rows);
    if (is_weighted()) gathered_.weight.resize(rows.n_rows);
    if (!is_linear()) return;
    leaf_of_.resize(rows.n_rows);
    no_values_.resize(rows.n_rows);
    if (!is_weighted()) equal_weight_.assign(rows.n_rows, 1.0);
  }

  bool run() {
    for (std::size_t t = 0; t < options_.n_trees; ++t) {
      if (poll_.should_end()) return false;
      tree_ = options_.first_tree + t;
      if (!grow_tree()) return false;
      trees_.tree_offset.push_back(static_cast<std::int64_t>(trees_.feature.size()));
    }
    return !poll_.should_end();
  }

 private:
  using Histogram = typename Pool<Bin>::Histogram;

  // Whole weights are repeated rows; others have no unit.
  static bool is_whole(double weight) { return weight == std::floor(weight); }
  double size(const Side& side) const { return side.size(weights_count_); }
  double least_count() const { return static_cast<double>(options_.min_samples_leaf); }
  bool is_weighted() const { return !rows_.weight.empty(); }
  bool is_linear() const { return !rows_.values.empty(); }

  bool grow_tree() {
    start_tree();
    while (!open_.empty()) {
      if (poll_.should_end()) return false;
      const std::size_t best = best_leaf();
      Leaf<Bin> leaf = std::move(open_[best]);
      open_[best] = std::move(open_.back());
      open_.pop_back();
      split(std::move(leaf));
    }
    if (is_linear() && n_leaves_ > 1) step_linearly();
    return true;
  }

  void start_tree() {
    first_node_ = trees_.feature.size();
    n_leaves_ = 1;
    n_closed_ = 0;
    std::iota(order_.begin(), order_.end(), 0u);
    Leaf<Bin> root;
    root.node = add_node(rows_.n_rows);
    root.side.count = static_cast<double>(rows_.n_rows);
    root.side.weight = total_weight_;
    if (layout_.columns().empty() || !can_split(root)) {
      close(root, 0.0);
      return;
    }
    root.histogram = build(nullptr, rows_.n_rows);
    root.side = whole(*root.histogram);
    // The first step is from 0, whatever the mean.
    search_and_keep(std::move(root), 0.0, 0.0);
  }

  // Sums of all rows, from any of the columns.
  Side whole(const std::vector<Bin>& histogram) const {
    Side all;
    const std::size_t column = layout_.columns().front();
    for (const Bin& bin : column_bins(histogram, column)) all.add(bin);
    return all;
  }

  std::span<const Bin> column_bins(const std::vector<Bin>& histogram, std::size_t column) const {
    const auto n_bins = static_cast<std::size_t>(rows_.n_bins[column]);
    return std::span(histogram).subspan(layout_.first(column), n_bins + 1);
  }

  // Few leaves are open, so that a queue would not pay. Of equal gains the older node comes first.
  std::size_t best_leaf() const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < open_.size(); ++k) {
      const double gain = open_[k].split.gain, most = open_[best].split.gain;
      if (gain > most || (gain == most && open_[k].node < open_[best].node)) best = k;
    }
    return best;
  }

  std::size_t add_node(std::size_t count) {
    trees_.feature.push_back(-1);
    trees_.cut.push_back(0);
    trees_.left.push_back(0);
    trees_.right.push_back(0);
    trees_.missing_left.push_back(0);
    trees_.category_set.push_back(-1);
    trees_.value.push_back(0.0);
    trees_.gain.push_back(0.0);
    trees_.count.push_back(static_cast<double>(count));
    return trees_.feature.size() - 1 - first_node_;
  }

  // `row` is null for all rows.
  Histogram build(const std::uint32_t* row, std::size_t n) {
    gather(row, n);
    Histogram out = pool_.take();
    std::fill(out->begin(), out->end(), Bin{});
    for (const std::uint32_t column : layout_.columns()) {
      // What is left out does not matter: the tree is given up.
      if (poll_.should_end_after(n)) break;
      add_column(rows_.column(column), row, n, gathered_, out->data() + layout_.first(column));
    }
    return out;
  }

  void gather(const std::uint32_t* row, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = row == nullptr ? i : row[i];
      gathered_.residual[i] = residual_[at];
      if (!is_weighted()) continue;
      gathered_.residual[i] *= rows_.weight[at];
      gathered_.weight[i] = rows_.weight[at];
    }
  }

  // Without a good split a leaf is closed at once.
  void search_and_keep(Leaf<Bin>&& leaf, double score, double value) {
    const SplitRules rules{options_.shrinkage, least_count(), weights_count_};
    SplitSearch<Bin> search(leaf.side, score, rules);
    for (const std::uint32_t column : draw_.draw(tree_, leaf.node)) {
      const auto bins = column_bins(*leaf.histogram, column);
      if (rows_.categorical[column])
        search.try_categories(static_cast<std::int32_t>(column), bins);
      else
        search.try_numeric(static_cast<std::int32_t>(column), bins, layout_.has_missing(column));
    }
    leaf.split = search.best();
    if (leaf.split.gain > 0) {
      open_.push_back(std::move(leaf));
      return;
    }
    close(leaf, value);
  }

  double value(const Side& side) const { return side.sum / (side.weight + options_.shrinkage); }

  void close(Leaf<Bin>& leaf, double value) {
    pool_.give_back(std::move(leaf.histogram));
    const double step = options_.learning_rate * value;
    trees_.value[first_node_ + leaf.node] = step;
    const std::span<const std::uint32_t> rows(order_.data() + leaf.first, leaf.n_rows());
    if (is_linear()) {
      for (const std::uint32_t row : rows) leaf_of_[row] = n_closed_;
      ++n_closed_;
    } else {
      for (const std::uint32_t row : rows) residual_[row] -= step;
    }
  }

  // The columns with slopes are only known when the tree is whole.
  void step_linearly() {
    const auto nodes = [this](const auto& part) { return std::span(part).subspan(first_node_); };
    ranked_.read(nodes(trees_.feature), nodes(trees_.category_set), nodes(trees_.gain));
    const std::vector<std::int32_t> columns = ranked_.first([](std::int32_t) { return true; });
    const SlopeColumns rows(rows_.values, no_values_, columns);
    const auto weight = is_weighted() ? rows_.weight : std::span<const double>(equal_weight_);
    sum_grams(loops_, leaf_of_.data(), n_leaves_, weight, rows, grams_);
    fit_cells(grams_, n_leaves_, {options_.shrinkage, options_.slope_shrinkage}, columns.size(),
              fits_);
    sum_slopes(loops_, leaf_of_.data(), n_leaves_, weight, residual_.data(), rows, steps_);
    for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf)
      steps_[leaf] = fits_[leaf].step(steps_[leaf], options_.learning_rate);
    loops_.take_steps(rows.block(leaf_of_.data(), 0, rows_.n_rows), steps_.data(),
                      residual_.data());
  }

  void split(Leaf<Bin>&& leaf) {
    Leaf<Bin> left, right;
    left.side = leaf.split.left;
    right.side = leaf.side - leaf.split.left;
    left.first = leaf.first;
    right.first = leaf.first + left.n_rows();
    part_rows(leaf);
    left.node = add_node(left.n_rows());
    right.node = add_node(right.n_rows());
    record(leaf, left, right);
    if (++n_leaves_ == options_.max_leaf_nodes) {
      pool_.give_back(std::move(leaf.histogram));
      open_.push_back(std::move(left));
      open_.push_back(std::move(right));
      close_all();
      return;
    }
    share_histograms(leaf, left, right);
    settle(std::move(left));
    settle(std::move(right));
  }

  void close_all() {
    for (Leaf<Bin>& leaf : open_) close(leaf, value(leaf.side));
    open_.clear();
  }

  bool can_split(const Leaf<Bin>& leaf) const { return size(leaf.side) >= 2 * least_count(); }

  void settle(Leaf<Bin>&& leaf) {
    const double step = value(leaf.side);
    if (can_split(leaf))
      search_and_keep(std::move(leaf), leaf.side.sum * step, step);
    else
      close(leaf, step);
  }

  // The smaller child's is built, the other's is what that leaves of the parent's.
  void share_histograms(Leaf<Bin>& parent, Leaf<Bin>& left, Leaf<Bin>& right) {
    if (!can_split(left) && !can_split(right)) {
      pool_.give_back(std::move(parent.histogram));
      return;
    }
    const bool left_is_small = left.side.count < right.side.count;
    Leaf<Bin>& small = left_is_small ? left : right;
    Leaf<Bin>& large = left_is_small ? right : left;
    small.histogram = build(order_.data() + small.first, small.n_rows());
    large.histogram = std::move(parent.histogram);
    subtract(*large.histogram, *small.histogram);
  }

  // Rows of the left child first; each side keeps its order.
  void part_rows(const Leaf<Bin>& leaf) {
    const Split& split = leaf.split;
    const auto column = static_cast<std::size_t>(split.column);
    BinSet left = split.set;
    if (!split.categorical) {
      left = {};
      for (std::size_t bin = 0; bin <= static_cast<std::size_t>(split.cut); ++bin)
        include(left, bin);
      if (split.missing_left) include(left, static_cast<std::size_t>(rows_.n_bins[column]));
    }
    const std::uint8_t* bins = rows_.column(column);
    std::uint32_t* out = order_.data() + leaf.first;
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = 0; i < leaf.n_rows(); ++i) {
      const std::uint32_t row = out[i];
      const bool goes_left = contains(left, bins[row]);
      // Both are written, one of them counts: no branch to guess.
      out[n_left] = row;
      right_rows_[n_right] = row;
      n_left += goes_left;
      n_right += !goes_left;
    }
    std::copy_n(right_rows_.begin(), n_right, out + n_left);
  }

  void record(const Leaf<Bin>& leaf, const Leaf<Bin>& left, const Leaf<Bin>& right) {
    const std::size_t at = first_node_ + leaf.node;
    const Split& split = leaf.split;
    trees_.feature[at] = split.column;
    trees_.cut[at] = split.cut;
    trees_.left[at] = static_cast<std::int32_t>(first_node_ + left.node);
    trees_.right[at] = static_cast<std::int32_t>(first_node_ + right.node);
    trees_.gain[at] = split.gain;
    // Where none was missing, a missing value goes with most rows.
    trees_.missing_left[at] = layout_.has_missing(static_cast<std::size_t>(split.column))
                                  ? split.missing_left
                                  : size(left.side) > size(right.side);
    if (!split.categorical) return;
    trees_.category_set[at] = static_cast<std::int32_t>(trees_.set_words.size() / kSetWords);
    trees_.set_words.insert(trees_.set_words.end(), split.set.begin(), split.set.end());
  }

  const BinnedRows& rows_;
  const GrowingOptions& options_;
  std::span<double> residual_;
  GrownTrees& trees_;
  Poll poll_;
  bool weights_count_;
  double total_weight_;
  Layout layout_;
  ColumnDraw draw_;
  Pool<Bin> pool_;
  std::vector<std::uint32_t> order_, right_rows_;
  Gathered gathered_;
  std::vector<Leaf<Bin>> open_;
  std::size_t tree_ = 0, first_node_ = 0, n_leaves_ = 1;
  // Of linear steps; leaves are numbered as they are closed.
  std::uint32_t n_closed_ = 0;
  std::vector<std::uint32_t> leaf_of_;
  RankedColumns ranked_;
  std::vector<float> no_values_;
  std::vector<double> equal_weight_;
  std::vector<CellGram> grams_;
  std::vector<CellFit> fits_;
  std::vector<Lanes> steps_;
  const SlopeLoops<std::uint32_t>& loops_ = slope_loops<std::uint32_t>();
};

}  // namespace

bool grow_trees(const BinnedRows& rows, const GrowingOptions& options, std::span<double> residual,
                GrownTrees& trees, const Interrupted& interrupted) {
  if (rows.weight.empty())
    return Grower<PlainBin>(rows, options, residual, trees, interrupted).run();
  return Grower<WeightedBin>(rows, options, residual, trees, interrupted).run();
}

}  // namespace shaff
