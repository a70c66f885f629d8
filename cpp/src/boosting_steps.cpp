// Each tree becomes a short program over registers of cell numbers, one register for each group
// of subsets and subtree. Training rows run through it once, which gives the tables that renumber
// cells and the steps; other rows run through it in chunks that stay in the cache.
#include "shaff/boosting_steps.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "boosting_cells.hpp"
#include "boosting_slopes.hpp"
#include "poll.hpp"

namespace shaff {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
// Rows at a time: more, and their sums leave the second-level cache; fewer, and the overhead of an
// instruction shows (`benchmarks.lake --kernel`).
constexpr std::size_t kChunk = 512;
// Crossed cells from which on those that occur are numbered anew: fewer, and common trees pay for
// look-ups; more, and tables of steps grow with cells that no row is in.
constexpr std::size_t kFewCells = 128;

// From the numbers that cells would have to those that they get. A cell without training rows has
// the last one: it has no step, nor has any cell that it is a part of.
template <class Id>
class CellTable {
 public:
  // `seen`: the numbers that occur in training rows, in order; `bound` is above every number.
  CellTable(const std::vector<std::uint64_t>& seen, std::uint64_t bound)
      : n_seen_(static_cast<Id>(seen.size())) {
    if (bound <= 8 * seen.size() + 4 * kFewCells) {
      direct_.assign(bound, n_seen_);
      for (std::size_t k = 0; k < seen.size(); ++k) direct_[seen[k]] = static_cast<Id>(k);
    } else {
      hashed_.reset(seen.size());
      for (const std::uint64_t key : seen) hashed_.number(key);
    }
  }

  template <class Key>
  void look_up(std::size_t n, Id* out, Key key) const {
    if (direct_.empty()) {
      for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Id>(hashed_.find(key(i)));
    } else {
      for (std::size_t i = 0; i < n; ++i) out[i] = direct_[key(i)];
    }
  }

  std::size_t bytes() const { return direct_.size() * sizeof(Id) + hashed_.bytes(); }

 private:
  Id n_seen_;
  std::vector<Id> direct_;
  KeyTable hashed_;
};

// out = the cells of two registers, under a split of the subset or (split = kNone) under another.
struct Instruction {
  std::uint32_t split = kNone, left = kNone, right = kNone, out = kNone;
  std::uint32_t radix = 0;      // cells on the left under a split, on the right otherwise
  std::uint32_t table = kNone;  // that numbers the cells anew
};

// A subset steps by the cells of a register; kNone is one cell.
struct Step {
  std::uint32_t cells = kNone, subset = 0;
  std::uint64_t offset = 0, count = 0;  // of its steps, learner after learner
  std::uint32_t slopes = kNone;         // those that it shares with other subsets, if it is linear
};

// What a group of subsets is linear in.
struct GroupSlopes {
  std::vector<std::int32_t> columns;
  std::vector<CellRange> ranges;
};

template <class Id>
struct Program {
  std::vector<Split> splits;
  std::vector<Instruction> instructions;
  std::vector<Step> steps;
  std::vector<GroupSlopes> slopes;
  std::vector<CellTable<Id>> tables;
  std::uint32_t n_registers = 0;

  // `mask` and `cells` give the place of a split's mask and of a register.
  template <class Mask, class Cells>
  void run(const Instruction& it, std::size_t n, Mask mask, Cells cells) const {
    const Id* left = it.left == kNone ? nullptr : cells(it.left);
    const Id* right = it.right == kNone ? nullptr : cells(it.right);
    Id* out = cells(it.out);
    const Id radix = static_cast<Id>(it.radix);
    if (it.split == kNone) {
      if (it.table == kNone) return cross_sides(left, right, radix, n, out);
      return tables[it.table].look_up(
          n, out, [=](std::size_t i) { return crossed_key(left, right, radix, i); });
    }
    const Id* goes_left = mask(it.split);
    if (it.table == kNone) return pick_side(goes_left, left, radix, right, n, out);
    tables[it.table].look_up(
        n, out, [=](std::size_t i) { return picked_key(goes_left, left, radix, right, i); });
  }
};

template <class Id>
class Steps final : public BoostingSteps {
 public:
  std::size_t n_learners() const override { return n_learners_; }
  std::size_t n_subsets() const override { return n_subsets_; }
  std::size_t n_columns() const override { return n_columns_; }
  bool is_linear() const override { return is_linear_; }

