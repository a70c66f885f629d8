// The only file that knows Python: arrays in, arrays out, the GIL released in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "shaff/booster_growing.hpp"
#include "shaff/boosting_steps.hpp"
#include "shaff/forest_paths.hpp"
#include "shaff/projected_boosting.hpp"
#include "shaff/projected_forest.hpp"
#include "shaff/tree_expectation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Count = std::int64_t;

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const In<T>& array) {
  return {array.data(), array.size()};
}

template <class T>
std::span<T> view_mut(const InOut<T>& array) {
  return {array.data(), array.size()};
}

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Children come after their parent, `shift` is where their numbers begin. Returns the number of
// levels of splits; `level` is scratch space.
template <class Index>
std::int32_t require_tree(std::span<const Index> feature, std::span<const Index> left,
                          std::span<const Index> right, Count shift, std::size_t n_columns,
                          std::vector<std::int32_t>& level) {
  level.assign(feature.size(), 0);
  std::int32_t deepest = 0;
  for (std::size_t node = 0; node < feature.size(); ++node) {
    if (feature[node] < 0) continue;
    require(static_cast<std::size_t>(feature[node]) < n_columns,
            "a node splits on a column that does not exist");
    deepest = std::max(deepest, level[node] + 1);
    for (const Count number : {Count{left[node]} - shift, Count{right[node]} - shift}) {
      const auto child = static_cast<std::size_t>(number);  // a negative one becomes too large
      require(node < child && child < feature.size(),
              "a child does not follow its parent in its tree");
      require(level[child] == 0, "a node is the child of two");  // the walks would multiply
      level[child] = level[node] + 1;
    }
  }
  return deepest;
}

enum class Children { within_tree, over_all_trees };

// The kernels trust their node arrays: a wrong one would read outside of memory, or never end.
template <class Index>
std::int32_t require_trees(std::span<const Count> offsets, std::span<const Index> feature,
                           std::span<const Index> left, std::span<const Index> right,
                           std::size_t n_columns, Children children) {
  const std::size_t n = feature.size();
  require(left.size() == n && right.size() == n, "node arrays differ in length");
  require(!offsets.empty() && offsets.front() >= 0, "the tree offsets do not start at a node");
  std::vector<std::int32_t> level;
  std::int32_t deepest = 0;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    require(offsets[t] < offsets[t + 1] && offsets[t + 1] <= static_cast<Count>(n),
            "the tree offsets do not rise within the nodes");
    const auto first = static_cast<std::size_t>(offsets[t]);
    const std::size_t count = static_cast<std::size_t>(offsets[t + 1]) - first;
    deepest =
        std::max(deepest, require_tree(feature.subspan(first, count), left.subspan(first, count),
                                       right.subspan(first, count),
                                       children == Children::within_tree ? 0 : offsets[t],
                                       n_columns, level));
  }
  return deepest;
}

// Kernels that recurse need some 256 bytes of stack a level, and a thread may have but 2 MB: with
// more levels `test_trees_too_deep_for_the_stack_are_refused` would end the process.
void require_shallow(std::int32_t levels) {
  require(levels <= 5000, "a tree has more than 5000 levels: grow it with a smaller max_depth");
}

void require_rows(std::span<const std::int32_t> rows, std::size_t n_rows) {
  bool inside = true;
  for (const std::int32_t row : rows) inside &= row >= 0 && static_cast<std::size_t>(row) < n_rows;
  require(inside, "a row does not exist");
}

void require_category_sets(const shaff::BoostedTrees& trees) {
  const auto& offset = trees.set_offset;
  require(!offset.empty() && offset.front() >= 0 && std::is_sorted(offset.begin(), offset.end()) &&
              offset.back() <= static_cast<Count>(trees.set_words.size()),
          "set offsets do not rise within the words");
  const auto n_sets = static_cast<Count>(offset.size()) - 1;
  for (const std::int32_t set : trees.category_set)
    require(set < n_sets, "a node names a category set that does not exist");
}

// Kernels combine flags with bit operations.
void require_flags(std::span<const std::uint8_t> flags) {
  std::uint8_t all = 0;
  for (const std::uint8_t flag : flags) all |= flag;
  require(all <= 1, "a flag is neither 0 nor 1");
}

// Sums are also made by taking rows away again, which NaN would survive.
void require_finite(std::span<const double> values, const char* message) {
  bool finite = true;
  for (const double value : values) finite &= std::isfinite(value);
  require(finite, message);
}

