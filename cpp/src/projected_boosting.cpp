#include "shaff/projected_boosting.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "boosting_cells.hpp"
#include "poll.hpp"

namespace shaff {
namespace {

template <class Id>
struct Cells {
  const Id* number = nullptr;  // of each row; null when there is one cell
  std::size_t count = 1;
};

// Over the training rows of a cell.
struct Sums {
  double residual = 0.0, weight = 0.0;

  void add(double row_weight, double row_residual) {
    residual += row_weight * row_residual;
    weight += row_weight;
  }
  void add(const Sums& other) {
    residual += other.residual;
    weight += other.weight;
  }
};

// The same for one half of them, with what is left of the residuals by that half's own steps.
struct alignas(32) HalfSums {
  double residual = 0.0, own = 0.0, weight = 0.0;

  void add(double row_weight, double row_residual, double own_residual) {
    residual += row_weight * row_residual;
    own += row_weight * own_residual;
    weight += row_weight;
  }
  void add(const HalfSums& other) {
    residual += other.residual;
    own += other.own;
    weight += other.weight;
  }
};

// Of a cell: by all training rows, and by each half.
struct alignas(32) Steps {
  double all = 0.0, first = 0.0, second = 0.0;
};

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
        root_numbers_(rows.n_rows) {}

  bool run() {
    for (tree_ = 0; tree_ < trees_.n_trees(); ++tree_) {
      if (poll_.should_end()) return false;
      overflowed_ = false;
      read_tree(static_cast<std::size_t>(trees_.tree_offset[tree_]));
      for (std::size_t at = 0; at + 1 < n_subtrees_ && !overflowed_; ++at)
        if (!number_subtree(at)) return false;
      if (!(overflowed_ ? step_wide() : step_root())) return false;
    }
    return true;
  }

 private:
  // The present tree for one subset, whose cells are too many for an Id.
  bool step_wide(std::size_t subset) {
    const std::size_t n_train = rows_.n_train(), n_test = rows_.n_rows - n_train;
    BoostedTrees tree = trees_;
    tree.tree_offset = trees_.tree_offset.subspan(tree_, 2);
    HalfResiduals halves = halves_;
    if (halves.wanted()) {
      halves.train = halves_.train.subspan(subset * n_train, n_train);
      halves.test = halves_.test.subspan(subset * 2 * n_test, 2 * n_test);
    }
    return Replay<std::uint32_t>(tree, rows_, subsets_.subspan(subset * words_, words_), words_,
                                 options_, residual_.subspan(subset * rows_.n_rows, rows_.n_rows),
                                 halves, interrupted_)
        .run();
  }

  bool step_wide() {
    for (std::size_t u = 0; u < n_subsets_; ++u)
      if (!step_wide(u)) return false;
    return true;
  }

  bool contains(std::size_t subset, std::int32_t feature) const {
    return subsets_[subset * words_ + feature / 64] >> (feature % 64) & 1;
  }

  // The subtrees that hold a split, children before parents, and their groups of subsets.
  void read_tree(std::size_t root) {
    n_subtrees_ = 0;
    n_buffers_ = 0;
    add_subtree(root);
    if (cells_.size() < n_subtrees_) cells_.resize(n_subtrees_);
  }

  static constexpr std::uint32_t kLeaf = 0xFFFFFFFF;
  static constexpr std::size_t kTables = 4;

  std::uint32_t add_subtree(std::size_t node) {
    if (trees_.feature[node] < 0) return kLeaf;
    const std::uint32_t left = add_subtree(static_cast<std::size_t>(trees_.left[node]));
    const std::uint32_t right = add_subtree(static_cast<std::size_t>(trees_.right[node]));
    if (subtrees_.size() == n_subtrees_) {
      subtrees_.emplace_back();
      goes_left_.emplace_back(rows_.n_rows);
    }
    Subtree& subtree = subtrees_[n_subtrees_];
    subtree.feature = trees_.feature[node];
    subtree.left = left;
    subtree.right = right;
    group_subsets(subtree);
    route(node, goes_left_[n_subtrees_]);
    return static_cast<std::uint32_t>(n_subtrees_++);
  }

