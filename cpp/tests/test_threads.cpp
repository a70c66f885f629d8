// The kernels as threads run them: shared trees and rows, results of their own, one cancel flag.
// Built with the thread sanitizer it shows that they share nothing that is written.
#include <atomic>
#include <latch>
#include <thread>

#include "check.hpp"
#include "random_forest.hpp"
#include "shaff/booster_growing.hpp"
#include "shaff/forest_paths.hpp"
#include "shaff/projected_boosting.hpp"
#include "shaff/projected_forest.hpp"

namespace {

constexpr std::size_t kRows = 400, kColumns = 4, kThreads = 4;

struct Example {
  shaff::testing::RandomForest forest;
  std::vector<std::uint16_t> codes, bags;
  std::vector<std::uint8_t> has_missing = std::vector<std::uint8_t>(kColumns, 0);
  std::vector<std::uint8_t> is_query = std::vector<std::uint8_t>(kRows, 1);
  std::vector<double> weight = std::vector<double>(kRows, 1.0), targets;

  Example() {
    std::mt19937 rng(0);
    for (int t = 0; t < 6; ++t) forest.add_tree(rng, kColumns, kRows, 8);
    for (std::size_t k = 0; k < kRows * kColumns; ++k)
      codes.push_back(static_cast<std::uint16_t>(rng() % kRows));
    for (std::size_t k = 0; k < kRows * 6; ++k) bags.push_back(rng() % 3);
    for (std::size_t k = 0; k < kRows; ++k) targets.push_back(static_cast<double>(rng() % 100));
  }

  bool project(std::uint64_t subset, std::vector<double>& sum,
               const shaff::Interrupted& interrupted) const {
    sum.assign(kRows, 0.0);
    std::vector<double> squares(kRows);
    const shaff::ProjectionInput input{forest.view(), bags, weight, is_query, targets, 1, 5.0};
    const shaff::CodedRows<std::uint16_t> rows{codes, has_missing, kRows};
    return shaff::project_forest(input, rows, 0, 6, std::span(&subset, 1), 1, sum, squares,
                                 interrupted);
  }
};

template <class Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < kThreads; ++k) threads.emplace_back(work, k);
  for (std::thread& thread : threads) thread.join();
}

void check_same_as_alone() {
  const Example example;
  std::vector<std::vector<double>> found(kThreads);
  in_threads([&](std::size_t k) {
    CHECK(example.project(k + 1, found[k], [] { return false; }));
    shaff::SubsetCounts counts;
    CHECK(shaff::count_path_subsets(example.forest.shape(), 1, counts, [] { return false; }));
  });
  for (std::size_t k = 0; k < kThreads; ++k) {
    std::vector<double> alone;
    example.project(k + 1, alone, [] { return false; });
    CHECK(alone == found[k]);
  }
}

void check_same_trees_as_alone(bool linear) {
  std::vector<std::uint8_t> bins;
  std::mt19937 rng(1);
  for (std::size_t k = 0; k < kRows * kColumns; ++k)
    bins.push_back(static_cast<std::uint8_t>(rng() % 51));
  const std::vector<std::int32_t> n_bins(kColumns, 50);
  const std::vector<std::uint8_t> categorical{0, 1, 0, 0};
  const std::vector<float> values(linear ? bins.begin() : bins.end(), bins.end());
  const shaff::BinnedRows rows{bins, n_bins, categorical, {}, kRows, values};
  const auto grow = [&] {
    std::vector<double> residual(kRows);
    for (std::size_t i = 0; i < kRows; ++i) residual[i] = bins[i];
    shaff::GrownTrees trees;
    CHECK(shaff::grow_trees(rows, {0.1, 1.0, 0.5, 5, 8, 0, 10, 3, 1.0}, residual, trees,
                            [] { return false; }));
    return residual;
  };
  std::vector<std::vector<double>> found(kThreads);
  in_threads([&](std::size_t k) { found[k] = grow(); });
  for (const std::vector<double>& residual : found) CHECK(residual == grow());
}

// One stump of a replay that would take very long, until the flag is set.
void check_cancel() {
  const std::vector<std::int32_t> feature{0, -1, -1}, left{1, 0, 0}, right{2, 0, 0},
      category_set{-1, -1, -1};
  const std::vector<std::uint16_t> threshold{0, 0, 0}, codes(kRows, 1);
  const std::vector<std::uint8_t> missing_left{0, 0, 0};
  std::vector<std::int64_t> tree_offset;
  const std::vector<std::int64_t> set_offset{0};
  const std::vector<double> weight(kRows, 1.0);
  const std::vector<std::uint64_t> subsets(64, 1);
  for (int t = 0; t < 2; ++t) tree_offset.push_back(3 * t);
  const shaff::BoostedTrees trees{feature,      threshold,  left, right,      missing_left,
                                  category_set, set_offset, {},   tree_offset};
  std::uint8_t cancel = 0;
  std::atomic<std::size_t> n_ended = 0;
  std::latch all_run(kThreads);
  std::thread ends_them([&] {
    all_run.wait();
    std::atomic_ref<std::uint8_t>(cancel).store(1);
  });
  in_threads([&](std::size_t) {
    std::vector<double> residual(64 * kRows, 1.0);
    const shaff::BoostingRows rows{codes, weight, kRows};
    bool is_running = false;
    const auto interrupted = [&] {
      if (!is_running) all_run.count_down();
      is_running = true;
      return shaff::is_set(cancel);
    };
    while (shaff::replay_boosting(trees, rows, subsets, 1, {0.1, 1.0}, residual, {}, interrupted))
      continue;
    ++n_ended;
  });
  ends_them.join();
  CHECK(n_ended == kThreads);
}

}  // namespace

int main() {
  check_same_as_alone();
  check_same_trees_as_alone(false);
  check_same_trees_as_alone(true);
  check_cancel();
}