void require_weights(std::span<const double> weights) {
  bool good = true;
  for (const double weight : weights) good &= std::isfinite(weight) && weight >= 0;
  require(good, "a weight is negative or not finite");
}

// Shares of a split are those of its cover.
void require_cover(std::span<const Count> feature, std::span<const double> cover) {
  bool good = true;
  for (std::size_t node = 0; node < feature.size(); ++node)
    good &=
        std::isfinite(cover[node]) && (cover[node] > 0 || (feature[node] < 0 && cover[node] == 0));
  require(good, "a split has no cover, or a cover is negative or not finite");
}

void require_subsets(const In<std::uint64_t>& subsets, std::size_t n_columns) {
  require(subsets.ndim() == 2 && subsets.shape(1) >= 1 && subsets.shape(1) * 64 >= n_columns,
          "subsets have too few words");
}

// A column with ranks has one for each of its codes; that of a missing value is never looked up.
template <class Code>
void require_ranks(const shaff::CodedRows<Code>& rows, std::span<const Count> rank_offset,
                   std::size_t n_ranks) {
  for (std::size_t j = 0; j < rank_offset.size(); ++j) {
    if (rank_offset[j] < 0) continue;
    const Code* column = rows.column(static_cast<std::int32_t>(j));
    std::size_t n_codes = 0;
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
      const bool is_missing = rows.has_missing[j] && column[i] == shaff::CodedRows<Code>::missing;
      n_codes = std::max(n_codes, is_missing ? 0 : static_cast<std::size_t>(column[i]) + 1);
    }
    const auto offset = static_cast<std::size_t>(rank_offset[j]);
    require(offset <= n_ranks && n_codes <= n_ranks - offset, "a category has no rank");
  }
}

