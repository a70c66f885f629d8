#include "shaff/projected_boosting.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "boosting_cells.hpp"
#include "boosting_slopes.hpp"
#include "poll.hpp"

namespace shaff {
namespace {

template <class Id>
struct Cells {
  const Id* number = nullptr;  // of each row; null when there is one cell
  std::size_t count = 1;
};

// Residuals of a training row by the steps of all rows and by those of its own half, or two such
// steps. They stand side by side because whatever is done to the one is done to the other.
struct alignas(16) Pair {
  double all = 0.0, own = 0.0;

  void add(const Pair& other) {
    all += other.all;
    own += other.own;
  }
  void subtract(const Pair& other) {
    all -= other.all;
    own -= other.own;
  }
};

// Over the training rows of a cell in one half.
struct alignas(32) HalfSums {
  Pair residual;
  double weight = 0.0;

  void add(double row_weight, const Pair& row) {
    residual.add({row_weight * row.all, row_weight * row.own});
    weight += row_weight;
  }
  void add(const HalfSums& other) {
    residual.add(other.residual);
    weight += other.weight;
  }
};

// Of a cell: for the rows of each half.
struct alignas(32) Steps {
  Pair first, second;
};

// `Lanes` of both.
struct alignas(32) PairLanes {
  Pair at[1 + kMaxSlopes];

  void add(const Pair& scale, const SlopeRow& row) {
    at[0].add(scale);
    for (std::size_t k = 0; k < kMaxSlopes; ++k)
      at[1 + k].add({scale.all * row.x[k], scale.own * row.x[k]});
  }
  void add(const PairLanes& other) {
    for (std::size_t k = 0; k <= kMaxSlopes; ++k) at[k].add(other.at[k]);
  }
  Pair step(const SlopeRow& row) const {
    Pair sum = at[0];
    for (std::size_t k = 0; k < kMaxSlopes; ++k)
      sum.add({at[1 + k].all * row.x[k], at[1 + k].own * row.x[k]});
    return sum;
  }
  Lanes all() const { return {{at[0].all, at[1].all, at[2].all, at[3].all}}; }
  Lanes own() const { return {{at[0].own, at[1].own, at[2].own, at[3].own}}; }
  static PairLanes of(const Lanes& all, const Lanes& own) {
    PairLanes out;
    for (std::size_t k = 0; k <= kMaxSlopes; ++k) out.at[k] = {all.at[k], own.at[k]};
    return out;
  }
};

// Linear steps of a cell: for the rows of each half.
struct SlopeSteps {
  PairLanes first, second;
};

// Rows whose cells are numbered at a time: more, and the cells of a tree's subtrees outgrow the
// cache (`benchmarks.pairs --case 2:100000`); fewer, and loops are too short.
constexpr std::size_t kBlockRows = 2048;

// Cells are few in most trees, so that narrow numbers do; where they do not, the tree is replayed
// with wide ones.
template <class Id>
class Replay {
 public:
  Replay(const BoostedTrees& trees, const BoostingRows& rows,
         std::span<const std::uint64_t> subsets, std::size_t words_per_subset,
         const ReplayOptions& options, std::span<double> residual, const HalfResiduals& halves,
         const Interrupted& interrupted)
      : trees_(trees),
        rows_(rows),
        subsets_(subsets),
        words_(words_per_subset),
        n_subsets_(subsets.size() / words_per_subset),
        options_(options),
        residual_(residual),
        halves_(halves),
        interrupted_(interrupted),
        poll_(interrupted),
        groups_(trees, subsets, words_per_subset),
        pairs_(halves.wanted() ? n_subsets_ * rows.n_train() : 0),
        due_(n_subsets_),
        equal_weights_(std::ranges::all_of(rows.weight, [](double w) { return w == 1.0; })) {}

  bool run() {
    zeros_.assign(rows_.n_rows, 0);
    if (is_linear()) no_values_.resize(rows_.n_rows);
    for (std::size_t u = 0; u < n_subsets_; ++u) read_pairs(u);
    const bool whole = run_trees();
    for (std::size_t u = 0; u < n_subsets_; ++u) write_pairs(u);
    return whole;
  }