  std::size_t bytes() const override {
    std::size_t total = steps_.size() * sizeof(double) + linear_steps_.size() * sizeof(Lanes);
    total += set_words_.size() * 8;
    for (const Program<Id>& program : programs_) {
      total += program.splits.size() * sizeof(Split) + program.steps.size() * sizeof(Step);
      total += program.instructions.size() * sizeof(Instruction);
      for (const CellTable<Id>& table : program.tables) total += table.bytes();
      for (const GroupSlopes& group : program.slopes)
        total += sizeof(GroupSlopes) + group.ranges.size() * sizeof(CellRange);
    }
    return total;
  }

  bool predict(std::span<const std::uint16_t> codes, std::span<const float> values,
               std::size_t n_rows, std::span<double> out,
               const Interrupted& interrupted) const override {
    Poll poll(interrupted);
    std::vector<Id> masks, registers;
    std::vector<SlopeRow> rows(is_linear_ ? kChunk : 0);
    const std::vector<float> no_values(is_linear_ ? n_rows : 0);
    for (std::size_t first = 0; first < n_rows; first += kChunk) {
      const std::size_t n = std::min(kChunk, n_rows - first);
      if (poll.should_end()) return false;
      for (const Program<Id>& program : programs_) {
        if (poll.should_end_after(n * program.steps.size())) return false;
        masks.resize(std::max(masks.size(), program.splits.size() * kChunk));
        registers.resize(std::max(registers.size(), program.n_registers * kChunk));
        run(program, codes, n_rows, first, n, masks.data(), registers.data());
        std::uint32_t slopes = kNone;
        for (const Step& step : program.steps) {
          const Id* number = step.cells == kNone ? nullptr : registers.data() + step.cells * kChunk;
          if (step.slopes != slopes) {
            slopes = step.slopes;
            const GroupSlopes& group = program.slopes[slopes];
            const auto own = SlopeColumns(values, no_values, group.columns).from(first);
            for (std::size_t i = 0; i < n; ++i)
              rows[i] = group.ranges[number ? number[i] : 0].clip(own[i]);
          }
          add_step(step, number, rows.data(), n, out.data() + first, n_rows);
        }
      }
    }
    return true;
  }

 private:
  template <class>
  friend class Learning;

  void run(const Program<Id>& program, std::span<const std::uint16_t> codes, std::size_t n_rows,
           std::size_t first, std::size_t n, Id* masks, Id* registers) const {
    for (std::size_t s = 0; s < program.splits.size(); ++s) {
      const Split& split = program.splits[s];
      const auto column = codes.subspan(static_cast<std::size_t>(split.feature) * n_rows, n_rows);
      split.route(column.subspan(first, n), set_offset_, set_words_, masks + s * kChunk);
    }
    for (const Instruction& instruction : program.instructions)
      program.run(
          instruction, n, [=](std::uint32_t s) { return masks + s * kChunk; },
          [=](std::uint32_t r) { return registers + r * kChunk; });
  }

  // `out` is at the first of the rows.
  void add_step(const Step& step, const Id* number, const SlopeRow* rows, std::size_t n,
                double* out, std::size_t n_rows) const {
    for (std::size_t learner = 0; learner < n_learners_; ++learner) {
      const std::size_t offset = step.offset + learner * step.count;
      double* row = out + (learner * n_subsets_ + step.subset) * n_rows;
      if (is_linear_)
        add_linear(linear_steps_.data() + offset, number, rows, n, row);
      else
        add_constant(steps_.data() + offset, number, n, row);
    }
  }

  static void add_constant(const double* value, const Id* number, std::size_t n, double* row) {
    if (number == nullptr) {
      for (std::size_t i = 0; i < n; ++i) row[i] += *value;
    } else {
      for (std::size_t i = 0; i < n; ++i) row[i] += value[number[i]];
    }
  }

  static void add_linear(const Lanes* step, const Id* number, const SlopeRow* rows, std::size_t n,
                         double* row) {
    for (std::size_t i = 0; i < n; ++i) row[i] += step[number ? number[i] : 0].step(rows[i]);
  }