template <class T>
nb::object to_numpy(std::vector<T>&& values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

// Ctrl-C reaches the main thread only, which takes the GIL to see it.
shaff::Interrupted interruption() {
  const nb::module_ threading = nb::module_::import_("threading");
  const bool is_main =
      threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
  return [is_main] {
    if (!is_main) return false;
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
}

// Worker threads are told through the shared cancel flag and never wait for the GIL.
shaff::Interrupted interruption(const InOut<std::uint8_t>& cancel) {
  require(cancel.size() >= 1, "the cancel flag is empty");
  std::uint8_t* flag = cancel.data();
  return [flag, signalled = interruption()] { return shaff::is_set(*flag) || signalled(); };
}

void finish(bool completed) {
  if (completed) return;
  if (PyErr_Occurred()) throw nb::python_error();
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw nb::python_error();
}

shaff::ForestView forest_view(const In<std::int64_t>& offsets, const In<std::int32_t>& feature,
                              const In<std::uint32_t>& cut, const In<std::int32_t>& left,
                              const In<std::int32_t>& right, const In<std::uint8_t>& missing_left) {
  const std::size_t n = feature.size();
  require(cut.size() == n && missing_left.size() == n, "node arrays differ in length");
  require(offsets.size() >= 1 && static_cast<std::size_t>(offsets.data()[offsets.size() - 1]) == n,
          "the last offset is not the number of nodes");
  return {view(offsets), {view(feature), view(cut), view(left), view(right), view(missing_left)}};
}

nb::tuple count_path_subsets(const In<std::int64_t>& offsets, const In<std::int32_t>& feature,
                             const In<std::int32_t>& left, const In<std::int32_t>& right,
                             std::size_t n_words) {
  require(n_words <= (std::size_t{1} << 25), "there are more words than columns can be numbered");
  require_trees(view(offsets), view(feature), view(left), view(right), 64 * n_words,
                Children::within_tree);
  const shaff::ForestShape forest{view(offsets), {view(feature), view(left), view(right)}};
  shaff::SubsetCounts counted;
  const shaff::Interrupted interrupted = interruption();
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed = shaff::count_path_subsets(forest, n_words, counted, interrupted);
  }
  finish(completed);
  const std::size_t n = counted.counts.size();
  return nb::make_tuple(to_numpy(std::move(counted.words), {n, n_words}),
                        to_numpy(std::move(counted.counts), {n}));
}

template <class Code>
void project_forest(const In<std::int64_t>& offsets, const In<std::int32_t>& feature,
                    const In<std::uint32_t>& cut, const In<std::int32_t>& left,
                    const In<std::int32_t>& right, const In<std::uint8_t>& missing_left,
                    const In<Code>& codes, const In<std::uint8_t>& has_missing,
                    const In<std::int64_t>& rank_offset, const In<std::uint32_t>& category_rank,
                    const In<std::uint16_t>& bags, const In<double>& row_weight,
                    const In<std::uint8_t>& is_query, const In<double>& targets,
                    double min_node_size, std::size_t first_tree, std::size_t last_tree,
                    const In<std::uint64_t>& subsets, const InOut<double>& sum,
                    const InOut<double>& sum_squares, const InOut<std::uint8_t>& cancel) {
  const shaff::ForestView forest = forest_view(offsets, feature, cut, left, right, missing_left);
  const std::size_t n_rows = row_weight.size();
  require(codes.ndim() == 2 && codes.shape(1) == n_rows, "codes must be (n_columns, n_rows)");
  require(targets.ndim() == 2 && targets.shape(0) == n_rows, "targets must be (n_rows, n_outputs)");
  require(bags.size() == forest.n_trees() * n_rows, "bags must be (n_trees, n_rows)");
  require(is_query.size() == n_rows && has_missing.size() == codes.shape(0),
          "row or column flags differ in length");
  for (const auto& flags : {missing_left, has_missing, is_query}) require_flags(view(flags));
  require_weights(view(row_weight));
  require_finite(view(targets), "a target is not finite");
  require(min_node_size > 0, "min_node_size is not positive");
  require_subsets(subsets, codes.shape(0));
  require(last_tree <= forest.n_trees() && first_tree <= last_tree, "no such trees");
  require_trees(view(offsets).subspan(first_tree, last_tree - first_tree + 1), view(feature),
                view(left), view(right), codes.shape(0), Children::within_tree);
  const std::size_t n_outputs = targets.shape(1), n_subsets = subsets.shape(0);
  require(sum.size() == n_subsets * n_rows * n_outputs,
          "sum must be (n_subsets, n_rows, n_outputs)");
  require(sum_squares.size() == sum.size(), "sum_squares must have the shape of sum");
  require(rank_offset.size() == 0 || rank_offset.size() == codes.shape(0),
          "rank_offset must name all columns, or none");
  require(rank_offset.size() == 0 ||
              (category_rank.ndim() == 2 && category_rank.shape(0) == forest.n_trees()),
          "category_rank must be (n_trees, n_ranks)");
  const shaff::ProjectionInput input{forest,         view(bags),        view(row_weight),
                                     view(is_query), view(targets),     n_outputs,
                                     min_node_size,  view(rank_offset), view(category_rank)};
  const shaff::CodedRows<Code> rows{view(codes), view(has_missing), n_rows};
  require_ranks(rows, view(rank_offset), rank_offset.size() == 0 ? 0 : category_rank.shape(1));
  const shaff::Interrupted interrupted = interruption(cancel);
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed =
        shaff::project_forest(input, rows, first_tree, last_tree, view(subsets), subsets.shape(1),
                              view_mut(sum), view_mut(sum_squares), interrupted);
  }
  finish(completed);
}

// Trees that replay_boosting and learn_boosting may trust.
shaff::BoostedTrees boosted_trees(const In<std::int32_t>& feature,
                                  const In<std::uint16_t>& threshold, const In<std::int32_t>& left,
                                  const In<std::int32_t>& right,
                                  const In<std::uint8_t>& missing_left,
                                  const In<std::int32_t>& category_set,
                                  const In<std::int64_t>& set_offset,
                                  const In<std::uint64_t>& set_words,
                                  const In<std::int64_t>& tree_offset, std::size_t n_columns) {
  const std::size_t n = feature.size();
  require(threshold.size() == n && missing_left.size() == n && category_set.size() == n,
          "node arrays differ in length");
  require_flags(view(missing_left));
  require_shallow(require_trees(view(tree_offset), view(feature), view(left), view(right),
                                n_columns, Children::over_all_trees));
  const shaff::BoostedTrees trees{view(feature),    view(threshold),    view(left),
                                  view(right),      view(missing_left), view(category_set),
                                  view(set_offset), view(set_words),    view(tree_offset)};
  require_category_sets(trees);
  return trees;
}