 private:
  struct Due {
    const Id* number = nullptr;
    std::vector<Steps> steps;
    // In place of these steps, if they are linear.
    SlopeColumns rows;
    std::vector<SlopeSteps> slopes;
  };

  bool is_linear() const { return !rows_.values.empty(); }

  bool run_trees() {
    for (tree_ = 0; tree_ < trees_.n_trees(); ++tree_) {
      if (poll_.should_end()) return false;
      overflowed_ = false;
      groups_.read(static_cast<std::size_t>(trees_.tree_offset[tree_]), n_subsets_);
      if (!number_tree()) return false;
      if (!(overflowed_ ? step_wide() : step_groups())) return false;
    }
    return true;
  }

  void read_pairs(std::size_t subset) {
    if (!halves_.wanted()) return;
    due_[subset] = {one_cell().number, {Steps{}}, columns_of({}), {SlopeSteps{}}};
    const std::size_t n_train = rows_.n_train();
    const double *all = residual_.data() + subset * rows_.n_rows,
                 *own = halves_.train.data() + subset * n_train;
    Pair* pairs = pairs_.data() + subset * n_train;
    for (std::size_t i = 0; i < n_train; ++i) pairs[i] = {all[i], own[i]};
  }

  void write_pairs(std::size_t subset) {
    if (!halves_.wanted()) return;
    const std::size_t n_train = rows_.n_train(), n_first = halves_.n_first;
    double *all = residual_.data() + subset * rows_.n_rows,
           *own = halves_.train.data() + subset * n_train;
    const Due& due = due_[subset];
    Pair* pairs = pairs_.data() + subset * n_train;
    for (std::size_t i = 0; i < n_train; ++i) {
      pairs[i].subtract(due_step(due, i, i < n_first));
      all[i] = pairs[i].all;
      own[i] = pairs[i].own;
    }
  }

  Pair due_step(const Due& due, std::size_t row, bool in_first) const {
    const std::size_t cell = due.number[row];
    if (!is_linear()) return in_first ? due.steps[cell].first : due.steps[cell].second;
    const SlopeSteps& steps = due.slopes[cell];
    return (in_first ? steps.first : steps.second).step(due.rows[row]);
  }

  // The present tree for one subset, whose cells are too many for an Id.
  bool step_wide(std::size_t subset) {
    const std::size_t n_train = rows_.n_train(), n_test = rows_.n_rows - n_train;
    BoostedTrees tree = trees_;
    tree.tree_offset = trees_.tree_offset.subspan(tree_, 2);
    HalfResiduals halves = halves_;
    write_pairs(subset);
    if (halves.wanted()) {
      halves.train = halves_.train.subspan(subset * n_train, n_train);
      halves.test = halves_.test.subspan(subset * 2 * n_test, 2 * n_test);
    }
    const bool whole =
        Replay<std::uint32_t>(tree, rows_, subsets_.subspan(subset * words_, words_), words_,
                              options_, residual_.subspan(subset * rows_.n_rows, rows_.n_rows),
                              halves, interrupted_)
            .run();
    read_pairs(subset);
    return whole;
  }

  bool step_wide() {
    for (std::size_t u = 0; u < n_subsets_; ++u)
      if (!step_wide(u)) return false;
    return true;
  }

  // The cells of the root for all rows, in `root_cells_`; those below it are only kept for a block
  // of rows, so that they stay in the cache.
  bool number_tree() {
    if (groups_.size() == 0) return true;
    const std::size_t n = rows_.n_rows, size = numbers_fit() ? std::min(n, kBlockRows) : n;
    reserve(size);
    for (std::size_t first = 0; first < n && !overflowed_; first += size)
      if (!number_rows(first, std::min(size, n - first))) return false;
    return true;
  }

