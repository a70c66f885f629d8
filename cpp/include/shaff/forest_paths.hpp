// Subset importance: how often a set of variables occurs along the paths of a forest.
#pragma once

#include <vector>

#include "shaff/forest.hpp"

namespace shaff {

struct SubsetCounts {
  std::vector<std::uint64_t> words;  // n_subsets x n_words, in order of first occurrence
  std::vector<std::int64_t> counts;  // number of root-to-leaf paths with this prefix set
};

// Fills `counted`. Returns false if interrupted.
bool count_path_subsets(const ForestShape& forest, std::size_t n_words, SubsetCounts& counted,
                        const Interrupted& interrupted);

}  // namespace shaff