// What steps are linear in; none without values.
std::span<const float> slope_values(const std::optional<In<float>>& values, std::size_t n_columns,
                                    std::size_t n_rows) {
  if (!values) return {};
  require(values->ndim() == 2 && values->shape(0) == n_columns && values->shape(1) == n_rows,
          "values must be (n_columns, n_rows)");
  bool finite = true;
  for (const float value : view(*values)) finite &= std::isfinite(value);
  require(finite, "a value is not finite");
  return view(*values);
}

// Without any the regression of a column that does not vary has no solution.
void require_slope_shrinkage(double shrinkage) {
  require(std::isfinite(shrinkage) && shrinkage > 0, "the shrinkage of slopes is not positive");
}

// Linear steps rank the columns by it.
std::span<const double> split_gain(const std::optional<In<double>>& gain, std::size_t n_nodes,
                                   bool linear) {
  if (!linear) return {};
  require(gain && gain->size() == n_nodes, "linear steps need the gain of each node");
  require_finite(view(*gain), "a gain is not finite");
  return view(*gain);
}

// A bin past the last one would be counted in another column.
void require_bins(const shaff::BinnedRows& rows) {
  for (std::size_t j = 0; j < rows.n_columns(); ++j) {
    require(rows.n_bins[j] >= 0 && rows.n_bins[j] <= static_cast<std::int32_t>(shaff::kMaxBins),
            "a column has more than 255 bins, or less than none");
    const std::uint8_t* bins = rows.column(j);
    const bool none = rows.n_rows == 0;
    require(none || *std::max_element(bins, bins + rows.n_rows) <= rows.n_bins[j],
            "a bin does not exist");
  }
}

nb::tuple grow_trees(const In<std::uint8_t>& bins, const In<std::int32_t>& n_bins,
                     const In<std::uint8_t>& categorical, const In<double>& weight,
                     double learning_rate, double shrinkage, double max_features,
                     std::size_t min_samples_leaf, std::size_t max_leaf_nodes,
                     std::size_t first_tree, std::size_t n_trees, std::uint64_t seed,
                     const InOut<double>& residual, const InOut<std::uint8_t>& cancel,
                     const std::optional<In<float>>& values, double slope_shrinkage) {
  require(bins.ndim() == 2 && bins.shape(0) == n_bins.size(), "bins must be (n_columns, n_rows)");
  const std::size_t n_rows = bins.shape(1);
  require(n_rows <= std::numeric_limits<std::uint32_t>::max(), "there are too many rows");
  require(categorical.size() == n_bins.size(), "categorical must name all columns");
  require(residual.size() == n_rows, "residual must be (n_rows,)");
  require(weight.size() == 0 || weight.size() == n_rows, "weight must be (n_rows,), or empty");
  require_flags(view(categorical));
  require_weights(view(weight));
  require_finite({residual.data(), residual.size()}, "a residual is not finite");
  require(std::isfinite(learning_rate) && std::isfinite(shrinkage) && shrinkage >= 0,
          "the learning rate or the shrinkage is out of range");
  require(max_features > 0 && max_features <= 1, "max_features is not a share of the columns");
  require(min_samples_leaf >= 1 && max_leaf_nodes >= 2,
          "a leaf needs a row, and a tree two leaves");
  require(n_trees <= (std::size_t{1} << 30) / max_leaf_nodes, "there are too many nodes");
  const shaff::BinnedRows rows{
      view(bins),   view(n_bins), view(categorical),
      view(weight), n_rows,       slope_values(values, n_bins.size(), n_rows)};
  if (values) require_slope_shrinkage(slope_shrinkage);
  require_bins(rows);
  const shaff::GrowingOptions options{learning_rate,    shrinkage,      max_features,
                                      min_samples_leaf, max_leaf_nodes, first_tree,
                                      n_trees,          seed,           slope_shrinkage};
  shaff::GrownTrees trees;
  const shaff::Interrupted interrupted = interruption(cancel);
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed = shaff::grow_trees(rows, options, view_mut(residual), trees, interrupted);
  }
  finish(completed);
  const std::size_t n = trees.feature.size(), n_sets = trees.set_words.size() / shaff::kSetWords;
  return nb::make_tuple(
      to_numpy(std::move(trees.feature), {n}), to_numpy(std::move(trees.cut), {n}),
      to_numpy(std::move(trees.left), {n}), to_numpy(std::move(trees.right), {n}),
      to_numpy(std::move(trees.missing_left), {n}), to_numpy(std::move(trees.category_set), {n}),
      to_numpy(std::move(trees.value), {n}), to_numpy(std::move(trees.gain), {n}),
      to_numpy(std::move(trees.count), {n}),
      to_numpy(std::move(trees.set_words), {n_sets, shaff::kSetWords}),
      to_numpy(std::move(trees.tree_offset), {n_trees + 1}));
}

