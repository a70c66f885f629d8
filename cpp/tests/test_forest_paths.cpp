// Subset counts of a forest against the definition: each root-to-leaf path lists its prefix sets.
#include <map>
#include <set>

#include "check.hpp"
#include "random_forest.hpp"
#include "shaff/forest_paths.hpp"

using Words = std::vector<std::uint64_t>;

namespace {

void walk(const shaff::TreeShape& tree, std::int32_t node, Words current, std::set<Words> seen,
          std::map<Words, std::int64_t>& counts) {
  const std::int32_t feature = tree.feature[static_cast<std::size_t>(node)];
  if (feature < 0) {
    for (const Words& words : seen) ++counts[words];
    return;
  }
  current[static_cast<std::size_t>(feature) / 64] |= std::uint64_t{1} << (feature % 64);
  seen.insert(current);
  walk(tree, tree.left[static_cast<std::size_t>(node)], current, seen, counts);
  walk(tree, tree.right[static_cast<std::size_t>(node)], current, seen, counts);
}

void check_against_definition(int n_features, unsigned seed) {
  std::mt19937 rng(seed);
  shaff::testing::RandomForest forest;
  for (int t = 0; t < 6; ++t) forest.add_tree(rng, n_features, 20, t);
  const std::size_t n_words = (static_cast<std::size_t>(n_features) + 63) / 64;
  std::map<Words, std::int64_t> expected;
  for (std::size_t t = 0; t < forest.shape().n_trees(); ++t)
    walk(forest.shape().tree(t), 0, Words(n_words, 0), {}, expected);

  shaff::SubsetCounts counts;
  CHECK(shaff::count_path_subsets(forest.shape(), n_words, counts, [] { return false; }));
  CHECK(counts.counts.size() == expected.size());
  for (std::size_t k = 0; k < counts.counts.size(); ++k) {
    const auto start = counts.words.begin() + static_cast<std::ptrdiff_t>(k * n_words);
    const Words words(start, start + static_cast<std::ptrdiff_t>(n_words));
    CHECK(expected.at(words) == counts.counts[k]);
  }
}

void check_interruption() {
  std::mt19937 rng(0);
  shaff::testing::RandomForest forest;
  forest.add_tree(rng, 3, 20, 5);
  shaff::SubsetCounts counts;
  CHECK(!shaff::count_path_subsets(forest.shape(), 1, counts, [] { return true; }));
}

}  // namespace

int main() {
  check_interruption();
  for (const int n_features : {1, 3, 64, 65, 200})
    for (unsigned seed = 0; seed < 20; ++seed) check_against_definition(n_features, seed);
}