  // Whether cells may be numbered without a look at the rows, by sums and products alone.
  bool numbers_fit() {
    counts_.resize(groups_.size());
    for (std::size_t at = 0; at < groups_.size(); ++at) {
      counts_[at].clear();
      for (const std::uint32_t subset : groups_[at].first) {
        const std::size_t left = count(groups_[at].left, subset),
                          right = count(groups_[at].right, subset);
        const bool seen = groups_.contains(subset, groups_[at].feature);
        if (seen ? !sum_fits(left, right) : !product_fits(left, right)) return false;
        counts_[at].push_back(seen ? left + right : left * right);
      }
    }
    return true;
  }

  std::size_t count(std::uint32_t child, std::size_t subset) const {
    return child == TreeGroups::kLeaf ? 1 : counts_[child][groups_[child].group[subset]];
  }

  static bool sum_fits(std::size_t left, std::size_t right) {
    return left + right <= std::numeric_limits<Id>::max();
  }

  // More numbers than rows: most are empty, and the tables over cells would outgrow the rows.
  bool product_fits(std::size_t left, std::size_t right) const {
    if (left == 1 || right == 1) return true;  // the numbers of the other side
    return left * right <= std::min<std::size_t>(rows_.n_rows, std::numeric_limits<Id>::max());
  }

  void reserve(std::size_t size) {
    const std::size_t n_groups = groups_.root().first.size();
    cells_.resize(std::max(cells_.size(), groups_.size()));
    for (std::vector<Id>& buffer : buffers_) buffer.resize(std::max(buffer.size(), size));
    goes_left_.resize(std::max(goes_left_.size(), size));
    root_numbers().resize(std::max(root_numbers().size(), n_groups * rows_.n_rows));
    root_cells_.assign(n_groups, {});
    root_overflowed_.assign(n_groups, 0);
  }

  // All cells of some rows.
  bool number_rows(std::size_t first, std::size_t size) {
    n_buffers_ = 0;
    for (std::size_t at = 0; at + 1 < groups_.size() && !overflowed_; ++at)
      if (!number_subtree(at, first, size)) return false;
    return overflowed_ || number_root(first, size);
  }

  void route(std::size_t at, std::size_t first, std::size_t size) {
    const Split split(trees_, groups_[at].node);
    const std::uint16_t* codes = rows_.column(static_cast<std::size_t>(split.feature));
    split.route<Id>({codes + first, size}, trees_.set_offset, trees_.set_words, goes_left_.data());
  }

  bool number_subtree(std::size_t at, std::size_t first, std::size_t size) {
    cells_[at].clear();
    route(at, first, size);
    for (const std::uint32_t subset : groups_[at].first) {
      if (poll_.should_end_after(size)) return false;
      if (n_buffers_ == buffers_.size()) buffers_.emplace_back(goes_left_.size());
      Id* out = buffers_[n_buffers_].data();
      cells_[at].push_back(number_cells(at, subset, size, out));
      if (cells_[at].back().number == out) ++n_buffers_;
    }
    return true;
  }

  bool number_root(std::size_t first, std::size_t size) {
    const std::size_t at = groups_.size() - 1;
    route(at, first, size);
    for (std::size_t g = 0; g < root_cells_.size(); ++g) {
      if (poll_.should_end_after(size)) return false;
      Id* all = root_numbers().data() + g * rows_.n_rows;
      const Cells<Id> cells = number_cells(at, groups_.root().first[g], size, all + first);
      if (cells.number == nullptr) continue;
      if (cells.number != all + first) std::copy_n(cells.number, size, all + first);
      root_cells_[g] = {all, cells.count};
      root_overflowed_[g] = overflowed_;
      overflowed_ = false;
    }
    return true;
  }

  // Those of the tree before are still due.
  std::vector<Id>& root_numbers() { return root_numbers_[tree_ % 2]; }

  Cells<Id> child_cells(std::uint32_t child, std::size_t subset) const {
    return child == TreeGroups::kLeaf ? Cells<Id>{} : cells_[child][groups_[child].group[subset]];
  }