  std::uint64_t child_group(std::uint32_t child, std::size_t subset) const {
    return child == kLeaf ? 0 : subtrees_[child].group[subset];
  }

  // Subsets agree on a subtree iff they agree on its first split and on both sides of it.
  void group_subsets(Subtree& subtree) {
    subtree.group.resize(n_subsets_);
    subtree.first.clear();
    keys_.reset(n_subsets_);
    for (std::size_t u = 0; u < n_subsets_; ++u) {
      const std::uint64_t key = child_group(subtree.left, u) << 33 |
                                child_group(subtree.right, u) << 1 | contains(u, subtree.feature);
      const std::uint32_t group = keys_.number(key);
      subtree.group[u] = group;
      if (group == subtree.first.size()) subtree.first.push_back(static_cast<std::uint32_t>(u));
    }
  }

  // All bits set where the row goes left, so that the side is picked without a branch.
  void route(std::size_t node, std::vector<Id>& goes_left) const {
    const std::uint16_t* code = rows_.column(static_cast<std::size_t>(trees_.feature[node]));
    const bool missing_left = trees_.missing_left[node] != 0;
    const std::int32_t set = trees_.category_set[node];
    if (set < 0) {
      const std::uint16_t threshold = trees_.threshold[node];
      for (std::size_t i = 0; i < rows_.n_rows; ++i) {
        const bool left = (code[i] <= threshold) | (missing_left & (code[i] == kMissingCode));
        goes_left[i] = static_cast<Id>(0 - static_cast<Id>(left));
      }
      return;
    }
    const auto words = trees_.set_words.subspan(
        static_cast<std::size_t>(trees_.set_offset[set]),
        static_cast<std::size_t>(trees_.set_offset[set + 1] - trees_.set_offset[set]));
    for (std::size_t i = 0; i < rows_.n_rows; ++i) {
      bool left = missing_left;
      if (code[i] != kMissingCode)
        left = code[i] / 64u < words.size() && (words[code[i] / 64u] >> (code[i] % 64u) & 1);
      goes_left[i] = static_cast<Id>(0 - static_cast<Id>(left));
    }
  }

  Cells<Id> child_cells(std::uint32_t child, std::size_t subset) const {
    return child == kLeaf ? Cells<Id>{} : cells_[child][subtrees_[child].group[subset]];
  }

  bool number_subtree(std::size_t at) {
    const Subtree& subtree = subtrees_[at];
    cells_[at].clear();
    for (const std::uint32_t subset : subtree.first) {
      if (poll_.should_end_after(rows_.n_rows)) return false;
      if (n_buffers_ == buffers_.size()) buffers_.emplace_back(rows_.n_rows);
      const Cells<Id> cells = number_cells(at, subset, buffers_[n_buffers_].data());
      if (cells.number == buffers_[n_buffers_].data()) ++n_buffers_;
      cells_[at].push_back(cells);
    }
    return true;
  }

  // The cells of a subtree for one subset: in `out`, or those of a child when they are the same.
  Cells<Id> number_cells(std::size_t at, std::size_t subset, Id* out) {
    const Subtree& subtree = subtrees_[at];
    const Cells<Id> left = child_cells(subtree.left, subset);
    const Cells<Id> right = child_cells(subtree.right, subset);
    if (contains(subset, subtree.feature)) {
      return pick_side(goes_left_[at].data(), left, right, out);
    }
    if (left.number == nullptr) return right;
    if (right.number == nullptr) return left;
    return cross_sides(left, right, out);
  }