  std::size_t n_learners_ = 0, n_subsets_ = 0, n_columns_ = 0;
  bool is_linear_ = false;
  std::vector<Program<Id>> programs_;
  std::vector<double> steps_;
  std::vector<Lanes> linear_steps_;
  std::vector<std::int64_t> set_offset_;
  std::vector<std::uint64_t> set_words_;
};

struct Given {
  const BoostedTrees& trees;
  const TrainingRows& rows;
  const Learners& learners;
  double learning_rate;
  std::span<const std::uint64_t> subsets;
  std::size_t words;
  std::span<const std::int64_t> n_trees;
  std::span<const double> residual;

  bool is_linear() const { return !rows.values.empty(); }
};

enum class End { done, interrupted, too_many_cells };

// Writes the programs while the training rows run through them.
template <class Id>
class Learning {
 public:
  Learning(const Given& given, const Interrupted& interrupted)
      : given_(given),
        poll_(interrupted),
        order_(given.n_trees.size()),
        subsets_(ordered(given, order_)),
        groups_(given.trees, subsets_, given.words),
        steps_(std::make_unique<Steps<Id>>()) {
    const std::size_t n_learners = given.learners.size();
    for (std::size_t l = 0; l < n_learners; ++l)
      residual_.insert(residual_.end(), given.residual.begin(), given.residual.end());
    steps_->n_learners_ = n_learners;
    steps_->n_subsets_ = order_.size();
    steps_->n_columns_ = given.rows.codes.size() / std::max<std::size_t>(given.rows.n_rows, 1);
    steps_->is_linear_ = given.is_linear();
    if (given.is_linear()) no_values_.resize(given.rows.n_rows);
    steps_->set_offset_.assign(given.trees.set_offset.begin(), given.trees.set_offset.end());
    steps_->set_words_.assign(given.trees.set_words.begin(), given.trees.set_words.end());
  }

  End run() {
    for (std::size_t tree = 0; tree < given_.trees.n_trees(); ++tree) {
      const std::size_t n_active = active(tree);
      if (n_active == 0) break;
      if (poll_.should_end()) return End::interrupted;
      steps_->programs_.emplace_back();
      groups_.read(static_cast<std::size_t>(given_.trees.tree_offset[tree]), n_active);
      if (given_.is_linear()) ranked_.read(given_.trees, tree);
      const End end = groups_.size() == 0 ? step_together(n_active) : read_tree();
      if (end != End::done) return end;
    }
    return End::done;
  }

  std::unique_ptr<BoostingSteps> result() { return std::move(steps_); }

 private:
  struct Cells {
    std::uint32_t number = kNone;  // the register; kNone when there is one cell
    std::size_t count = 1;
  };

