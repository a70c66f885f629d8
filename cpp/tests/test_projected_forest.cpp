// The kernel against Algorithm 1 of the paper, word for word, one query row at a time.
//
// test_projected_forest [portable|avx2 one_byte|two_bytes|four_bytes]: that kernel, whatever the
// trees need. Without words: the kernels that the trees need, and that all kernels give their bits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "check.hpp"
#include "random_forest.hpp"
#include "shaff/projected_forest.hpp"

namespace {

template <class Code>
struct Problem {
  shaff::testing::RandomForest forest;
  std::size_t n_rows, n_features, n_outputs, n_subsets, n_words;
  std::vector<Code> codes;
  std::vector<std::uint8_t> has_missing, is_query;
  std::vector<std::uint16_t> bags;
  std::vector<double> row_weight, targets;
  std::vector<std::uint64_t> subsets;
  double min_node_size;
  std::vector<std::int64_t> rank_offset;
  std::vector<std::uint32_t> category_rank;
  std::size_t n_ranks = 0;

  Problem(unsigned seed, std::size_t rows, std::size_t features)
      : n_rows(rows), n_features(features) {
    std::mt19937 rng(seed);
    n_outputs = 1 + rng() % 2;
    n_subsets = 5;
    n_words = (n_features + 63) / 64;
    min_node_size = 1 + rng() % 6;
    const auto n_codes = static_cast<std::uint32_t>(1 + rng() % n_rows);  // ties when small
    const std::size_t n_trees = 3;
    for (std::size_t t = 0; t < n_trees; ++t)
      forest.add_tree(rng, static_cast<int>(n_features), n_codes, static_cast<int>(rng() % 9));
    fill_rows(rng, n_codes);
    fill_bags(rng, n_trees);
    if (seed % 2) fill_ranks(rng, n_trees, n_codes);
    subsets.assign(n_subsets * n_words, 0);
    for (std::size_t k = 0; k < n_subsets; ++k)
      for (std::size_t j = 0; j < n_features; ++j)
        if (rng() % n_subsets >= k) subsets[k * n_words + j / 64] |= std::uint64_t{1} << (j % 64);
  }

  void fill_rows(std::mt19937& rng, std::uint32_t n_codes) {
    for (std::size_t j = 0; j < n_features; ++j) {
      has_missing.push_back(rng() % 2);
      for (std::size_t i = 0; i < n_rows; ++i) {
        const bool missing = has_missing[j] && rng() % 5 == 0;
        codes.push_back(missing ? shaff::CodedRows<Code>::missing
                                : static_cast<Code>(rng() % n_codes));
      }
    }
  }

  void fill_bags(std::mt19937& rng, std::size_t n_trees) {
    bags.assign(n_trees * n_rows, 0);
    for (std::size_t t = 0; t < n_trees; ++t)
      for (std::size_t draw = 0; draw < n_rows; ++draw) ++bags[t * n_rows + rng() % n_rows];
    const bool weighted = rng() % 2;
    for (std::size_t i = 0; i < n_rows; ++i) {
      row_weight.push_back(weighted ? static_cast<double>(rng() % 4) : 1.0);
      is_query.push_back(rng() % 10 != 0);
    }
    for (std::size_t i = 0; i < n_rows * n_outputs; ++i)
      targets.push_back(static_cast<double>(rng() % 1000) / 250 - 2);
  }

  // Every second column holds categories, which each tree sees in an order of its own.
  void fill_ranks(std::mt19937& rng, std::size_t n_trees, std::uint32_t n_codes) {
    for (std::size_t j = 0; j < n_features; ++j)
      rank_offset.push_back(j % 2 ? -1 : static_cast<std::int64_t>(j / 2 * n_codes));
    n_ranks = (n_features + 1) / 2 * n_codes;
    for (std::size_t block = 0; block < n_trees * n_ranks / n_codes; ++block) {
      std::vector<std::uint32_t> order(n_codes);
      std::iota(order.begin(), order.end(), 0u);
      std::shuffle(order.begin(), order.end(), rng);
      category_rank.insert(category_rank.end(), order.begin(), order.end());
    }
  }