  Cells<Id> pick_side(const Id* goes_left, const Cells<Id>& left, const Cells<Id>& right, Id* out) {
    const std::size_t n = rows_.n_rows, count = left.count + right.count;
    if (count > std::numeric_limits<Id>::max()) {
      return renumber(count, out, [&](std::size_t i) {
        if (goes_left[i]) return left.number ? static_cast<std::size_t>(left.number[i]) : 0;
        return left.count + (right.number ? static_cast<std::size_t>(right.number[i]) : 0);
      });
    }
    const Id shift = static_cast<Id>(left.count);
    if (left.number && right.number) {
      for (std::size_t i = 0; i < n; ++i)
        out[i] = static_cast<Id>((left.number[i] & goes_left[i]) |
                                 ((right.number[i] + shift) & ~goes_left[i]));
    } else if (left.number) {
      for (std::size_t i = 0; i < n; ++i)
        out[i] = static_cast<Id>((left.number[i] & goes_left[i]) | (shift & ~goes_left[i]));
    } else if (right.number) {
      for (std::size_t i = 0; i < n; ++i)
        out[i] = static_cast<Id>((right.number[i] + shift) & ~goes_left[i]);
    } else {
      for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Id>(shift & ~goes_left[i]);
    }
    return {out, count};
  }

  Cells<Id> cross_sides(const Cells<Id>& left, const Cells<Id>& right, Id* out) {
    const std::size_t n = rows_.n_rows, count = left.count * right.count;
    // More numbers than rows: most are empty, and the tables over cells would outgrow the rows.
    if (count > std::min<std::size_t>(n, std::numeric_limits<Id>::max())) {
      return renumber(count, out, [&](std::size_t i) {
        return static_cast<std::size_t>(left.number[i]) * right.count + right.number[i];
      });
    }
    const Id stride = static_cast<Id>(right.count);
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<Id>(left.number[i] * stride + right.number[i]);
    return {out, count};
  }