  // Those with the most trees first, so that the subsets of a tree are the first ones.
  static std::vector<std::uint64_t> ordered(const Given& given, std::vector<std::uint32_t>& order) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return given.n_trees[a] > given.n_trees[b];
    });
    std::vector<std::uint64_t> words;
    for (const std::uint32_t u : order) {
      const auto subset = given.subsets.subspan(u * given.words, given.words);
      words.insert(words.end(), subset.begin(), subset.end());
    }
    return words;
  }

  std::size_t active(std::size_t tree) const {
    std::size_t n = 0;
    while (n < order_.size() && given_.n_trees[order_[n]] > static_cast<std::int64_t>(tree)) ++n;
    return n;
  }

  Program<Id>& program() { return steps_->programs_.back(); }

  End read_tree() {
    masks_of_.assign(groups_.size(), kNone);
    cells_.assign(groups_.size(), {});
    for (std::size_t at = 0; at < groups_.size(); ++at) {
      for (const std::uint32_t subset : groups_[at].first) {
        if (poll_.should_end_after(given_.rows.n_rows)) return End::interrupted;
        const std::optional<Cells> cells = number_cells(at, subset);
        if (!cells) return End::too_many_cells;
        cells_[at].push_back(*cells);
      }
    }
    const auto& members = groups_.root_members();
    for (std::size_t g = 0; g < members.size(); ++g) {
      if (given_.is_linear()) fit_slopes(members[g].front(), cells_.back()[g]);
      for (const std::uint32_t u : members[g])
        if (!step(u, cells_.back()[g])) return End::interrupted;
    }
    return End::done;
  }

  End step_together(std::size_t n_active) {
    if (given_.is_linear()) fit_slopes(0, {});
    for (std::size_t u = 0; u < n_active; ++u)
      if (!step(u, {})) return End::interrupted;
    return End::done;
  }

  Cells child_cells(std::uint32_t child, std::size_t subset) const {
    return child == TreeGroups::kLeaf ? Cells{} : cells_[child][groups_[child].group[subset]];
  }

  std::optional<Cells> number_cells(std::size_t at, std::size_t subset) {
    const Subtree& subtree = groups_[at];
    const Cells left = child_cells(subtree.left, subset);
    const Cells right = child_cells(subtree.right, subset);
    Instruction it;
    it.left = left.number;
    it.right = right.number;
    if (groups_.contains(subset, subtree.feature)) {
      it.split = mask_of(at);
      it.radix = static_cast<std::uint32_t>(left.count);
      return write(it, left.count + right.count, std::numeric_limits<Id>::max());
    }
    if (left.number == kNone) return right;
    if (right.number == kNone) return left;
    it.radix = static_cast<std::uint32_t>(right.count);
    return write(it, static_cast<std::uint64_t>(left.count) * right.count, kFewCells);
  }

  // The mask of a subtree's first split, made when it is asked for first.
  std::uint32_t mask_of(std::size_t at) {
    if (masks_of_[at] != kNone) return masks_of_[at];
    const Split split(given_.trees, groups_[at].node);
    const std::size_t n = given_.rows.n_rows, s = program().splits.size();
    program().splits.push_back(split);
    if (masks_.size() == s) masks_.emplace_back(n);
    split.route(given_.rows.codes.subspan(static_cast<std::size_t>(split.feature) * n, n),
                given_.trees.set_offset, given_.trees.set_words, masks_[s].data());
    return masks_of_[at] = static_cast<std::uint32_t>(s);
  }

  // Adds an instruction to the program and runs it on the training rows; none if a number does not
  // fit in an Id.
  std::optional<Cells> write(Instruction it, std::uint64_t count, std::uint64_t most) {
    const std::size_t n = given_.rows.n_rows;
    it.out = program().n_registers++;
    if (registers_.size() == it.out) registers_.emplace_back(n);
    if (count > most) {
      seen_.clear();
      collect_seen(it);
      if (seen_.size() + 1 > std::numeric_limits<Id>::max()) return std::nullopt;
      it.table = static_cast<std::uint32_t>(program().tables.size());
      program().tables.emplace_back(seen_, count);
      count = seen_.size() + 1;
    }
    program().run(
        it, n, [this](std::uint32_t s) { return masks_[s].data(); },
        [this](std::uint32_t r) { return registers_[r].data(); });
    program().instructions.push_back(it);
    return Cells{it.out, static_cast<std::size_t>(count)};
  }

  void collect_seen(const Instruction& it) {
    const Id* left = it.left == kNone ? nullptr : registers_[it.left].data();
    const Id* right = it.right == kNone ? nullptr : registers_[it.right].data();
    const Id* mask = it.split == kNone ? nullptr : masks_[it.split].data();
    keys_.reset(given_.rows.n_rows);
    for (std::size_t i = 0; i < given_.rows.n_rows; ++i) {
      const std::uint64_t key =
          mask ? picked_key(mask, left, it.radix, right, i) : crossed_key(left, right, it.radix, i);
      if (keys_.number(key) == seen_.size()) seen_.push_back(key);
    }
  }

  std::span<const double> weight(std::size_t learner) const {
    return given_.learners.weight.subspan(learner * given_.rows.n_rows, given_.rows.n_rows);
  }

  const Id* numbers(const Cells& cells) const {
    return cells.number == kNone ? nullptr : registers_[cells.number].data();
  }

  // What the subsets of a group share, of which `u` is one.
  void fit_slopes(std::size_t u, const Cells& cells) {
    GroupSlopes& slopes = program().slopes.emplace_back();
    slopes.columns =
        ranked_.first([&](std::int32_t column) { return groups_.contains(u, column); });
    rows_ = {given_.rows.values, no_values_, slopes.columns};
    fits_.resize(given_.learners.size());
    std::vector<CellGram> all(cells.count);
    for (std::size_t learner = 0; learner < fits_.size(); ++learner) {
      sum_grams(loops_, numbers(cells), cells.count, weight(learner), rows_, grams_);
      fit_cells(grams_, cells.count,
                {given_.learners.shrinkage[learner], given_.learners.slope_shrinkage[learner]},
                slopes.columns.size(), fits_[learner]);
      for (std::size_t c = 0; c < cells.count; ++c) all[c].add(grams_[c]);
    }
    for (const CellGram& gram : all) slopes.ranges.push_back(gram.known_range());
  }

  // `u` is a place in the order.
  bool step(std::size_t u, const Cells& cells) {
    const bool linear = given_.is_linear();
    const std::size_t offset = linear ? steps_->linear_steps_.size() : steps_->steps_.size();
    const auto slopes = linear ? static_cast<std::uint32_t>(program().slopes.size() - 1) : kNone;
    program().steps.push_back({cells.number, order_[u], offset, cells.count, slopes});
    for (std::size_t learner = 0; learner < given_.learners.size(); ++learner) {
      if (poll_.should_end_after(given_.rows.n_rows)) return false;
      double* residual =
          residual_.data() + (learner * order_.size() + order_[u]) * given_.rows.n_rows;
      if (linear)
        step_linearly(learner, cells, residual);
      else
        step_constantly(learner, cells, residual);
    }
    return true;
  }

  void step_constantly(std::size_t learner, const Cells& cells, double* residual) {
    const Id* number = numbers(cells);
    sum_cells(number, cells.count, weight(learner), residual, sums_);
    const std::size_t first = steps_->steps_.size();
    for (std::size_t c = 0; c < cells.count; ++c)
      steps_->steps_.push_back(
          sums_[c].step(given_.learning_rate, given_.learners.shrinkage[learner]));
    const double* value = steps_->steps_.data() + first;
    for (std::size_t i = 0; i < given_.rows.n_rows; ++i)
      residual[i] -= value[number ? number[i] : 0];
  }

  void step_linearly(std::size_t learner, const Cells& cells, double* residual) {
    const Id* number = numbers(cells);
    sum_slopes(loops_, number, cells.count, weight(learner), residual, rows_, slope_sums_);
    const std::size_t first = steps_->linear_steps_.size();
    for (std::size_t c = 0; c < cells.count; ++c)
      steps_->linear_steps_.push_back(fits_[learner][c].step(slope_sums_[c], given_.learning_rate));
    const Lanes* step = steps_->linear_steps_.data() + first;
    loops_.take_steps(rows_.block(number, 0, given_.rows.n_rows), step, residual);
  }

  Given given_;
  Poll poll_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> subsets_;
  TreeGroups groups_;
  std::unique_ptr<Steps<Id>> steps_;
  std::vector<double> residual_;

  std::vector<std::vector<Id>> masks_, registers_;
  std::vector<std::uint32_t> masks_of_;
  std::vector<std::vector<Cells>> cells_;
  std::vector<std::uint64_t> seen_;
  std::vector<CellSums> sums_;
  KeyTable keys_;
  // Of linear steps: the columns of the tree, and what the subsets of the present group share.
  RankedColumns ranked_;
  std::vector<float> no_values_;
  SlopeColumns rows_;
  std::vector<CellGram> grams_;
  std::vector<std::vector<CellFit>> fits_;  // of each learner
  std::vector<Lanes> slope_sums_;
  const SlopeLoops<Id>& loops_ = slope_loops<Id>();
};

}  // namespace

std::unique_ptr<BoostingSteps> learn_boosting(const BoostedTrees& trees, const TrainingRows& rows,
                                              const Learners& learners, double learning_rate,
                                              std::span<const std::uint64_t> subsets,
                                              std::size_t words_per_subset,
                                              std::span<const std::int64_t> n_trees,
                                              std::span<const double> residual,
                                              const Interrupted& interrupted) {
  const Given given{trees,   rows,    learners, learning_rate, subsets, words_per_subset,
                    n_trees, residual};
  // Narrow numbers are faster, and hardly ever too few.
  Learning<std::uint16_t> narrow(given, interrupted);
  const End end = narrow.run();
  if (end != End::too_many_cells) return end == End::done ? narrow.result() : nullptr;
  Learning<std::uint32_t> wide(given, interrupted);
  return wide.run() == End::done ? wide.result() : nullptr;
}

}  // namespace shaff
