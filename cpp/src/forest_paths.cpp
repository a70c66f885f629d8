#include "shaff/forest_paths.hpp"

#include <algorithm>
#include <unordered_map>

#include "poll.hpp"

namespace shaff {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64: a hash per variable, joined by xor along a path
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Counter {
 public:
  Counter(std::size_t n_words, SubsetCounts& counted) : result(counted), n_words_(n_words) {}

  void add(const std::vector<std::uint64_t>& set, std::uint64_t hash, std::int64_t count) {
    auto [it, end] = index_.equal_range(hash);
    for (; it != end; ++it) {
      if (std::equal(set.begin(), set.end(), result.words.begin() + it->second * n_words_)) {
        result.counts[it->second] += count;
        return;
      }
    }
    index_.emplace(hash, result.counts.size());
    result.words.insert(result.words.end(), set.begin(), set.end());
    result.counts.push_back(count);
  }

  SubsetCounts& result;

 private:
  std::size_t n_words_;
  std::unordered_multimap<std::uint64_t, std::size_t> index_;
};

std::vector<std::int64_t> leaves_below(const TreeShape& tree,
                                       const std::vector<std::int32_t>& preorder) {
  std::vector<std::int64_t> leaves(tree.feature.size(), 1);
  for (auto it = preorder.rbegin(); it != preorder.rend(); ++it) {
    if (tree.feature[*it] >= 0) leaves[*it] = leaves[tree.left[*it]] + leaves[tree.right[*it]];
  }
  return leaves;
}

struct Visit {
  std::int32_t node;
  std::uint64_t hash;  // of the set of split variables above the node
  std::vector<std::uint64_t> above;
};

std::vector<std::int32_t> preorder_of(const TreeShape& tree) {
  std::vector<std::int32_t> order, stack{0};
  while (!stack.empty()) {
    const auto node = stack.back();
    stack.pop_back();
    order.push_back(node);
    if (tree.feature[node] < 0) continue;
    stack.push_back(tree.right[node]);
    stack.push_back(tree.left[node]);
  }
  return order;
}

bool count_tree(const TreeShape& tree, std::size_t n_words, Counter& counter, Poll& poll) {
  const auto leaves = leaves_below(tree, preorder_of(tree));
  std::vector<Visit> stack;
  stack.push_back({0, 0, std::vector<std::uint64_t>(n_words, 0)});
  while (!stack.empty()) {
    if (poll.should_end_after(n_words)) return false;
    Visit visit = std::move(stack.back());
    stack.pop_back();
    const auto feature = tree.feature[visit.node];
    if (feature < 0) continue;
    if (!contains(visit.above, feature)) {
      // Every path below this node has the completed set as a prefix, and meets it here only.
      visit.above[static_cast<std::size_t>(feature) / 64] |= std::uint64_t{1} << (feature % 64);
      visit.hash ^= mix(static_cast<std::uint64_t>(feature));
      counter.add(visit.above, visit.hash, leaves[visit.node]);
    }
    stack.push_back({tree.right[visit.node], visit.hash, visit.above});
    stack.push_back({tree.left[visit.node], visit.hash, std::move(visit.above)});
  }
  return true;
}

}  // namespace

bool count_path_subsets(const ForestShape& forest, std::size_t n_words, SubsetCounts& counted,
                        const Interrupted& interrupted) {
  Poll poll(interrupted);
  Counter counter(n_words, counted);
  for (std::size_t t = 0; t < forest.n_trees(); ++t)
    if (poll.should_end() || !count_tree(forest.tree(t), n_words, counter, poll)) return false;
  return true;
}

}  // namespace shaff