void replay_boosting(const In<std::int32_t>& feature, const In<std::uint16_t>& threshold,
                     const In<std::int32_t>& left, const In<std::int32_t>& right,
                     const In<std::uint8_t>& missing_left, const In<std::int32_t>& category_set,
                     const In<std::int64_t>& set_offset, const In<std::uint64_t>& set_words,
                     const In<std::int64_t>& tree_offset, const In<std::uint16_t>& codes,
                     const In<double>& weight, const In<std::uint64_t>& subsets,
                     double learning_rate, double shrinkage, const InOut<double>& residual,
                     const InOut<std::uint8_t>& cancel, std::size_t n_first,
                     const std::optional<InOut<double>>& half_train,
                     const std::optional<InOut<double>>& half_test,
                     const std::optional<In<double>>& gain, const std::optional<In<float>>& values,
                     double slope_shrinkage) {
  require(codes.ndim() == 2 && weight.size() <= codes.shape(1),
          "codes must be (n_columns, n_rows)");
  require_weights(view(weight));
  require(std::isfinite(learning_rate) && std::isfinite(shrinkage) && shrinkage >= 0,
          "the learning rate or the shrinkage is out of range");
  require_subsets(subsets, codes.shape(0));
  require(residual.ndim() == 2 && residual.shape(0) == subsets.shape(0) &&
              residual.shape(1) == codes.shape(1),
          "residual must be (n_subsets, n_rows)");
  const std::size_t n_test = codes.shape(1) - weight.size(), n_subsets = subsets.shape(0);
  shaff::HalfResiduals halves;
  if (half_train && half_test) {
    require(half_train->size() == n_subsets * weight.size() &&
                half_test->size() == n_subsets * 2 * n_test,
            "the halves must be (n_subsets, n_train) and (n_subsets, 2, n_test)");
    halves = {n_first, view_mut(*half_train), view_mut(*half_test)};
  }
  require(n_first <= weight.size(), "the first half has more rows than there are");
  shaff::BoostedTrees trees =
      boosted_trees(feature, threshold, left, right, missing_left, category_set, set_offset,
                    set_words, tree_offset, codes.shape(0));
  if (values) require_slope_shrinkage(slope_shrinkage);
  trees.gain = split_gain(gain, feature.size(), values.has_value());
  const shaff::BoostingRows rows{view(codes), view(weight), codes.shape(1),
                                 slope_values(values, codes.shape(0), codes.shape(1))};
  const shaff::Interrupted interrupted = interruption(cancel);
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed = shaff::replay_boosting(trees, rows, view(subsets), subsets.shape(1),
                                       {learning_rate, shrinkage, slope_shrinkage},
                                       view_mut(residual), halves, interrupted);
  }
  finish(completed);
}

