#include "shaff/projected_forest.hpp"

#include <cstdlib>

#include "poll.hpp"
#include "projection/kernel.hpp"
#include "projection/level_order.hpp"
#include "projection/tree_rows.hpp"
#include "projection/workspace.hpp"

namespace shaff {
namespace {

template <class Value>
ProjectTree<Value> choose_kernel(Instructions wanted) {
  const ProjectTree<Value> portable = &project_tree<Value>;
  if (wanted == Instructions::portable) return portable;
  if (has_avx2_kernel()) return project_tree_avx2(Value{});
  if (wanted == Instructions::avx2) throw NoSuchKernel("there is no AVX2 kernel here");
  return portable;
}

struct Task {  // what one call asks for
  std::span<const std::uint64_t> subsets;
  std::size_t n_words;
  std::span<double> sum, sum_squares;
  Kernel kernel;
};

// One thread's projections on values of one width.
template <class Value>
class Projector {
 public:
  explicit Projector(Instructions wanted) : kernel_(choose_kernel<Value>(wanted)) {}

  template <class Code>
  bool project(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree,
               const LevelOrder& order, TreeRows<Code>& own, const Task& task, Poll& poll) {
    if (order.most_cuts > PlacedValues<Value>::most_cuts)
      throw NoSuchKernel("a tree has more cuts than the kernel has numbers");
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
    return kernel_(data, workspace_.fit(data), task.subsets.data(),
                   task.subsets.size() / task.n_words, task.n_words, rows.n_rows, task.sum.data(),
                   task.sum_squares.data(), &Poll::ask, &poll);
  }

 private:
  const ProjectTree<Value> kernel_;
  Workspace<Value> workspace_;
  PlacedValues<Value> placed_;
};

Width width_for(std::size_t most_cuts, Width wanted) {
  if (wanted != Width::narrowest) return wanted;
  if (most_cuts <= PlacedValues<std::int8_t>::most_cuts) return Width::one_byte;
  return most_cuts <= PlacedValues<std::int16_t>::most_cuts ? Width::two_bytes : Width::four_bytes;
}

template <class Code>
bool project(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t first_tree,
             std::size_t last_tree, const Task& task, const Interrupted& interrupted) {
  Projector<std::int8_t> narrow(task.kernel.instructions);
  Projector<std::int16_t> middle(task.kernel.instructions);
  Projector<std::int32_t> wide(task.kernel.instructions);
  TreeRows<Code> own;
  Poll poll(interrupted);
  const auto project_tree = [&](std::size_t t) {
    const LevelOrder order(input.forest.tree(t));
    own.assign(input, rows, t);
    if (own.idle()) return true;
    switch (width_for(order.most_cuts, task.kernel.width)) {
      case Width::one_byte:
        return narrow.project(input, rows, t, order, own, task, poll);
      case Width::two_bytes:
        return middle.project(input, rows, t, order, own, task, poll);
      default:
        return wide.project(input, rows, t, order, own, task, poll);
    }
  };
  for (std::size_t t = first_tree; t < last_tree; ++t) {
    if (poll.should_end() || !project_tree(t)) return false;
  }
  return true;
}

}  // namespace

// SHAFF_PORTABLE in the environment keeps to the portable kernel: the two give the same bits.
bool has_avx2_kernel() {
  if (project_tree_avx2(std::int8_t{}) == nullptr || std::getenv("SHAFF_PORTABLE") != nullptr)
    return false;
#if defined(__x86_64__) && defined(__GNUC__)
  // What CMakeLists.txt compiles the kernel with.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

const char* kernel_name() {
  if (has_avx2_kernel()) return "AVX2";
#if defined(SHAFF_SSE2)
  return "SSE2";
#else
  return "plain";
#endif
}

bool project_forest(const ProjectionInput& input, const CodedRows<std::uint16_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted, Kernel kernel) {
  return project(input, rows, first_tree, last_tree, {subsets, n_words, sum, sum_squares, kernel},
                 interrupted);
}

bool project_forest(const ProjectionInput& input, const CodedRows<std::uint32_t>& rows,
                    std::size_t first_tree, std::size_t last_tree,
                    std::span<const std::uint64_t> subsets, std::size_t n_words,
                    std::span<double> sum, std::span<double> sum_squares,
                    const Interrupted& interrupted, Kernel kernel) {
  return project(input, rows, first_tree, last_tree, {subsets, n_words, sum, sum_squares, kernel},
                 interrupted);
}

}  // namespace shaff
