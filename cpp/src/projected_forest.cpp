#include "shaff/projected_forest.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "projected_forest_kernel.hpp"

namespace shaff {
namespace {

constexpr std::size_t kMaskBytes = std::size_t{16} << 20;  // node masks kept per thread

// SHAFF_PORTABLE in the environment keeps to the portable kernel: the two must give the same bits.
bool has_avx2() {
  if (std::getenv("SHAFF_PORTABLE") != nullptr) return false;
#if defined(__x86_64__) && defined(__GNUC__)
  // What CMakeLists.txt compiles the kernel with.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

template <class Value>
ProjectTree<Value> best_kernel() {
  const ProjectTree<Value> fast = has_avx2() ? project_tree_avx2(Value{}) : nullptr;
  return fast != nullptr ? fast : &project_tree<Value>;
}

// Internal nodes by depth, then from left to right: the order of the paper's Algorithm 1.
//
// Only the place of a value among the cuts of its column matters, so a cut is its number among
// those of the tree: most trees have few enough of them for one byte a value.
struct LevelOrder {
  std::vector<std::int32_t> feature, column, parent;
  std::vector<std::uint32_t> cut;  // a value goes left if fewer than this many cuts are <= its code
  std::vector<std::uint8_t> side, missing_left;
  std::vector<std::int32_t> columns;             // the features of the tree, once each
  std::vector<std::vector<std::uint32_t>> cuts;  // of each column, ascending
  std::size_t most_cuts = 0;

  explicit LevelOrder(const TreeView& tree) {
    read_nodes(tree);
    columns = feature;
    keep_distinct(columns);
    for (const auto f : feature) column.push_back(static_cast<std::int32_t>(place(columns, f)));
    number_cuts();
  }

 private:
  void read_nodes(const TreeView& tree) {
    struct Entry {
      std::int32_t node, parent;
      std::uint8_t side;
    };
    std::vector<Entry> queue{{0, -1, 0}};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const Entry entry = queue[head];
      if (tree.feature[entry.node] < 0) continue;
      const auto own = static_cast<std::int32_t>(feature.size());
      feature.push_back(tree.feature[entry.node]);
      cut.push_back(tree.cut[entry.node]);
      missing_left.push_back(tree.missing_left[entry.node]);
      parent.push_back(entry.parent);
      side.push_back(entry.side);
      queue.push_back({tree.left[entry.node], own, 0});
      queue.push_back({tree.right[entry.node], own, 1});
    }
  }

  void number_cuts() {
    cuts.resize(columns.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      cuts[static_cast<std::size_t>(column[i])].push_back(cut[i]);
    for (auto& of_column : cuts) {
      keep_distinct(of_column);
      most_cuts = std::max(most_cuts, of_column.size());
    }
    for (std::size_t i = 0; i < cut.size(); ++i)
      cut[i] =
          static_cast<std::uint32_t>(place(cuts[static_cast<std::size_t>(column[i])], cut[i]) + 1);
  }

  template <class T>
  static void keep_distinct(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  template <class T>
  static std::size_t place(const std::vector<T>& sorted, T value) {
    return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                    sorted.begin());
  }
};

template <class T>
class AlignedArray {
 public:
  T* resize(std::size_t size) {
    const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(T) + 64;
    if (bytes > capacity_) {
      memory_ = std::make_unique<unsigned char[]>(bytes);
      capacity_ = bytes;
    }
    void* at = memory_.get();
    std::size_t space = capacity_;
    return static_cast<T*>(std::align(64, bytes - 64, at, space));
  }

 private:
  std::unique_ptr<unsigned char[]> memory_;
  std::size_t capacity_ = 0;
};

// The values of one tree's columns at the places of its rows, and its cuts in the same numbers.
// SIMD compares are signed, hence the shift; the largest number stands for a missing value.
template <class Value>
struct PlacedValues {
  static constexpr std::size_t most_cuts =
      static_cast<std::size_t>(std::numeric_limits<Value>::max()) * 2 - 1;
  static Value number(std::size_t count) {
    return static_cast<Value>(static_cast<std::int64_t>(count) + std::numeric_limits<Value>::min());
  }

  AlignedArray<Value> memory, grouped_memory;
  std::size_t n_columns = 0;
  Value *values = nullptr, *grouped = nullptr;
  std::vector<Value> cut;
  std::vector<std::uint8_t> has_missing;
  std::vector<std::uint64_t> missing;

  std::size_t n_all() const {  // with that of the weights, in full groups
    return (n_columns / kGroup<Value> + 1) * kGroup<Value>;
  }

  void describe(TreeData<Value>& data) const {
    data.n_columns = n_columns;
    data.values = values;
    data.grouped = grouped;
    data.cut = cut.data();
    data.has_missing = has_missing.data();
    data.missing = missing.data();
  }
};

// The rows of one tree at their places: the bag, then, from a word boundary on, the queries.
template <class Code>
class TreeRows {
 public:
  template <class Value>
  void place(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree,
             const LevelOrder& order, PlacedValues<Value>& placed) {
    const std::size_t n_places = n_words() * kBlock, n_columns = order.columns.size();
    placed.n_columns = n_columns;
    placed.values = placed.memory.resize(placed.n_all() * n_places);
    placed.has_missing.assign(n_columns, 0);
    placed.missing.assign(n_columns * n_words(), 0);
    placed.cut.clear();
    for (const std::uint32_t cut : order.cut) placed.cut.push_back(placed.number(cut));
    for (std::size_t c = 0; c < n_columns; ++c) {
      const std::int32_t column = order.columns[c];
      placed.has_missing[c] = rows.has_missing[static_cast<std::size_t>(column)];
      count_cuts(order.cuts[c]);
      place_column(rows.column(column), input.ranks(tree, column), placed.values + c * n_places,
                   placed.has_missing[c] ? &placed.missing[c * n_words()] : nullptr);
    }
    std::copy(excess_.begin(), excess_.end(), placed.values + n_columns * n_places);
    group_columns(placed);
  }

  // A block reads its rows; sixteen one-byte values of a row are read at once.
  template <class Value>
  void group_columns(PlacedValues<Value>& placed) const {
    constexpr std::size_t width = kGroup<Value>;
    placed.grouped = placed.values;
    if constexpr (width > 1) {
      const std::size_t n_places = n_words() * kBlock, n_all = placed.n_all();
      placed.grouped = placed.grouped_memory.resize((n_all * n_places) + width);
      for (std::size_t first = 0; first < n_all * n_places; first += width * n_places)
        group_rows(placed.values + first, n_places, placed.grouped + first);
    }
  }

  std::size_t first_query() const { return (bag_.size() + kBlock - 1) / kBlock * kBlock; }
  std::size_t n_words() const { return (first_query() + query_.size() + kBlock - 1) / kBlock; }
  bool idle() const { return bag_.empty() || query_.empty(); }
  void assign(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree) {
    assign_rows(input, rows, tree);
    weigh(input.min_node_size);
  }

  // Whole weights of at least 1 and a small whole min_node_size let the kernel count in bits.
  void weigh(double min_node_size) {
    excess_.clear();
    if (least_weight_ < 1 || min_node_size < 1 || min_node_size > 8 ||
        min_node_size != std::floor(min_node_size))
      return;
    for (const double weight : weight_) {
      if (weight != std::floor(weight)) return excess_.clear();
      excess_.push_back(static_cast<std::uint8_t>(std::min(weight, min_node_size) - 1));
    }
  }

  template <class Value>
  void describe(TreeData<Value>& data) const {
    data.n_bag = static_cast<std::uint32_t>(bag_.size());
    data.n_query = static_cast<std::uint32_t>(query_.size());
    data.first_query = static_cast<std::uint32_t>(first_query());
    data.n_words = static_cast<std::uint32_t>(n_words());
    data.query_row = query_row_.data();
    data.query_place = query_place_.data();
    data.part = part_.data();
    data.enough_places = enough_places(data.min_node_size);
    data.whole_weights = !excess_.empty();
  }

 private:
  std::uint32_t enough_places(double min_node_size) const {
    const double places = std::ceil(min_node_size / least_weight_);
    return places < 4e9 ? static_cast<std::uint32_t>(places) : UINT32_MAX;
  }

  // Rows of one leaf get neighbouring places: most projected cells are made of few leaves.
  void assign_rows(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree) {
    const auto multiplicity = input.bags.subspan(tree * rows.n_rows, rows.n_rows);
    bag_.clear();
    query_.clear();
    weight_.clear();
    part_.clear();
    least_weight_ = std::numeric_limits<double>::infinity();
    for (const std::uint32_t i : by_leaf(input, rows, tree)) {
      if (multiplicity[i] == 0 && input.is_query[i]) query_.push_back(i);
      const double weight = multiplicity[i] * input.row_weight[i];
      if (weight <= 0) continue;
      bag_.push_back(i);
      weight_.push_back(weight);
      part_.push_back(weight);
      least_weight_ = std::min(least_weight_, weight);
      for (std::size_t o = 0; o < input.n_outputs; ++o)
        part_.push_back(weight * input.targets[i * input.n_outputs + o]);
    }
    place_of_.resize(rows.n_rows);
    for (std::uint32_t k = 0; k < query_.size(); ++k) place_of_[query_[k]] = k;
    query_row_.clear();
    query_place_.clear();
    for (std::uint32_t i = 0; i < rows.n_rows; ++i) {
      if (multiplicity[i] != 0 || !input.is_query[i]) continue;
      query_row_.push_back(i);
      query_place_.push_back(place_of_[i]);
    }
  }

  // All rows, those of one leaf together, leaves from left to right: the rows are partitioned down
  // the tree.
  const std::vector<std::uint32_t>& by_leaf(const ProjectionInput& input,
                                            const CodedRows<Code>& rows, std::size_t tree) {
    const TreeView nodes = input.forest.tree(tree);
    sorted_.resize(rows.n_rows);
    spare_.resize(rows.n_rows);
    std::iota(sorted_.begin(), sorted_.end(), 0u);
    struct Entry {
      std::int32_t node;
      std::size_t begin, end;
    };
    std::vector<Entry> stack{{0, 0, rows.n_rows}};
    while (!stack.empty()) {
      const Entry entry = stack.back();
      stack.pop_back();
      const std::int32_t node = entry.node, feature = nodes.feature[node];
      if (feature < 0 || entry.end - entry.begin < 2) continue;
      const Code* column = rows.column(feature);
      const std::uint32_t* ranks = input.ranks(tree, feature);
      const std::uint32_t cut = nodes.cut[node];
      std::size_t split = 0;
      if (ranks != nullptr || rows.has_missing[static_cast<std::size_t>(feature)]) {
        const bool missing_left = nodes.missing_left[node];
        split = partition(entry.begin, entry.end, [&](std::uint32_t row) {
          const Code code = column[row];
          if (code == CodedRows<Code>::missing) return missing_left;
          return (ranks == nullptr ? code : ranks[code]) < cut;
        });
      } else {
        split = partition(entry.begin, entry.end,
                          [column, cut](std::uint32_t row) { return column[row] < cut; });
      }
      stack.push_back({nodes.left[node], entry.begin, split});
      stack.push_back({nodes.right[node], split, entry.end});
    }
    return sorted_;
  }

  template <class GoesLeft>  // stable and without branches
  std::size_t partition(std::size_t begin, std::size_t end, GoesLeft goes_left) {
    std::size_t left = begin, right = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const std::uint32_t row = sorted_[k];
      const bool is_left = goes_left(row);
      sorted_[left] = row;
      spare_[right] = row;
      left += is_left;
      right += !is_left;
    }
    std::copy_n(spare_.begin(), right, sorted_.begin() + static_cast<std::ptrdiff_t>(left));
    return left;
  }

  // below_[code]: how many of the cuts are <= code; all of them for codes past the table.
  void count_cuts(const std::vector<std::uint32_t>& cuts) {
    below_.clear();
    for (std::uint32_t k = 0; k < cuts.size(); ++k) below_.resize(cuts[k], k);
    all_below_ = static_cast<std::uint32_t>(cuts.size());
  }

  template <class Value>
  void place_column(const Code* column, const std::uint32_t* ranks, Value* values,
                    std::uint64_t* missing) const {
    const auto number = [&](std::uint32_t row) {
      const Code code = column[row];
      if (missing != nullptr && code == CodedRows<Code>::missing)
        return std::numeric_limits<Value>::max();
      const std::uint32_t rank = ranks == nullptr ? code : ranks[code];
      return PlacedValues<Value>::number(rank < below_.size() ? below_[rank] : all_below_);
    };
    std::fill(values, values + n_words() * kBlock, Value{0});
    for (std::size_t k = 0; k < bag_.size(); ++k) values[k] = number(bag_[k]);
    for (std::size_t k = 0; k < query_.size(); ++k) values[first_query() + k] = number(query_[k]);
    if (missing == nullptr) return;
    for (std::size_t k = 0; k < n_words() * kBlock; ++k) {
      if (values[k] == std::numeric_limits<Value>::max())
        missing[k / kBlock] |= std::uint64_t{1} << (k % kBlock);
    }
  }

  std::vector<std::uint32_t> bag_, query_, query_row_, query_place_, place_of_, sorted_, spare_;
  std::vector<double> weight_, part_;
  double least_weight_ = 0;
  std::vector<std::uint8_t> excess_;
  std::vector<std::uint32_t> below_;
  std::uint32_t all_below_ = 0;
};

// Memory of one thread, reused over trees and subsets.
template <class Value>
class Workspace {
 public:
  ProjectionScratch<Value>& fit(const TreeData<Value>& tree, std::size_t n_columns) {
    const auto n = static_cast<std::size_t>(tree.n_internal);
    std::int32_t* ints = ints_.resize(4 * n);
    for (std::int32_t** part : {&s_.own, &s_.slot, &s_.origin, &s_.node_mask_of}) {
      *part = ints;
      ints += n;
    }
    s_.node = nodes_.resize(n);
    s_.box = box_.resize(n_columns);
    const std::size_t frontier_words = n / 64 + 1;
    s_.frontier = words_.resize(frontier_words + n + tree.n_words + n_columns + 1);
    std::fill(s_.frontier, s_.frontier + frontier_words, 0);
    s_.reach = s_.frontier + frontier_words;
    s_.cell = s_.reach + n;
    s_.block_stamp = s_.cell + tree.n_words;
    std::fill(s_.block_stamp, s_.block_stamp + n_columns + 1, 0);
    s_.stamp = 0;
    const std::size_t fitting =
        std::max<std::size_t>(1, kMaskBytes / (sizeof(std::uint64_t) * tree.n_words));
    s_.max_node_masks = static_cast<std::int32_t>(std::min(n, fitting));
    s_.node_masks = masks_.resize((static_cast<std::size_t>(s_.max_node_masks) + 1) * tree.n_words);
    std::fill(s_.node_mask_of, s_.node_mask_of + n, -1);
    s_.n_node_masks = 0;
    const std::size_t n_places = tree.n_words * kBlock;
    const std::size_t n_listed = n_places + 16;  // lists are filled and read some steps ahead
    s_.bag = places_.resize(3 * n_listed);
    s_.query = s_.bag + n_listed;
    s_.spare = s_.query + n_listed;
    std::fill(s_.bag, s_.spare, 0u);
    s_.sums = sums_.resize(tree.n_outputs + 1 + tree.n_query * tree.n_outputs);
    s_.prediction = s_.sums + tree.n_outputs + 1;
    s_.block_values = values_.resize((n_columns + kGroup<Value>)*2 * kBlock);
    return s_;
  }