std::unique_ptr<shaff::BoostingSteps> learn_boosting(
    const In<std::int32_t>& feature, const In<std::uint16_t>& threshold,
    const In<std::int32_t>& left, const In<std::int32_t>& right,
    const In<std::uint8_t>& missing_left, const In<std::int32_t>& category_set,
    const In<std::int64_t>& set_offset, const In<std::uint64_t>& set_words,
    const In<std::int64_t>& tree_offset, const In<std::uint16_t>& codes, const In<double>& weight,
    const In<std::uint64_t>& subsets, double learning_rate, const In<double>& shrinkage,
    const In<std::int64_t>& n_trees, const In<double>& residual, const InOut<std::uint8_t>& cancel,
    const std::optional<In<double>>& gain, const std::optional<In<float>>& values,
    const std::optional<In<double>>& slope_shrinkage) {
  require(codes.ndim() == 2, "codes must be (n_columns, n_train)");
  require(weight.ndim() == 2 && weight.shape(0) == shrinkage.size() &&
              weight.shape(1) == codes.shape(1),
          "weight must be (n_learners, n_train)");
  require_weights(view(weight));
  bool in_range = std::isfinite(learning_rate);
  for (const double lambda : view(shrinkage)) in_range &= std::isfinite(lambda) && lambda >= 0;
  require(in_range, "the learning rate or the shrinkage is out of range");
  require_subsets(subsets, codes.shape(0));
  require(n_trees.size() == subsets.shape(0), "n_trees must be (n_subsets,)");
  require(residual.ndim() == 2 && residual.shape(0) == subsets.shape(0) &&
              residual.shape(1) == codes.shape(1),
          "residual must be (n_subsets, n_train)");
  shaff::BoostedTrees trees =
      boosted_trees(feature, threshold, left, right, missing_left, category_set, set_offset,
                    set_words, tree_offset, codes.shape(0));
  trees.gain = split_gain(gain, feature.size(), values.has_value());
  const shaff::TrainingRows rows{view(codes), codes.shape(1),
                                 slope_values(values, codes.shape(0), codes.shape(1))};
  shaff::Learners learners{view(weight), view(shrinkage)};
  if (values) {
    require(slope_shrinkage && slope_shrinkage->size() == shrinkage.size(),
            "slope_shrinkage must be (n_learners,)");
    for (const double lambda : view(*slope_shrinkage)) require_slope_shrinkage(lambda);
    learners.slope_shrinkage = view(*slope_shrinkage);
  }
  const shaff::Interrupted interrupted = interruption(cancel);
  std::unique_ptr<shaff::BoostingSteps> steps;
  {
    nb::gil_scoped_release release;
    steps = shaff::learn_boosting(trees, rows, learners, learning_rate, view(subsets),
                                  subsets.shape(1), view(n_trees), view(residual), interrupted);
  }
  finish(steps != nullptr);
  return steps;
}

void predict_boosting(const shaff::BoostingSteps& steps, const In<std::uint16_t>& codes,
                      const InOut<double>& out, const InOut<std::uint8_t>& cancel,
                      const std::optional<In<float>>& values) {
  require(codes.ndim() == 2 && codes.shape(0) == steps.n_columns(),
          "codes must be (n_columns, n_rows)");
  require(out.ndim() == 3 && out.shape(0) == steps.n_learners() &&
              out.shape(1) == steps.n_subsets() && out.shape(2) == codes.shape(1),
          "out must be (n_learners, n_subsets, n_rows)");
  require(values.has_value() == steps.is_linear(), "linear steps take values, others do not");
  const auto at = slope_values(values, codes.shape(0), codes.shape(1));
  const shaff::Interrupted interrupted = interruption(cancel);
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed = steps.predict(view(codes), at, codes.shape(1), view_mut(out), interrupted);
  }
  finish(completed);
}

void add_tree_expectation(const In<std::int64_t>& left, const In<std::int64_t>& right,
                          const In<std::int64_t>& feature, const In<double>& threshold,
                          const In<std::uint8_t>& missing_left, const In<double>& cover,
                          const In<double>& value, const In<float>& columns,
                          const In<std::int32_t>& rows, const In<float>& background_columns,
                          const In<std::int32_t>& background_rows, const In<std::uint8_t>& known,
                          const InOut<double>& sums) {
  require(value.ndim() == 2 && known.ndim() == 2 && sums.ndim() == 3,
          "value, known and sums are matrices or more");
  require(columns.ndim() == 2 && background_columns.ndim() == 2 && background_rows.ndim() == 2,
          "columns and background are matrices");
  const std::size_t n_subsets = known.shape(0), n_columns = known.shape(1);
  const std::size_t n_rows = columns.shape(1), n_outputs = value.shape(1);
  require(columns.shape(0) == n_columns && background_columns.shape(0) == n_columns,
          "known must name all columns");
  require(background_rows.shape(0) == n_subsets, "background_rows must be (n_subsets, n_draws)");
  require(sums.shape(0) == n_subsets && sums.shape(1) == n_rows && sums.shape(2) == n_outputs,
          "sums must be (n_subsets, n_rows, n_outputs)");
  const std::size_t n = feature.size();
  require(
      threshold.size() == n && missing_left.size() == n && cover.size() == n && value.shape(0) == n,
      "node arrays differ in length");
  const Count whole[] = {0, static_cast<Count>(n)};
  require_shallow(require_trees<Count>(whole, view(feature), view(left), view(right), n_columns,
                                       Children::within_tree));
  for (const auto& flags : {missing_left, known}) require_flags(view(flags));
  require_finite(view(value), "a value of a tree is not finite");
  require_cover(view(feature), view(cover));
  require_rows(view(rows), n_rows);
  require_rows(view(background_rows), background_columns.shape(1));
  const shaff::ExpectationTree tree{view(left),         view(right), view(feature), view(threshold),
                                    view(missing_left), view(cover), view(value)};
  const shaff::RowView queries{view(columns), static_cast<std::int64_t>(n_rows), view(rows)};
  const shaff::RowView background{
      view(background_columns), static_cast<std::int64_t>(background_columns.shape(1)), {}};
  const shaff::KnownColumns subsets{view(known), view(background_rows), n_subsets};
  const shaff::Interrupted interrupted = interruption();
  bool completed = false;
  {
    nb::gil_scoped_release release;
    completed = shaff::add_tree_expectation(tree, queries, background, subsets,
                                            static_cast<std::int64_t>(n_outputs), view_mut(sums),
                                            interrupted);
  }
  finish(completed);
}

