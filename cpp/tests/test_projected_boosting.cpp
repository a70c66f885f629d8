// One tree, cells worked out by hand.
#include <cmath>
#include <cstdio>
#include <vector>

#include "shaff/boosting_steps.hpp"
#include "shaff/projected_boosting.hpp"

namespace {

int failures = 0;

void expect_near(double got, double expected, const char* what) {
  if (std::abs(got - expected) <= 1e-12) return;
  std::printf("%s: got %.17g, expected %.17g\n", what, got, expected);
  ++failures;
}

// Column 0 at the root (code <= 0 goes left, missing right), column 1 on the left side by a set:
// codes 1 and 64 go left, missing goes left.
struct Example {
  std::vector<std::int32_t> feature{0, 1, -1, -1, -1};
  std::vector<std::uint16_t> threshold{0, 0, 0, 0, 0};
  std::vector<std::int32_t> left{1, 2, 0, 0, 0}, right{4, 3, 0, 0, 0};
  std::vector<std::uint8_t> missing_left{0, 1, 0, 0, 0};
  std::vector<std::int32_t> category_set{-1, 0, -1, -1, -1};
  std::vector<std::int64_t> set_offset{0, 2};
  std::vector<std::uint64_t> set_words{2, 1};
  std::vector<std::int64_t> tree_offset{0, 5};

  shaff::BoostedTrees view() const {
    return {feature,      threshold,  left,      right,      missing_left,
            category_set, set_offset, set_words, tree_offset};
  }
};

// Four training rows and two held-out ones.
const std::vector<std::uint16_t> kCodes{0, 0, 1, 0xFFFF, 0, 1, 1, 0, 64, 5, 0xFFFF, 64};
const std::vector<double> kWeight{1, 2, 1, 1};
const std::vector<double> kResidual{1, 2, 3, 4, 0, 0};

std::vector<double> replay(const std::vector<std::uint64_t>& subsets) {
  const Example example;
  const shaff::BoostingRows rows{kCodes, kWeight, 6};
  std::vector<double> residual;
  for (std::size_t u = 0; u < subsets.size(); ++u)
    residual.insert(residual.end(), kResidual.begin(), kResidual.end());
  shaff::replay_boosting(example.view(), rows, subsets, 1, {0.5, 1.0}, residual,
                         [] { return false; });
  return residual;
}

void check_cells() {
  // No column, column 0, column 1, both.
  const std::vector<double> got = replay({0, 1, 2, 3});
  const double one_cell = 0.5 * (1 + 4 + 3 + 4) / 6;
  expect_near(got[0], 1 - one_cell, "no column, training row");
  expect_near(got[5], -one_cell, "no column, held-out row");
  const double low = 0.5 * 5 / 4, high = 0.5 * 7 / 3;
  expect_near(got[6 + 1], 2 - low, "column 0, left");
  expect_near(got[6 + 3], 4 - high, "column 0, missing goes right");
  expect_near(got[6 + 5], -high, "column 0, held-out row");
  const double in_set = 0.5 * (1 + 3) / 3, outside = 0.5 * (4 + 4) / 4;
  expect_near(got[12 + 0], 1 - in_set, "column 1, in the set");
  expect_near(got[12 + 1], 2 - outside, "column 1, outside the set");
  expect_near(got[12 + 4], -in_set, "column 1, missing goes left");
  expect_near(got[18 + 0], 1 - 0.5 * 1 / 2, "both, left and in the set");
  expect_near(got[18 + 1], 2 - 0.5 * 4 / 3, "both, left and outside");
  expect_near(got[18 + 2], 3 - high, "both, right");
}

void check_interruption() {
  const Example example;
  const shaff::BoostingRows rows{kCodes, kWeight, 6};
  std::vector<double> residual = kResidual;
  const std::vector<std::uint64_t> subset{3};
  shaff::replay_boosting(example.view(), rows, subset, 1, {0.5, 1.0}, residual,
                         [] { return true; });
  expect_near(residual[0], kResidual[0], "nothing is done after an interruption");
}

// The held-out rows as rows that come later, by two learners.
void check_steps() {
  const Example example;
  const std::vector<std::uint64_t> subsets{0, 1, 2, 3};
  const std::vector<double> along = replay(subsets);
  std::vector<std::uint16_t> train, later;
  for (std::size_t column = 0; column < 2; ++column)
    for (std::size_t i = 0; i < 6; ++i) (i < 4 ? train : later).push_back(kCodes[column * 6 + i]);
  std::vector<double> weight = kWeight, residual;
  weight.insert(weight.end(), {0, 0, 0, 0});
  for (std::size_t u = 0; u < 4; ++u)
    residual.insert(residual.end(), kResidual.begin(), kResidual.begin() + 4);
  const std::vector<double> shrinkage{1.0, 1.0};
  const std::vector<std::int64_t> n_trees{1, 1, 1, 1};
  const auto learn = [&](bool interrupted) {
    return shaff::learn_boosting(example.view(), train, 4, {weight, shrinkage}, 0.5, subsets, 1,
                                 n_trees, residual, [=] { return interrupted; });
  };
  const auto steps = learn(false);
  std::vector<double> out(2 * 4 * 2);
  steps->predict(later, 2, out, [] { return false; });
  for (std::size_t u = 0; u < 4; ++u)
    for (std::size_t i = 0; i < 2; ++i) {
      expect_near(out[u * 2 + i], -along[u * 6 + 4 + i], "a later row");
      expect_near(out[8 + u * 2 + i], 0.0, "a learner without rows");
    }
  if (learn(true) != nullptr || steps->predict(later, 2, out, [] { return true; })) {
    std::printf("an interruption is not noticed\n");
    ++failures;
  }
}

}  // namespace

int main() {
  check_cells();
  check_interruption();
  check_steps();
  return failures == 0 ? 0 : 1;
}