 private:
  ProjectionScratch<Value> s_{};
  AlignedArray<std::int32_t> ints_;
  AlignedArray<ProjectedNode<Value>> nodes_;
  AlignedArray<Range<Value>> box_;
  AlignedArray<Value> values_;
  AlignedArray<std::uint64_t> words_, masks_;
  AlignedArray<std::uint32_t> places_;
  AlignedArray<double> sums_;
};

class Poll {  // asks the caller at most every 20 ms
 public:
  explicit Poll(const Interrupted& interrupted) : interrupted_(interrupted), last_(Clock::now()) {}
  static bool ask(void* self) { return static_cast<Poll*>(self)->due(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool due() {
    const auto now = Clock::now();
    if (!interrupted_ || now - last_ < std::chrono::milliseconds(20)) return false;
    last_ = now;
    return interrupted_();
  }
  const Interrupted& interrupted_;
  Clock::time_point last_;
};

struct Task {  // what one call asks for
  std::span<const std::uint64_t> subsets;
  std::size_t n_words;
  std::span<double> sum, sum_squares;
};

// One thread's projections on values of one width.
template <class Value>
class Projector {
 public:
  template <class Code>
  bool project(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree,
               const LevelOrder& order, TreeRows<Code>& own, const Task& task, Poll& poll) {
    own.place(input, rows, tree, order, placed_);
    TreeData<Value> data{};
    data.n_internal = static_cast<std::int32_t>(order.feature.size());
    data.feature = order.feature.data();
    data.parent = order.parent.data();
    data.column = order.column.data();
    data.side = order.side.data();
    data.missing_left = order.missing_left.data();
    data.n_outputs = input.n_outputs;
    data.min_node_size = input.min_node_size;
    own.describe(data);
    placed_.describe(data);
    return kernel_(data, workspace_.fit(data, order.columns.size()), task.subsets.data(),
                   task.subsets.size() / task.n_words, task.n_words, rows.n_rows, task.sum.data(),
                   task.sum_squares.data(), &Poll::ask, &poll);
  }

 private:
  const ProjectTree<Value> kernel_ = best_kernel<Value>();
  Workspace<Value> workspace_;
  PlacedValues<Value> placed_;
};

template <class Code>
bool project(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t first_tree,
             std::size_t last_tree, const Task& task, const Interrupted& interrupted) {
  Projector<std::int8_t> narrow;
  Projector<std::int16_t> middle;
  Projector<std::int32_t> wide;
  TreeRows<Code> own;
  Poll poll(interrupted);
  for (std::size_t t = first_tree; t < last_tree; ++t) {
    const LevelOrder order(input.forest.tree(t));
    own.assign(input, rows, t);
    if (own.idle()) continue;
    const bool completed = order.most_cuts <= PlacedValues<std::int8_t>::most_cuts
                               ? narrow.project(input, rows, t, order, own, task, poll)
                           : order.most_cuts <= PlacedValues<std::int16_t>::most_cuts
                               ? middle.project(input, rows, t, order, own, task, poll)
                               : wide.project(input, rows, t, order, own, task, poll);
    if (!completed) return false;
  }
  return true;
}

}  // namespace

bool project_forest(const ProjectionInput& input, const CodedRows<std::uint16_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted) {
  return project(input, rows, first_tree, last_tree, {subsets, n_words, sum, sum_squares},
                 interrupted);
}

bool project_forest(const ProjectionInput& input, const CodedRows<std::uint32_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted) {
  return project(input, rows, first_tree, last_tree, {subsets, n_words, sum, sum_squares},
                 interrupted);
}

}  // namespace shaff