  // The cells of a subtree for one subset: in `out`, or those of a child when they are the same.
  Cells<Id> number_cells(std::size_t at, std::size_t subset, std::size_t size, Id* out) {
    const Cells<Id> left = child_cells(groups_[at].left, subset);
    const Cells<Id> right = child_cells(groups_[at].right, subset);
    if (groups_.contains(subset, groups_[at].feature)) return picked(left, right, size, out);
    if (left.number == nullptr) return right;
    if (right.number == nullptr) return left;
    return crossed(left, right, size, out);
  }

  Cells<Id> picked(const Cells<Id>& left, const Cells<Id>& right, std::size_t size, Id* out) {
    const std::size_t count = left.count + right.count;
    const Id* goes_left = goes_left_.data();
    if (!sum_fits(left.count, right.count)) {
      return renumber(count, size, out, [&](std::size_t i) {
        return picked_key(goes_left, left.number, left.count, right.number, i);
      });
    }
    pick_side(goes_left, left.number, static_cast<Id>(left.count), right.number, size, out);
    return {out, count};
  }

  Cells<Id> crossed(const Cells<Id>& left, const Cells<Id>& right, std::size_t size, Id* out) {
    const std::size_t count = left.count * right.count;
    if (!product_fits(left.count, right.count)) {
      return renumber(count, size, out, [&](std::size_t i) {
        return crossed_key(left.number, right.number, right.count, i);
      });
    }
    cross_sides(left.number, right.number, static_cast<Id>(right.count), size, out);
    return {out, count};
  }

  // Numbers the keys that occur, in order of first appearance; `bound` is above every key.
  template <class Key>
  Cells<Id> renumber(std::size_t bound, std::size_t n, Id* out, Key key) {
    // The table costs a pass over `bound`, the hash some ten times as much a row: larger, and small
    // folds clear tables for nothing; smaller, and common trees pay for the hash.
    if (bound > 16 * n + 4096) {
      keys_.reset(n);
      for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Id>(keys_.number(key(i)));
      overflowed_ |= keys_.count() > std::numeric_limits<Id>::max();
      return {out, keys_.count()};
    }
    direct_.assign(bound, 0);
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t& number = direct_[key(i)];
      if (number == 0) number = ++count;
      out[i] = static_cast<Id>(number - 1);
    }
    overflowed_ |= count > std::numeric_limits<Id>::max();
    return {out, count};
  }

  bool step_groups() {
    if (is_linear()) ranked_.read(trees_, tree_);
    if (groups_.size() == 0) return step_without_splits();
    const auto& members = groups_.root_members();
    for (std::size_t g = 0; g < members.size(); ++g) {
      const Cells<Id> cells = root_cells_[g].number == nullptr ? one_cell() : root_cells_[g];
      if (is_linear() && !root_overflowed_[g]) fit_slopes(g, cells);
      for (const std::uint32_t u : members[g]) {
        if (poll_.should_end_after(rows_.n_rows)) return false;
        if (!root_overflowed_[g])
          step(u, cells);
        else if (!step_wide(u))
          return false;
      }
    }
    return true;
  }

  bool step_without_splits() {
    if (is_linear()) fit_slopes(0, one_cell());
    for (std::size_t u = 0; u < n_subsets_; ++u) step(u, one_cell());
    return true;
  }

  SlopeColumns columns_of(std::span<const std::int32_t> columns) const {
    return {rows_.values, no_values_, columns};
  }

  // What the subsets of a group share: the columns with slopes, and the regressions of the cells.
  void fit_slopes(std::size_t g, const Cells<Id>& cells) {
    const std::vector<std::int32_t> columns = ranked_.first(
        [&](std::int32_t column) { return groups_.contains(groups_.root().first[g], column); });
    fits_.rows = columns_of(columns);
    const Shrinkages shrinkage{options_.shrinkage, options_.slope_shrinkage};
    if (halves_.wanted())
      fit_halves(cells, shrinkage);
    else
      sum_grams(loops_, cells.number, cells.count, rows_.weight, fits_.rows, grams_);
    fit_cells(grams_, cells.count, shrinkage, columns.size(), fits_.all);
    clip_held_out(cells);
  }

