// A tree of three leaves worked out by hand: x0 <= 0 ? 1 : (x1 <= 0 ? 2 : 4).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "shaff/tree_expectation.hpp"

namespace {

int failures = 0;

void check(double actual, double expected, const char* what) {
  if (std::abs(actual - expected) < 1e-12) return;
  std::printf("%s: %g instead of %g\n", what, actual, expected);
  ++failures;
}

const std::vector<std::int64_t> left{1, -1, 3, -1, -1};
const std::vector<std::int64_t> right{2, -1, 4, -1, -1};
const std::vector<std::int64_t> feature{0, -2, 1, -2, -2};
std::vector<double> threshold{0, 0, 0, 0, 0};
const std::vector<std::uint8_t> missing_left{0, 0, 1, 0, 0};
const std::vector<double> cover{10, 4, 6, 3, 3};
const std::vector<double> value{0, 1, 0, 2, 4};
const shaff::ExpectationTree tree{left, right, feature, threshold, missing_left, cover, value};

const float missing = std::numeric_limits<float>::quiet_NaN();
// Two columns of four rows.
const std::vector<float> columns{-1, 1, 1, 1, /**/ 5, -1, 1, missing};
const std::vector<std::int32_t> all_rows{0, 1, 2, 3};

std::vector<double> expectation(std::vector<std::uint8_t> known,
                                const std::vector<std::int32_t>& background) {
  std::vector<double> sums(4, 0.0);
  shaff::add_tree_expectation(tree, {columns, 4, all_rows}, {columns, 4, {}},
                              {known, background, 1}, 1, sums, [] { return false; });
  return sums;
}

bool ends_when_interrupted() {
  std::vector<double> sums(4, 0.0);
  const std::vector<std::uint8_t> known{1, 1};
  return !shaff::add_tree_expectation(tree, {columns, 4, all_rows}, {columns, 4, {}},
                                      {known, {}, 1}, 1, sums, [] { return true; }) &&
         sums[0] == 0;
}

}  // namespace

int main() {
  const auto predictions = expectation({1, 1}, {});
  check(predictions[0], 1, "prediction, left");
  check(predictions[1], 2, "prediction, right left");
  check(predictions[2], 4, "prediction, right right");
  check(predictions[3], 2, "prediction, missing goes left");

  threshold[2] = missing;
  const auto no_threshold = expectation({1, 1}, {});
  check(no_threshold[1], 4, "prediction, no value is <= NaN");
  check(no_threshold[3], 2, "prediction, missing goes left of NaN");
  threshold[2] = 0;

  check(expectation({0, 0}, {})[0], 0.4 + 0.6 * 3, "nothing known, by cover");
  check(expectation({0, 1}, {})[1], 0.4 + 0.6 * 2, "x1 known, by cover");
  check(expectation({1, 0}, {})[1], 3, "x0 known, by cover");

  check(expectation({0, 0}, {0, 1, 2})[3], (1 + 2 + 4) / 3.0, "nothing known, background");
  check(expectation({0, 1}, {0, 1, 2})[2], (1 + 4 + 4) / 3.0, "x1 known, background");
  check(expectation({1, 0}, {0, 1, 1})[2], (4 + 2 + 2) / 3.0, "x0 known, repeated background");
  check(ends_when_interrupted(), 1, "interruption");
  return failures;
}
