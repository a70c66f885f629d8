#include "shaff/projected_boosting.hpp"

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

// Id is wide enough to number n_rows cells.
template <class Id>
class Replay {
 public:
  Replay(const BoostedTrees& trees, const BoostingRows& rows,
         std::span<const std::uint64_t> subsets, std::size_t words_per_subset,
         const ReplayOptions& options, std::span<double> residual, const Interrupted& interrupted)
      : trees_(trees),
        rows_(rows),
        n_subsets_(subsets.size() / words_per_subset),
        options_(options),
        residual_(residual),
        poll_(interrupted),
        subtrees_(trees, subsets, words_per_subset),
        root_numbers_(rows.n_rows) {}

  bool run() {
    for (std::size_t tree = 0; tree < trees_.n_trees(); ++tree) {
      if (poll_.should_end()) return false;
      read_tree(static_cast<std::size_t>(trees_.tree_offset[tree]));
      for (std::size_t at = 0; at + 1 < subtrees_.size(); ++at)
        if (!number_subtree(at)) return false;
      if (!step_root()) return false;
    }
    return true;
  }

 private:
  // The subtrees that hold a split, and where their rows go.
  void read_tree(std::size_t root) {
    subtrees_.read(root, n_subsets_);
    n_buffers_ = 0;
    while (goes_left_.size() < subtrees_.size()) goes_left_.emplace_back(rows_.n_rows);
    if (cells_.size() < subtrees_.size()) cells_.resize(subtrees_.size());
    for (std::size_t at = 0; at < subtrees_.size(); ++at) {
      const Split split(trees_, subtrees_[at].node);
      const std::uint16_t* code = rows_.column(static_cast<std::size_t>(split.feature));
      split.route({code, rows_.n_rows}, trees_.set_offset, trees_.set_words, goes_left_[at].data());
    }
  }

  Cells<Id> child_cells(std::uint32_t child, std::size_t subset) const {
    return child == TreeGroups::kLeaf ? Cells<Id>{} : cells_[child][subtrees_[child].group[subset]];
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
    if (subtrees_.contains(subset, subtree.feature)) {
      return pick(goes_left_[at].data(), left, right, out);
    }
    if (left.number == nullptr) return right;
    if (right.number == nullptr) return left;
    return cross(left, right, out);
  }

  Cells<Id> pick(const Id* goes_left, const Cells<Id>& left, const Cells<Id>& right, Id* out) {
    const std::size_t count = left.count + right.count;
    if (count > std::numeric_limits<Id>::max()) {
      return renumber(count, out, [&](std::size_t i) {
        return picked_key(goes_left, left.number, left.count, right.number, i);
      });
    }
    pick_side(goes_left, left.number, static_cast<Id>(left.count), right.number, rows_.n_rows, out);
    return {out, count};
  }

  Cells<Id> cross(const Cells<Id>& left, const Cells<Id>& right, Id* out) {
    const std::size_t n = rows_.n_rows, count = left.count * right.count;
    // More numbers than rows: most are empty, and the tables over cells would outgrow the rows.
    if (count > n) {
      return renumber(count, out, [&](std::size_t i) {
        return crossed_key(left.number, right.number, right.count, i);
      });
    }
    cross_sides(left.number, right.number, static_cast<Id>(right.count), n, out);
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
      return {out, keys_.count()};
    }
    direct_.assign(bound, 0);
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t& number = direct_[key(i)];
      if (number == 0) number = ++count;
      out[i] = static_cast<Id>(number - 1);
    }
    return {out, count};
  }

  // The root's cells are used at once, group by group, and never kept.
  bool step_root() {
    if (subtrees_.size() == 0) {
      for (std::size_t u = 0; u < n_subsets_; ++u) step(u, {});
      return true;
    }
    const Subtree& root = subtrees_.root();
    const auto& members = subtrees_.root_members();
    for (std::size_t g = 0; g < root.first.size(); ++g) {
      const Cells<Id> cells =
          number_cells(subtrees_.size() - 1, root.first[g], root_numbers_.data());
      for (const std::uint32_t u : members[g]) {
        if (poll_.should_end_after(rows_.n_rows)) return false;
        step(u, cells);
      }
    }
    return true;
  }

  void step(std::size_t subset, const Cells<Id>& cells) {
    double* residual = residual_.data() + subset * rows_.n_rows;
    sum_cells(cells.number, cells.count, rows_.weight, residual, sums_);
    step_.resize(cells.count);
    for (std::size_t c = 0; c < cells.count; ++c)
      step_[c] = sums_[c].step(options_.learning_rate, options_.shrinkage);
    if (cells.number == nullptr) {
      for (std::size_t i = 0; i < rows_.n_rows; ++i) residual[i] -= step_[0];
    } else {
      for (std::size_t i = 0; i < rows_.n_rows; ++i) residual[i] -= step_[cells.number[i]];
    }
  }

  const BoostedTrees& trees_;
  const BoostingRows& rows_;
  std::size_t n_subsets_;
  ReplayOptions options_;
  std::span<double> residual_;
  Poll poll_;

  TreeGroups subtrees_;
  std::size_t n_buffers_ = 0;
  std::vector<std::vector<Id>> goes_left_;
  std::vector<std::vector<Cells<Id>>> cells_;
  std::vector<std::vector<Id>> buffers_;
  std::vector<Id> root_numbers_;
  std::vector<std::uint32_t> direct_;
  std::vector<CellSums> sums_;
  std::vector<double> step_;
  KeyTable keys_;
};

}  // namespace

bool replay_boosting(const BoostedTrees& trees, const BoostingRows& rows,
                     std::span<const std::uint64_t> subsets, std::size_t words_per_subset,
                     const ReplayOptions& options, std::span<double> residual,
                     const Interrupted& interrupted) {
  if (rows.n_rows < std::numeric_limits<std::uint16_t>::max()) {
    return Replay<std::uint16_t>(trees, rows, subsets, words_per_subset, options, residual,
                                 interrupted)
        .run();
  }
  return Replay<std::uint32_t>(trees, rows, subsets, words_per_subset, options, residual,
                               interrupted)
      .run();
}

}  // namespace shaff