  void clip_held_out(const Cells<Id>& cells) {
    constexpr std::int32_t kPlaces[kMaxSlopes] = {0, 1, 2};
    const std::size_t n_train = rows_.n_train(), n_test = rows_.n_rows - n_train;
    const std::size_t n_slopes = fits_.rows.count();
    ranges_.clear();
    for (std::size_t c = 0; c < cells.count; ++c) ranges_.push_back(grams_[c].known_range());
    clipped_.resize(n_slopes * n_test);
    loops_.clip(fits_.rows.block(cells.number + n_train, n_train, n_test), ranges_.data(),
                clipped_.data());
    fits_.held_out = {clipped_, std::span(no_values_).first(n_test),
                      std::span(kPlaces).first(n_slopes)};
  }

  // Leaves the sums of all rows in `grams_`.
  void fit_halves(const Cells<Id>& cells, const Shrinkages& shrinkage) {
    const std::size_t n_first = halves_.n_first, n_slopes = fits_.rows.count();
    const Shrinkages half{shrinkage.step / 2, shrinkage.slope / 2};
    sum_grams(loops_, cells.number + n_first, cells.count, rows_.weight.subspan(n_first),
              fits_.rows.from(n_first), grams_);
    fit_cells(grams_, cells.count, half, n_slopes, fits_.second);
    sum_grams(loops_, cells.number, cells.count, rows_.weight.first(n_first), fits_.rows,
              first_grams_);
    fit_cells(first_grams_, cells.count, half, n_slopes, fits_.first);
    for (std::size_t c = 0; c < cells.count; ++c) grams_[c].add(first_grams_[c]);
  }

  Cells<Id> one_cell() const { return {zeros_.data(), 1}; }

  void step(std::size_t subset, const Cells<Id>& cells) {
    if (halves_.wanted())
      is_linear() ? slope_halves(subset, cells) : step_halves(subset, cells);
    else
      is_linear() ? slope_all(subset, cells) : step_all(subset, cells);
  }

  void step_all(std::size_t subset, const Cells<Id>& cells) {
    double* residual = residual_.data() + subset * rows_.n_rows;
    sum_cells(cells.number, cells.count, rows_.weight, residual, sums_);
    step_.resize(cells.count);
    for (std::size_t c = 0; c < cells.count; ++c)
      step_[c] = sums_[c].step(options_.learning_rate, options_.shrinkage);
    for (std::size_t i = 0; i < rows_.n_rows; ++i) residual[i] -= step_[cells.number[i]];
  }

  void slope_all(std::size_t subset, const Cells<Id>& cells) {
    const std::size_t n_train = rows_.n_train(), n_test = rows_.n_rows - n_train;
    double* residual = residual_.data() + subset * rows_.n_rows;
    sum_slopes(loops_, cells.number, cells.count, rows_.weight, residual, fits_.rows, slope_sums_);
    for (std::size_t c = 0; c < cells.count; ++c)
      slope_sums_[c] = fits_.all[c].step(slope_sums_[c], options_.learning_rate);
    loops_.take_steps(fits_.rows.block(cells.number, 0, n_train), slope_sums_.data(), residual);
    loops_.take_steps(fits_.held_out.block(cells.number + n_train, 0, n_test), slope_sums_.data(),
                      residual + n_train);
  }

  void slope_halves(std::size_t subset, const Cells<Id>& cells) {
    const std::size_t n = rows_.n_rows, n_train = rows_.n_train();
    double* by_all = residual_.data() + subset * n;
    double* by_first = halves_.test.data() + subset * 2 * (n - n_train);
    double* by_second = by_first + (n - n_train);
    if (equal_weights_)
      sum_slope_halves(subset, cells, [](std::size_t) { return 1.0; });
    else
      sum_slope_halves(subset, cells, [this](std::size_t i) { return rows_.weight[i]; });
    Due& due = due_[subset];
    due.number = cells.number;
    due.rows = fits_.rows;
    find_slopes(cells.count, due.slopes);
    for (std::size_t i = n_train; i < n; ++i) {
      const SlopeSteps& steps = due.slopes[cells.number[i]];
      const SlopeRow row = fits_.held_out[i - n_train];
      const Pair first = steps.first.step(row), second = steps.second.step(row);
      by_all[i] -= first.all;
      by_first[i - n_train] -= first.own;
      by_second[i - n_train] -= second.own;
    }
  }

