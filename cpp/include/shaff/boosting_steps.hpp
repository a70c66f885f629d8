// Projected boosting for rows that come later: the steps of all cells, learnt once from the
// training rows, which new rows only look up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "shaff/projected_boosting.hpp"

namespace shaff {

// Steps of one booster for some subsets and some learners. Nothing in it changes once it is made:
// any number of threads may predict at once.
class BoostingSteps {
 public:
  virtual ~BoostingSteps() = default;
  virtual std::size_t n_learners() const = 0;
  virtual std::size_t n_subsets() const = 0;
  virtual std::size_t n_columns() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool is_linear() const = 0;

  // Adds the steps of the rows, tree by tree, to `out` of shape (n_learners, n_subsets, n_rows).
  // Codes are column-major, and so are the values, which linear steps ask for. A cell that had no
  // training row has no step. Returns false if interrupted; `out` then holds some of the steps
  // only.
  virtual bool predict(std::span<const std::uint16_t> codes, std::span<const float> values,
                       std::size_t n_rows, std::span<double> out,
                       const Interrupted& interrupted) const = 0;
};

// Several learners of the same trees, which differ in the weights of the training rows (0: not one
// of its rows).
struct Learners {
  std::span<const double> weight;                // (n_learners, n_train)
  std::span<const double> shrinkage;             // of each
  std::span<const double> slope_shrinkage = {};  // of each, for linear steps

  std::size_t size() const { return shrinkage.size(); }
};

// The training rows, column-major; steps are linear where there are values.
struct TrainingRows {
  std::span<const std::uint16_t> codes;
  std::size_t n_rows;
  std::span<const float> values = {};
};

// Replays the trees as `replay_boosting` does, on training rows only, and keeps the steps. Ranges
// that later rows are clipped to are those of the rows with a weight for any of the learners.
//
// Subset u stops after its first n_trees[u] trees. `residual` holds the start's residuals of the
// training rows, shape (n_subsets, n_train). Predictions of a learner are those of the rows that
// ride along in its replay, to the bit. Null if interrupted.
std::unique_ptr<BoostingSteps> learn_boosting(const BoostedTrees& trees, const TrainingRows& rows,
                                              const Learners& learners, double learning_rate,
                                              std::span<const std::uint64_t> subsets,
                                              std::size_t words_per_subset,
                                              std::span<const std::int64_t> n_trees,
                                              std::span<const double> residual,
                                              const Interrupted& interrupted);

}  // namespace shaff