  bool goes_left(std::size_t t, std::size_t node, std::size_t row) const {
    const shaff::TreeView tree = forest.view().tree(t);
    const auto j = static_cast<std::size_t>(tree.feature[node]);
    const Code code = codes[j * n_rows + row];
    if (code == shaff::CodedRows<Code>::missing) return tree.missing_left[node] != 0;
    if (rank_offset.empty() || rank_offset[j] < 0) return code < tree.cut[node];
    const std::size_t at = t * n_ranks + static_cast<std::size_t>(rank_offset[j]) + code;
    return category_rank[at] < tree.cut[node];
  }

  double weight(std::size_t t, const std::vector<std::size_t>& kept) const {
    double total = 0;
    for (const std::size_t i : kept) total += bags[t * n_rows + i] * row_weight[i];
    return total;
  }

  // The in-bag rows that predict `query` in tree t.
  std::vector<std::size_t> cell(std::size_t t, std::size_t query,
                                std::span<const std::uint64_t> subset) const {
    const shaff::TreeView tree = forest.view().tree(t);
    std::vector<std::size_t> kept, level{0};
    for (std::size_t i = 0; i < n_rows; ++i)
      if (bags[t * n_rows + i] > 0) kept.push_back(i);
    while (!level.empty()) {
      std::vector<std::size_t> next;
      for (const std::size_t node : level) {
        if (tree.feature[node] < 0) continue;
        const auto left = static_cast<std::size_t>(tree.left[node]);
        const auto right = static_cast<std::size_t>(tree.right[node]);
        if (!shaff::contains(subset, tree.feature[node])) {
          next.insert(next.end(), {left, right});
          continue;
        }
        const bool side = goes_left(t, node, query);
        std::vector<std::size_t> same_side;
        for (const std::size_t i : kept)
          if (goes_left(t, node, i) == side) same_side.push_back(i);
        if (weight(t, same_side) < min_node_size) return kept;
        kept = same_side;
        next.push_back(side ? left : right);
      }
      level = next;
    }
    return kept;
  }
};

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

struct Sums {
  std::vector<double> sum, squares;
  bool operator==(const Sums&) const = default;
};

template <class Code>
Sums project(const Problem<Code>& p, shaff::Kernel kernel) {
  Sums sums;
  sums.sum.resize(p.n_subsets * p.n_rows * p.n_outputs);
  sums.squares.resize(sums.sum.size());
  const shaff::ProjectionInput input{p.forest.view(), p.bags,        p.row_weight,
                                     p.is_query,      p.targets,     p.n_outputs,
                                     p.min_node_size, p.rank_offset, p.category_rank};
  const shaff::CodedRows<Code> rows{p.codes, p.has_missing, p.n_rows};
  CHECK(shaff::project_forest(
      input, rows, 0, p.forest.view().n_trees(), p.subsets, p.n_words, sums.sum, sums.squares,
      [] { return false; }, kernel));
  return sums;
}

template <class Code>
void check_row(const Problem<Code>& p, const Sums& found, std::size_t k, std::size_t i) {
  const std::size_t n_trees = p.forest.view().n_trees();
  std::vector<double> expected(p.n_outputs, 0.0), expected_squares(p.n_outputs, 0.0);
  for (std::size_t t = 0; t < n_trees; ++t) {
    if (!p.is_query[i] || p.bags[t * p.n_rows + i] > 0) continue;
    const auto subset = std::span(p.subsets).subspan(k * p.n_words, p.n_words);
    const auto kept = p.cell(t, i, subset);
    for (std::size_t o = 0; o < p.n_outputs; ++o) {
      double mean = 0;
      for (const std::size_t r : kept)
        mean += p.bags[t * p.n_rows + r] * p.row_weight[r] * p.targets[r * p.n_outputs + o];
      mean /= p.weight(t, kept);
      expected[o] += mean;
      expected_squares[o] += mean * mean;
    }
  }
  for (std::size_t o = 0; o < p.n_outputs; ++o) {
    const std::size_t at = (k * p.n_rows + i) * p.n_outputs + o;
    CHECK(close(found.sum[at], expected[o]));
    CHECK(close(found.squares[at], expected_squares[o]));
  }
}

// All rows of small problems, every seventh of large ones.
template <class Code>
void check_against_algorithm_1(const Problem<Code>& p, shaff::Kernel kernel) {
  const Sums found = project(p, kernel);
  for (std::size_t k = 0; k < p.n_subsets; ++k)
    for (std::size_t i = 0; i < p.n_rows; i += p.n_rows > 500 ? 7 : 1) check_row(p, found, k, i);
}

template <class Check>
void each_problem(unsigned n_seeds, Check check) {
  for (unsigned seed = 0; seed < n_seeds; ++seed) {
    check(Problem<std::uint16_t>(seed, 60, 3));
    check(Problem<std::uint32_t>(seed, 60, 3));
    check(Problem<std::uint16_t>(seed, 12, 2));
    if (seed % 6 == 0) check(Problem<std::uint16_t>(seed, 250, 6));
    if (seed % 6 == 1) check(Problem<std::uint16_t>(seed, 150, 130));
  }
}

// Cells of every form: bit sets of many words, lists, blocks; and more cuts than one byte numbers.
Problem<std::uint16_t> large_problem() {
  Problem<std::uint16_t> problem(4, 1500, 2);
  std::mt19937 rng(7);
  problem.forest = {};
  for (int t = 0; t < 3; ++t) problem.forest.add_tree(rng, 2, 1500, 11);
  for (auto& code : problem.codes)
    if (code != shaff::CodedRows<std::uint16_t>::missing)
      code = static_cast<std::uint16_t>(rng() % 1500);
  problem.rank_offset.clear();
  return problem;
}

using Widths = std::vector<shaff::Width>;
const Widths kWidths{shaff::Width::one_byte, shaff::Width::two_bytes, shaff::Width::four_bytes};

void check_same_bits() {
  each_problem(12, [](const auto& problem) {
    const Sums expected = project(problem, {});
    for (const shaff::Width width : kWidths) {
      CHECK(project(problem, {shaff::Instructions::portable, width}) == expected);
      if (shaff::has_avx2_kernel())
        CHECK(project(problem, {shaff::Instructions::avx2, width}) == expected);
    }
  });
}

void check_too_narrow() {
  bool refused = false;
  try {
    project(large_problem(), {shaff::Instructions::fastest, shaff::Width::one_byte});
  } catch (const shaff::NoSuchKernel&) {
    refused = true;
  }
  CHECK(refused);
}

void check_interruption() {
  const Problem<std::uint16_t> p(0, 60, 3);
  std::vector<double> sum(p.n_subsets * p.n_rows * p.n_outputs), squares(sum.size());
  const shaff::ProjectionInput input{p.forest.view(), p.bags,      p.row_weight,   p.is_query,
                                     p.targets,       p.n_outputs, p.min_node_size};
  const shaff::CodedRows<std::uint16_t> rows{p.codes, p.has_missing, p.n_rows};
  CHECK(!shaff::project_forest(input, rows, 0, 3, p.subsets, p.n_words, sum, squares,
                               [] { return true; }));
  CHECK(std::all_of(sum.begin(), sum.end(), [](double x) { return x == 0; }));
}

shaff::Kernel kernel_named(std::string_view instructions, std::string_view width) {
  shaff::Kernel kernel;
  kernel.instructions =
      instructions == "avx2" ? shaff::Instructions::avx2 : shaff::Instructions::portable;
  kernel.width = width == "one_byte"    ? shaff::Width::one_byte
                 : width == "two_bytes" ? shaff::Width::two_bytes
                                        : shaff::Width::four_bytes;
  return kernel;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3) {
    const shaff::Kernel kernel = kernel_named(words[1], words[2]);
    if (kernel.instructions == shaff::Instructions::avx2 && !shaff::has_avx2_kernel()) return 77;
    each_problem(24, [=](const auto& problem) { check_against_algorithm_1(problem, kernel); });
    if (kernel.width != shaff::Width::one_byte) check_against_algorithm_1(large_problem(), kernel);
    return 0;
  }
  check_against_algorithm_1(large_problem(), {});
  check_same_bits();
  check_too_narrow();
  check_interruption();
}