  // As `sum_halves` does it.
  template <class Weight>
  void sum_slope_halves(std::size_t subset, const Cells<Id>& cells, Weight weight) {
    const std::size_t count = cells.count;
    for (std::vector<PairLanes>* sums : {&first_slopes_, &second_slopes_})
      sums->assign(2 * count, PairLanes{});
    const Id *number = cells.number, *before = due_[subset].number;
    const SlopeSteps* steps = due_[subset].slopes.data();
    const SlopeColumns rows = fits_.rows, rows_before = due_[subset].rows;
    Pair* pairs = pairs_.data() + subset * rows_.n_train();
    const auto add = [&](PairLanes* table, std::size_t i, const PairLanes& due) {
      pairs[i].subtract(due.step(rows_before[i]));
      const double w = weight(i);
      table[number[i]].add({w * pairs[i].all, w * pairs[i].own}, rows[i]);
    };
    PairLanes *first = first_slopes_.data(), *second = second_slopes_.data();
    in_turns([&](std::size_t table,
                 std::size_t i) { add(first + table * count, i, steps[before[i]].first); },
             [&](std::size_t table, std::size_t i) {
               add(second + table * count, i, steps[before[i]].second);
             });
    merge_tables(first_slopes_, count, 2);
    merge_tables(second_slopes_, count, 2);
  }

  void find_slopes(std::size_t n_cells, std::vector<SlopeSteps>& steps) const {
    const double rate = options_.learning_rate;
    steps.resize(n_cells);
    for (std::size_t c = 0; c < n_cells; ++c) {
      const PairLanes &a = first_slopes_[c], &b = second_slopes_[c];
      Lanes both = a.all();
      both.add(b.all());
      const Lanes all = fits_.all[c].step(both, rate);
      steps[c] = {PairLanes::of(all, fits_.first[c].step(a.own(), rate)),
                  PairLanes::of(all, fits_.second[c].step(b.own(), rate))};
    }
  }

  // All training rows, of both halves in turn; `first` and `second` get one of two tables, and a
  // row.
  template <class First, class Second>
  void in_turns(First first, Second second) const {
    const std::size_t n_first = halves_.n_first, n_train = rows_.n_train();
    const std::size_t both = std::min(n_first, n_train - n_first) / 2 * 2;
    for (std::size_t i = 0; i < both; i += 2) {
      first(0, i);
      second(0, n_first + i);
      first(1, i + 1);
      second(1, n_first + i + 1);
    }
    for (std::size_t i = both; i < n_first; ++i) first(0, i);
    for (std::size_t i = n_first + both; i < n_train; ++i) second(0, i);
  }

  void step_halves(std::size_t subset, const Cells<Id>& cells) {
    const std::size_t n = rows_.n_rows, n_train = rows_.n_train();
    double* by_all = residual_.data() + subset * n;
    double* by_first = halves_.test.data() + subset * 2 * (n - n_train);
    double* by_second = by_first + (n - n_train);
    if (equal_weights_)
      sum_halves(subset, cells, [](std::size_t) { return 1.0; });
    else
      sum_halves(subset, cells, [this](std::size_t i) { return rows_.weight[i]; });
    due_[subset].number = cells.number;
    find_steps(cells.count, due_[subset].steps);
    for (std::size_t i = n_train; i < n; ++i) {
      const Steps& step = due_[subset].steps[cells.number[i]];
      by_all[i] -= step.first.all;
      by_first[i - n_train] -= step.first.own;
      by_second[i - n_train] -= step.second.own;
    }
  }