// Neither results nor the cancel flag are converted: the core would write or watch a copy. Nor are
// codes, since the narrower overload would take wide ones.
template <class Code>
void def_project_forest(nb::module_& m) {
  m.def("project_forest", &project_forest<Code>, "offsets"_a, "feature"_a, "cut"_a, "left"_a,
        "right"_a, "missing_left"_a, "codes"_a.noconvert(), "has_missing"_a, "rank_offset"_a,
        "category_rank"_a, "bags"_a, "row_weight"_a, "is_query"_a, "targets"_a, "min_node_size"_a,
        "first_tree"_a, "last_tree"_a, "subsets"_a, "sum"_a.noconvert(),
        "sum_squares"_a.noconvert(), "cancel"_a.noconvert());
}

}  // namespace

NB_MODULE(_core, m) {
  m.def("kernel_name", &shaff::kernel_name);
  m.def("count_path_subsets", &count_path_subsets, "offsets"_a, "feature"_a, "left"_a, "right"_a,
        "n_words"_a);
  def_project_forest<std::uint16_t>(m);
  def_project_forest<std::uint32_t>(m);
  m.def("grow_trees", &grow_trees, "bins"_a, "n_bins"_a, "categorical"_a, "weight"_a,
        "learning_rate"_a, "shrinkage"_a, "max_features"_a, "min_samples_leaf"_a,
        "max_leaf_nodes"_a, "first_tree"_a, "n_trees"_a, "seed"_a, "residual"_a.noconvert(),
        "cancel"_a.noconvert(), "values"_a = nb::none(), "slope_shrinkage"_a = 0.0);
  m.def("replay_boosting", &replay_boosting, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "missing_left"_a, "category_set"_a, "set_offset"_a, "set_words"_a, "tree_offset"_a,
        "codes"_a, "weight"_a, "subsets"_a, "learning_rate"_a, "shrinkage"_a,
        "residual"_a.noconvert(), "cancel"_a.noconvert(), "n_first"_a = 0,
        "half_train"_a.noconvert() = nb::none(), "half_test"_a.noconvert() = nb::none(),
        "gain"_a = nb::none(), "values"_a = nb::none(), "slope_shrinkage"_a = 0.0);
  nb::class_<shaff::BoostingSteps>(m, "BoostingSteps")
      .def_prop_ro("n_learners", &shaff::BoostingSteps::n_learners)
      .def_prop_ro("n_subsets", &shaff::BoostingSteps::n_subsets)
      .def_prop_ro("n_columns", &shaff::BoostingSteps::n_columns)
      .def_prop_ro("nbytes", &shaff::BoostingSteps::bytes);
  m.def("learn_boosting", &learn_boosting, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "missing_left"_a, "category_set"_a, "set_offset"_a, "set_words"_a, "tree_offset"_a,
        "codes"_a, "weight"_a, "subsets"_a, "learning_rate"_a, "shrinkage"_a, "n_trees"_a,
        "residual"_a, "cancel"_a.noconvert(), "gain"_a = nb::none(), "values"_a = nb::none(),
        "slope_shrinkage"_a = nb::none());
  m.def("predict_boosting", &predict_boosting, "steps"_a, "codes"_a, "out"_a.noconvert(),
        "cancel"_a.noconvert(), "values"_a = nb::none());
  m.def("add_tree_expectation", &add_tree_expectation, "left"_a, "right"_a, "feature"_a,
        "threshold"_a, "missing_left"_a, "cover"_a, "value"_a, "columns"_a, "rows"_a,
        "background_columns"_a, "background_rows"_a, "known"_a, "sums"_a.noconvert());
}