  // Numbers the keys that occur, in order of first appearance; `bound` is above every key.
  template <class Key>
  Cells<Id> renumber(std::size_t bound, Id* out, Key key) {
    const std::size_t n = rows_.n_rows;
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

  // The root's cells are used at once, group by group, and never kept.
  bool step_root() {
    if (n_subtrees_ == 0) return step_without_splits();
    const Subtree& root = subtrees_[n_subtrees_ - 1];
    members_.assign(root.first.size(), {});
    for (std::size_t u = 0; u < n_subsets_; ++u)
      members_[root.group[u]].push_back(static_cast<std::uint32_t>(u));
    for (std::size_t g = 0; g < root.first.size(); ++g) {
      overflowed_ = false;
      const Cells<Id> cells = number_cells(n_subtrees_ - 1, root.first[g], root_numbers_.data());
      for (const std::uint32_t u : members_[g]) {
        if (poll_.should_end_after(rows_.n_rows)) return false;
        if (!overflowed_)
          step(u, cells.number == nullptr ? one_cell() : cells);
        else if (!step_wide(u))
          return false;
      }
    }
    return true;
  }

  bool step_without_splits() {
    for (std::size_t u = 0; u < n_subsets_; ++u) step(u, one_cell());
    return true;
  }

  Cells<Id> one_cell() {
    zeros_.resize(rows_.n_rows);
    return {zeros_.data(), 1};
  }

  void step(std::size_t subset, const Cells<Id>& cells) {
    if (halves_.wanted())
      step_halves(subset, cells);
    else
      step_all(subset, cells);
  }

  void step_all(std::size_t subset, const Cells<Id>& cells) {
    double* residual = residual_.data() + subset * rows_.n_rows;
    sum_cells(cells, residual);
    for (std::size_t c = 0; c < cells.count; ++c)
      step_[c] = step_size(sums_[c].residual, sums_[c].weight, options_.shrinkage);
    for (std::size_t i = 0; i < rows_.n_rows; ++i) residual[i] -= step_[cells.number[i]];
  }

  // A cell without training rows stays where it is.
  double step_size(double residual, double weight, double shrinkage) const {
    return weight > 0 ? options_.learning_rate * residual / (weight + shrinkage) : 0.0;
  }

  // Rows take turns at several tables: neighbours in one cell need not wait for each other.
  void sum_cells(const Cells<Id>& cells, const double* residual) {
    const std::size_t n = rows_.n_train(), count = cells.count;
    const double* weight = rows_.weight.data();
    sums_.assign(kTables * count, Sums{});
    step_.resize(count);
    const auto add = [&](std::size_t table, std::size_t i) {
      sums_[table * count + cells.number[i]].add(weight[i], residual[i]);
    };
    std::size_t i = 0;
    for (; i + kTables <= n; i += kTables)
      for (std::size_t table = 0; table < kTables; ++table) add(table, i + table);
    for (; i < n; ++i) add(0, i);
    merge_tables(sums_, count, kTables);
  }

  // Adds the tables up in the first one.
  template <class Sum>
  static void merge_tables(std::vector<Sum>& sums, std::size_t count, std::size_t n_tables) {
    for (std::size_t table = 1; table < n_tables; ++table)
      for (std::size_t c = 0; c < count; ++c) sums[c].add(sums[table * count + c]);
  }

  void step_halves(std::size_t subset, const Cells<Id>& cells) {
    const std::size_t n = rows_.n_rows, n_train = rows_.n_train(), n_first = halves_.n_first;
    double* residual = residual_.data() + subset * n;
    double* own = halves_.train.data() + subset * n_train;
    double* by_first = halves_.test.data() + subset * 2 * (n - n_train);
    double* by_second = by_first + (n - n_train);
    sum_halves(cells, residual, own);
    find_steps(cells.count);
    const Id* number = cells.number;
    for (std::size_t i = 0; i < n_first; ++i) {
      residual[i] -= steps_[number[i]].all;
      own[i] -= steps_[number[i]].first;
    }
    for (std::size_t i = n_first; i < n_train; ++i) {
      residual[i] -= steps_[number[i]].all;
      own[i] -= steps_[number[i]].second;
    }
    for (std::size_t i = n_train; i < n; ++i) {
      const Steps& step = steps_[number[i]];
      residual[i] -= step.all;
      by_first[i - n_train] -= step.first;
      by_second[i - n_train] -= step.second;
    }
  }

  // Two tables for each half; rows of both in turn.
  void sum_halves(const Cells<Id>& cells, const double* residual, const double* own) {
    const std::size_t n_first = halves_.n_first, n_train = rows_.n_train(), count = cells.count;
    for (std::vector<HalfSums>* sums : {&first_sums_, &second_sums_})
      sums->assign(2 * count, HalfSums{});
    const double* weight = rows_.weight.data();
    const auto add = [&](HalfSums* table, std::size_t i) {
      table[cells.number[i]].add(weight[i], residual[i], own[i]);
    };
    HalfSums *first = first_sums_.data(), *second = second_sums_.data();
    const std::size_t both = std::min(n_first, n_train - n_first) / 2 * 2;
    for (std::size_t i = 0; i < both; i += 2) {
      add(first, i);
      add(second, n_first + i);
      add(first + count, i + 1);
      add(second + count, n_first + i + 1);
    }
    for (std::size_t i = both; i < n_first; ++i) add(first, i);
    for (std::size_t i = n_first + both; i < n_train; ++i) add(second, i);
    merge_tables(first_sums_, count, 2);
    merge_tables(second_sums_, count, 2);
  }

  void find_steps(std::size_t n_cells) {
    steps_.resize(n_cells);
    for (std::size_t c = 0; c < n_cells; ++c) {
      const HalfSums &a = first_sums_[c], &b = second_sums_[c];
      const double shrinkage = options_.shrinkage;
      steps_[c].all = step_size(a.residual + b.residual, a.weight + b.weight, shrinkage);
      steps_[c].first = step_size(a.own, a.weight, shrinkage / 2);
      steps_[c].second = step_size(b.own, b.weight, shrinkage / 2);
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
  std::size_t tree_ = 0, n_subtrees_ = 0, n_buffers_ = 0;
  std::vector<Subtree> subtrees_;
  std::vector<std::vector<Id>> goes_left_;
  std::vector<std::vector<Cells<Id>>> cells_;
  std::vector<std::vector<Id>> buffers_;
  std::vector<Id> root_numbers_, zeros_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> direct_;
  std::vector<Sums> sums_;
  std::vector<double> step_;
  std::vector<HalfSums> first_sums_, second_sums_;
  std::vector<Steps> steps_;
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