  // Two tables for each half; rows of both in turn. A row takes the step of the tree before on the
  // way: to read and write the residuals of many rows takes longer than anything done to them.
  template <class Weight>
  void sum_halves(std::size_t subset, const Cells<Id>& cells, Weight weight) {
    const std::size_t count = cells.count;
    for (std::vector<HalfSums>* sums : {&first_sums_, &second_sums_})
      sums->assign(2 * count, HalfSums{});
    const Id *number = cells.number, *before = due_[subset].number;
    const Steps* steps = due_[subset].steps.data();
    Pair* pairs = pairs_.data() + subset * rows_.n_train();
    const auto add = [&](HalfSums* table, std::size_t i, const Pair& step) {
      pairs[i].subtract(step);
      table[number[i]].add(weight(i), pairs[i]);
    };
    HalfSums *first = first_sums_.data(), *second = second_sums_.data();
    in_turns([&](std::size_t table,
                 std::size_t i) { add(first + table * count, i, steps[before[i]].first); },
             [&](std::size_t table, std::size_t i) {
               add(second + table * count, i, steps[before[i]].second);
             });
    merge_tables(first_sums_, count, 2);
    merge_tables(second_sums_, count, 2);
  }

  void find_steps(std::size_t n_cells, std::vector<Steps>& steps) const {
    const double rate = options_.learning_rate, shrinkage = options_.shrinkage;
    steps.resize(n_cells);
    for (std::size_t c = 0; c < n_cells; ++c) {
      const HalfSums &a = first_sums_[c], &b = second_sums_[c];
      const CellSums both{a.residual.all + b.residual.all, a.weight + b.weight};
      const double all = both.step(rate, shrinkage);
      steps[c].first = {all, CellSums{a.residual.own, a.weight}.step(rate, shrinkage / 2)};
      steps[c].second = {all, CellSums{b.residual.own, b.weight}.step(rate, shrinkage / 2)};
    }
  }

  const BoostedTrees& trees_;
  const BoostingRows& rows_;
  std::span<const std::uint64_t> subsets_;
  std::size_t words_, n_subsets_;
  ReplayOptions options_;
  std::span<double> residual_;
  HalfResiduals halves_;
  const Interrupted& interrupted_;
  Poll poll_;

  bool overflowed_ = false;  // a count of cells has outgrown Id
  std::size_t tree_ = 0, n_buffers_ = 0;
  TreeGroups groups_;
  std::vector<std::vector<std::size_t>> counts_;
  // Of the rows that are numbered now.
  std::vector<Id> goes_left_;
  std::vector<std::vector<Cells<Id>>> cells_;
  std::vector<std::vector<Id>> buffers_;
  // Of all rows, for the groups of the root.
  std::vector<Id> root_numbers_[2], zeros_;
  std::vector<Cells<Id>> root_cells_;
  std::vector<std::uint8_t> root_overflowed_;
  // The training rows while trees are replayed, and the steps that they are to take next.
  std::vector<Pair> pairs_;
  std::vector<Due> due_;
  bool equal_weights_;
  std::vector<std::uint32_t> direct_;
  std::vector<CellSums> sums_;
  std::vector<double> step_;
  std::vector<HalfSums> first_sums_, second_sums_;
  // Of linear steps: the columns of the tree, and what the subsets of the present group share.
  RankedColumns ranked_;
  const SlopeLoops<Id>& loops_ = slope_loops<Id>();
  std::vector<float> no_values_;
  std::vector<CellGram> grams_, first_grams_;
  struct {
    SlopeColumns rows, held_out;
    std::vector<CellFit> all, first, second;
  } fits_;
  std::vector<CellRange> ranges_;
  std::vector<float> clipped_;  // of the held-out rows, a column after the other
  std::vector<Lanes> slope_sums_;
  std::vector<PairLanes> first_slopes_, second_slopes_;
  KeyTable keys_;
};

}  // namespace

bool replay_boosting(const BoostedTrees& trees, const BoostingRows& rows,
                     std::span<const std::uint64_t> subsets, std::size_t words_per_subset,
                     const ReplayOptions& options, std::span<double> residual,
                     const HalfResiduals& halves, const Interrupted& interrupted) {
  return Replay<std::uint16_t>(trees, rows, subsets, words_per_subset, options, residual, halves,
                               interrupted)
      .run();
}

}  // namespace shaff
