// Random trees on random rank-coded rows, owned here and shown to the core as views.
#pragma once

#include <random>
#include <vector>

#include "shaff/forest.hpp"

namespace shaff::testing {

struct RandomForest {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> feature, left, right;
  std::vector<std::uint32_t> cut;
  std::vector<std::uint8_t> missing_left;

  ForestView view() const { return {offsets, {feature, cut, left, right, missing_left}}; }
  ForestShape shape() const { return {offsets, {feature, left, right}}; }

  // Splits at random until `depth` or by chance; children follow their parents.
  void add_tree(std::mt19937& rng, int n_features, std::uint32_t n_codes, int depth) {
    const std::size_t first = feature.size();
    std::vector<int> depths{0};
    add_node();
    for (std::size_t node = 0; node < depths.size(); ++node) {
      if (depths[node] >= depth || (node > 0 && rng() % 8 == 0)) continue;
      const std::size_t at = first + node;
      feature[at] = static_cast<std::int32_t>(rng() % static_cast<unsigned>(n_features));
      cut[at] = static_cast<std::uint32_t>(rng() % (n_codes + 1));
      missing_left[at] = rng() % 2;
      left[at] = static_cast<std::int32_t>(depths.size());
      right[at] = left[at] + 1;
      for (int child = 0; child < 2; ++child) {
        depths.push_back(depths[node] + 1);
        add_node();
      }
    }
    offsets.push_back(static_cast<std::int64_t>(feature.size()));
  }

 private:
  void add_node() {
    feature.push_back(-1);
    left.push_back(-1);
    right.push_back(-1);
    cut.push_back(0);
    missing_left.push_back(0);
  }
};

}  // namespace shaff::testing
