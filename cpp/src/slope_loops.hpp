// The loops over rows that linear steps spend their time in, chosen for the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shaff {

struct Lanes;
struct CellGram;
struct CellRange;

// Neighbouring rows: the numbers of their cells (null when there is one cell), and what they have
// in the columns with slopes.
template <class Id>
struct SlopeBlock {
  const Id* number;
  const float* column[3];
  std::size_t n_slopes, size;
};

// Tables of sums are four after each other, `count` cells each, and rows take turns at them as in
// `sum_in_turns`. Blocks that follow each other give the sums of all their rows, to the bit, if
// their sizes are multiples of four, all but the last.
template <class Id>
struct SlopeLoops {
  void (*add_grams)(const SlopeBlock<Id>&, const double* weight, CellGram* tables,
                    std::size_t count);
  void (*add_residuals)(const SlopeBlock<Id>&, const double* weight, const double* residual,
                        Lanes* tables, std::size_t count);
  void (*take_steps)(const SlopeBlock<Id>&, const Lanes* steps, double* residual);
  // Brings what rows have within the ranges of their cells; `out` has a column after the other.
  void (*clip)(const SlopeBlock<Id>&, const CellRange* ranges, float* out);
};

// The fastest here.
template <class Id>
const SlopeLoops<Id>& slope_loops();

// Null where this build has none for AVX2.
const SlopeLoops<std::uint16_t>* slope_loops_avx2(std::uint16_t);
const SlopeLoops<std::uint32_t>* slope_loops_avx2(std::uint32_t);

}  // namespace shaff
