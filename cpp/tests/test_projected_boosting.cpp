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
  shaff::replay_boosting(example.view(), rows, subsets, 1, {0.5, 1.0}, residual, {},
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

// Each half by itself, with half the shrinkage, gives what it gives along with all rows.
void check_halves() {
  const Example example;
  const shaff::BoostingRows rows{kCodes, kWeight, 6};
  const std::vector<std::uint64_t> subsets{1, 3};
  std::vector<double> residual, train, test;
  for (int u = 0; u < 2; ++u) {
    residual.insert(residual.end(), kResidual.begin(), kResidual.end());
    train.insert(train.end(), kResidual.begin(), kResidual.begin() + 4);
    test.insert(test.end(), 4, 0.0);
  }
  shaff::replay_boosting(example.view(), rows, subsets, 1, {0.5, 1.0}, residual, {1, train, test},
                         [] { return false; });
  const std::vector<double> all = replay({1, 3});
  for (std::size_t i = 0; i < all.size(); ++i) expect_near(residual[i], all[i], "with halves");
  // Column 0: the first half is row 0; of the others, row 1 is on the left and 2 and 3 on the
  // right.
  const double low = 0.5 * 4 / 2.5, high = 0.5 * 7 / 2.5;
  expect_near(train[0], 1 - 0.5 * 1 / 1.5, "first half, training row");
  expect_near(train[1], 2 - low, "second half, left");
  expect_near(train[3], 4 - high, "second half, right");
  expect_near(test[0], -0.5 * 1 / 1.5, "first half, held-out row on the left");
  expect_near(test[1], 0, "first half, nothing known on the right");
  expect_near(test[2], -low, "second half, held-out row on the left");
  expect_near(test[3], -high, "second half, held-out row on the right");
}

// A root outside of U over 300 leaves by column 1 and 300 by column 2: more cells than two bytes
// can number.
void check_many_cells() {
  constexpr std::size_t kLeaves = 300, kRows = 90000;
  std::vector<std::int32_t> feature{0}, left{1}, right{0};
  std::vector<std::uint16_t> threshold{0};
  for (std::int32_t column = 1; column <= 2; ++column) {
    if (column == 2) right[0] = static_cast<std::int32_t>(feature.size());
    // A chain: each split cuts one code off.
    for (std::size_t k = 0; k + 1 < kLeaves; ++k) {
      const auto at = static_cast<std::int32_t>(feature.size());
      feature.insert(feature.end(), {column, -1});
      threshold.insert(threshold.end(), {static_cast<std::uint16_t>(k), 0});
      left.insert(left.end(), {at + 1, 0});
      right.insert(right.end(), {at + 2, 0});
    }
    feature.push_back(-1);
    threshold.push_back(0);
    left.push_back(0);
    right.push_back(0);
  }
  const std::size_t n = feature.size();
  const std::vector<std::uint8_t> missing_left(n, 0);
  const std::vector<std::int32_t> category_set(n, -1);
  const std::vector<std::int64_t> set_offset{0}, tree_offset{0, static_cast<std::int64_t>(n)};
  const shaff::BoostedTrees trees{feature,      threshold,  left, right,      missing_left,
                                  category_set, set_offset, {},   tree_offset};
  // Every pair of codes once in training, then some again, held out.
  std::vector<std::uint16_t> codes(3 * (kRows + 9));
  std::vector<double> residual;
  for (std::size_t i = 0; i < kRows + 9; ++i) {
    const std::size_t pair = i % kRows;
    codes[(kRows + 9) + i] = static_cast<std::uint16_t>(pair / kLeaves);
    codes[2 * (kRows + 9) + i] = static_cast<std::uint16_t>(pair % kLeaves);
    residual.push_back(i < kRows ? static_cast<double>(pair) : 0.0);
  }
  const std::vector<double> weight(kRows, 1.0);
  const std::vector<std::uint64_t> subsets{0b110, 0b001};
  std::vector<double> both = residual, train(2 * kRows), test(2 * 2 * 9);
  both.insert(both.end(), residual.begin(), residual.end());
  shaff::replay_boosting(trees, {codes, weight, kRows + 9}, subsets, 1, {1.0, 0.0}, both,
                         {kRows / 2, train, test}, [] { return false; });
  for (std::size_t i = 0; i < kRows; ++i) expect_near(both[i], 0, "a cell for every row");
  for (std::size_t k = 0; k < 9; ++k)
    expect_near(both[kRows + k], -static_cast<double>(k), "held out, in its row's cell");
}

// A stump on column 0, whose left side has 16 training rows at -1 and 1, eight in each half, and
// whose right side has four, too few for a slope. Two rows are held out: far out on the left, and
// on the right.
struct Line {
  std::vector<std::int32_t> feature{0, -1, -1}, left{1, 0, 0}, right{2, 0, 0};
  std::vector<std::uint16_t> threshold{0, 0, 0};
  std::vector<std::uint8_t> missing_left{0, 0, 0};
  std::vector<std::int32_t> category_set{-1, -1, -1};
  std::vector<std::int64_t> set_offset{0}, tree_offset{0, 3};
  std::vector<double> gain{1, 0, 0}, weight, residual;
  std::vector<std::uint16_t> codes;
  std::vector<float> values;

  Line() {
    for (std::size_t i = 0; i < 20; ++i) {
      const bool is_right = i % 10 >= 8;
      const float x = i % 2 ? 1.0f : -1.0f;
      add(is_right, x, is_right ? 5.0 : 3 + 2 * x);
    }
    weight.assign(20, 1.0);
    add(false, 4.0f, 0.0);
    add(true, 4.0f, 0.0);
  }

  void add(bool is_right, float x, double target) {
    codes.push_back(is_right);
    values.push_back(x);
    residual.push_back(target);
  }
  shaff::BoostedTrees trees() const {
    return {feature,      threshold,  left, right,       missing_left,
            category_set, set_offset, {},   tree_offset, gain};
  }
  shaff::BoostingRows rows() const { return {codes, weight, 22, values}; }
};

// 16 rows of mean 3 and slope 2, of which the shrinkages leave 16 / 20 and 16 / 18; the halves have
// half of everything.
const double kMean = 0.5 * 3 * 16 / 20, kSlope = 0.5 * 2 * 16 / 18, kRight = 0.5 * 5 * 4 / 8;

void check_linear_steps() {
  const Line line;
  const std::vector<std::uint64_t> subsets{1, 0};
  std::vector<double> residual = line.residual, train, test(2 * 2 * 2);
  residual.insert(residual.end(), line.residual.begin(), line.residual.end());
  std::vector<double> alone = residual;
  for (int u = 0; u < 2; ++u)
    train.insert(train.end(), line.residual.begin(), line.residual.begin() + 20);
  shaff::replay_boosting(line.trees(), line.rows(), subsets, 1, {0.5, 4.0, 2.0}, residual,
                         {10, train, test}, [] { return false; });
  expect_near(residual[1], 5 - kMean - kSlope, "a line, training row");
  expect_near(residual[8], 5 - kRight, "too few rows for a slope");
  expect_near(residual[20], -kMean - kSlope, "a line, not extrapolated");
  expect_near(residual[21], -kRight, "held out, too few rows for a slope");
  expect_near(residual[22], 1 - 0.5 * 68 / 24, "no column, no slope");
  expect_near(train[10], 1 - kMean + kSlope, "a line, by a half");
  for (const std::size_t half : {0, 2}) expect_near(test[half], residual[20], "a line, by halves");
  shaff::replay_boosting(line.trees(), line.rows(), subsets, 1, {0.5, 4.0, 2.0}, alone, {},
                         [] { return false; });
  for (std::size_t i = 0; i < alone.size(); ++i)
    expect_near(alone[i], residual[i], "a line, without halves");
}

// The held-out rows of the line as rows that come later, by all rows and by a half.
void check_linear_learners() {
  const Line line;
  const std::vector<std::uint64_t> subsets{1};
  std::vector<double> weight(40, 1.0);
  std::fill_n(weight.begin() + 20, 10, 0.0);
  const std::vector<double> shrinkage{4.0, 2.0}, slope_shrinkage{2.0, 1.0};
  const std::vector<std::int64_t> n_trees{1};
  const auto steps = shaff::learn_boosting(
      line.trees(), {std::span(line.codes).first(20), 20, std::span(line.values).first(20)},
      {weight, shrinkage, slope_shrinkage}, 0.5, subsets, 1, n_trees,
      std::span(line.residual).first(20), [] { return false; });
  const std::vector<std::uint16_t> codes{0, 1};
  const std::vector<float> values{4.0f, 4.0f};
  std::vector<double> out(2 * 2);
  steps->predict(codes, values, 2, out, [] { return false; });
  for (const std::size_t learner : {0, 2}) {
    expect_near(out[learner], kMean + kSlope, "a later row, not extrapolated");
    expect_near(out[learner + 1], kRight, "a later row without a slope");
  }
}

void check_interruption() {
  const Example example;
  const shaff::BoostingRows rows{kCodes, kWeight, 6};
  std::vector<double> residual = kResidual;
  const std::vector<std::uint64_t> subset{3};
  shaff::replay_boosting(example.view(), rows, subset, 1, {0.5, 1.0}, residual, {},
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
    return shaff::learn_boosting(example.view(), {train, 4}, {weight, shrinkage}, 0.5, subsets, 1,
                                 n_trees, residual, [=] { return interrupted; });
  };
  const auto steps = learn(false);
  std::vector<double> out(2 * 4 * 2);
  steps->predict(later, {}, 2, out, [] { return false; });
  for (std::size_t u = 0; u < 4; ++u)
    for (std::size_t i = 0; i < 2; ++i) {
      expect_near(out[u * 2 + i], -along[u * 6 + 4 + i], "a later row");
      expect_near(out[8 + u * 2 + i], 0.0, "a learner without rows");
    }
  if (learn(true) != nullptr || steps->predict(later, {}, 2, out, [] { return true; })) {
    std::printf("an interruption is not noticed\n");
    ++failures;
  }
}

}  // namespace

int main() {
  check_cells();
  check_halves();
  check_many_cells();
  check_interruption();
  check_steps();
  check_linear_steps();
  check_linear_learners();
  return failures == 0 ? 0 : 1;
}
