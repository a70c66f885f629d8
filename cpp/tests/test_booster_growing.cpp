// Trees on tables so small that their splits are plain to see.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "shaff/booster_growing.hpp"

namespace {

struct Table {
  std::vector<std::uint8_t> bins;
  std::vector<std::int32_t> n_bins;
  std::vector<std::uint8_t> categorical;
  std::vector<double> weight, residual;
  std::vector<float> values = {};

  shaff::BinnedRows view() const {
    return {bins, n_bins, categorical, weight, residual.size(), values};
  }
};

const shaff::GrowingOptions kOptions{1.0, 0.0, 1.0, 1, 2, 0, 1, 0};

shaff::GrownTrees grow(Table& table, const shaff::GrowingOptions& options = kOptions) {
  shaff::GrownTrees trees;
  CHECK(shaff::grow_trees(table.view(), options, table.residual, trees, [] { return false; }));
  return trees;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

void check_numeric_split() {
  Table table{{0, 1, 2, 3, 0, 0, 1, 1}, {4, 2}, {0, 0}, {}, {-1, -1, 2, 2}};
  const shaff::GrownTrees trees = grow(table);
  CHECK(trees.feature == (std::vector<std::int32_t>{0, -1, -1}));
  CHECK(trees.cut[0] == 1 && trees.left[0] == 1 && trees.right[0] == 2);
  CHECK(near(trees.value[1], -1) && near(trees.value[2], 2));
  CHECK(near(trees.gain[0], 10) && trees.count[0] == 4);
  for (const double left : table.residual) CHECK(near(left, 0));
}

// Missing values are bin 2 of column 0; they are like the small ones.
void check_missing_values_go_left() {
  Table table{{0, 0, 1, 1, 2, 2}, {2}, {0}, {}, {-1, -1, 1, 1, -1, -1}};
  const shaff::GrownTrees trees = grow(table);
  CHECK(trees.cut[0] == 0 && trees.missing_left[0] == 1 && trees.count[1] == 4);
}

void check_missing_values_alone() {
  Table table{{0, 0, 1, 1, 2, 2}, {2}, {0}, {}, {1, 1, 1, 1, -5, -5}};
  const shaff::GrownTrees trees = grow(table);
  CHECK(trees.cut[0] == 1 && trees.missing_left[0] == 0 && trees.count[1] == 4);
}

// Of four categories of ten rows the first and the last differ from the others.
void check_categories() {
  Table table{{}, {4}, {1}, {}, {}};
  for (std::uint8_t row = 0; row < 40; ++row) {
    table.bins.push_back(row % 4);
    table.residual.push_back(row % 4 == 0 || row % 4 == 3 ? 1.0 : -1.0);
  }
  const shaff::GrownTrees trees = grow(table);
  CHECK(trees.category_set[0] == 0 && trees.set_words.size() == shaff::kSetWords);
  CHECK(trees.set_words[0] == 0b1001 && trees.count[1] == 20);
}

void check_weights_move_the_means() {
  Table table{{0, 0, 1, 1}, {2}, {0}, {3, 1, 1, 1}, {1, 5, -1, -3}};
  const shaff::GrownTrees trees = grow(table, {0.5, 1.0, 1.0, 1, 2, 0, 1, 0});
  CHECK(near(trees.value[1], 0.5 * 8 / 5) && near(trees.value[2], 0.5 * -4 / 3));
  CHECK(near(table.residual[0], 1 - 0.8));
}

Table random_table(std::size_t n_rows, std::size_t n_columns) {
  std::mt19937 rng(0);
  Table table;
  for (std::size_t j = 0; j < n_columns; ++j) {
    // Column 0 has all bins, and missing values; the last has one bin only.
    const std::size_t n_bins = j == 0 ? shaff::kMaxBins : j + 1 == n_columns ? 1 : 3 + 7 * j;
    table.n_bins.push_back(static_cast<std::int32_t>(n_bins));
    table.categorical.push_back(j == 2);
    for (std::size_t i = 0; i < n_rows; ++i)
      table.bins.push_back(static_cast<std::uint8_t>(rng() % (n_bins + (j < 3))));
  }
  for (std::size_t i = 0; i < n_rows; ++i)
    table.residual.push_back(table.bins[i] * 0.01 + static_cast<double>(rng() % 100) * 0.01);
  return table;
}

void check_rules(bool weighted) {
  Table table = random_table(500, 6);
  if (weighted) table.weight.assign(500, 0.25);
  const shaff::GrownTrees trees = grow(table, {0.1, 1.0, 0.5, 20, 9, 0, 12, 7});
  CHECK(trees.tree_offset.size() == 13);
  for (std::size_t node = 0; node < trees.feature.size(); ++node) {
    CHECK(trees.count[node] >= 20 && trees.feature[node] < 5);
    if (trees.feature[node] < 0) continue;
    const auto left = static_cast<std::size_t>(trees.left[node]);
    const auto right = static_cast<std::size_t>(trees.right[node]);
    CHECK(left > node && right > left);
    CHECK(near(trees.count[left] + trees.count[right], trees.count[node]));
  }
  for (std::size_t t = 0; t < 12; ++t) CHECK(trees.tree_offset[t + 1] - trees.tree_offset[t] <= 17);
}

void check_growth_goes_on() {
  Table once = random_table(300, 5), twice = once;
  const shaff::GrownTrees whole = grow(once, {0.1, 1.0, 0.5, 5, 9, 0, 6, 7});
  grow(twice, {0.1, 1.0, 0.5, 5, 9, 0, 4, 7});
  const shaff::GrownTrees rest = grow(twice, {0.1, 1.0, 0.5, 5, 9, 4, 2, 7});
  CHECK(once.residual == twice.residual);
  CHECK(std::equal(rest.value.rbegin(), rest.value.rend(), whole.value.rbegin()));
}

// A jump by column 0, and a line along column 1 on each side of it: only columns of the tree have
// slopes.
void check_linear_leaves(bool split_on_line) {
  Table table{{}, {2, 8}, {0, 0}, {}, {}};
  for (std::uint8_t i = 0; i < 64; ++i) table.bins.push_back(i % 2);
  for (std::uint8_t i = 0; i < 64; ++i) table.bins.push_back(i / 8);
  for (std::size_t i = 0; i < 128; ++i) table.values.push_back(static_cast<float>(table.bins[i]));
  for (std::size_t i = 0; i < 64; ++i)
    table.residual.push_back(table.bins[i] * 100.0 + table.bins[64 + i]);
  const std::size_t n_leaves = split_on_line ? 4 : 2;
  const shaff::GrownTrees trees = grow(table, {1.0, 0.0, 1.0, 1, n_leaves, 0, 1, 0, 1e-9});
  CHECK(trees.feature[0] == 0 && near(trees.value[1], split_on_line ? 0 : 3.5));
  const double left_over = std::abs(table.residual[0]);
  CHECK(split_on_line ? left_over < 1e-6 : near(left_over, 3.5));
}

void check_interruption() {
  Table table = random_table(100, 4);
  shaff::GrownTrees trees;
  CHECK(!shaff::grow_trees(table.view(), {0.1, 1.0, 1.0, 5, 9, 0, 6, 7}, table.residual, trees,
                           [] { return true; }));
}

// No rows, one row, no column: trees of a leaf.
void check_nothing_to_split() {
  for (Table table : {Table{{}, {2}, {0}, {}, {}}, Table{{1}, {2}, {0}, {}, {3.0}},
                      Table{{}, {}, {}, {}, {1.0, 2.0}}}) {
    const shaff::GrownTrees trees = grow(table);
    CHECK(trees.feature == std::vector<std::int32_t>{-1} && trees.value[0] == 0);
  }
}

}  // namespace

int main() {
  check_numeric_split();
  check_missing_values_go_left();
  check_missing_values_alone();
  check_categories();
  check_weights_move_the_means();
  check_rules(false);
  check_rules(true);
  check_growth_goes_on();
  check_linear_leaves(false);
  check_linear_leaves(true);
  check_interruption();
  check_nothing_to_split();
}
