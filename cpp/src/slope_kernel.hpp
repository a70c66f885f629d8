// The loops of slope_loops.hpp: a row at a time, and, for AVX2, four rows at a time with the same
// bits.
//
// Compiled twice (portable and AVX2). Everything is in an unnamed namespace, and no function of
// another header is called, so that the linker can never mix the two builds.
#pragma once

#include "boosting_slopes.hpp"
#include "slope_loops.hpp"

#if !defined(SHAFF_NO_SIMD) && defined(__AVX2__)
#define SHAFF_SLOPES_AVX2
#include <immintrin.h>
#endif

namespace shaff {
namespace {

template <class Id>
std::size_t cell_of(const SlopeBlock<Id>& rows, std::size_t i) {
  return rows.number ? rows.number[i] : 0;
}

// What a row has in column `k` of the first `K`; 0 in others.
template <std::size_t K, class Id>
float value_at(const SlopeBlock<Id>& rows, std::size_t k, std::size_t i) {
  return k < K ? rows.column[k][i] : 0.0f;
}

template <std::size_t K, class Id>
void add_gram(const SlopeBlock<Id>& rows, std::size_t i, double weight, CellGram* table) {
  if (weight <= 0) return;
  CellGram& gram = table[cell_of(rows, i)];
  gram.sums.at[0] += weight;
  for (std::size_t j = 0; j < K; ++j) {
    const double scaled = weight * rows.column[j][i];
    gram.sums.at[1 + j] += scaled;
    for (std::size_t k = j; k < K; ++k)
      gram.product[kProductOf[j][k]] += scaled * rows.column[k][i];
  }
  for (std::size_t k = 0; k < kMaxSlopes; ++k) {
    const float x = value_at<K>(rows, k, i);
    float &low = gram.range.low.x[k], &high = gram.range.high.x[k];
    low = x < low ? x : low;
    high = high < x ? x : high;
  }
}

template <std::size_t K, class Id>
void add_residual(const SlopeBlock<Id>& rows, std::size_t i, double scale, Lanes* table) {
  Lanes& sums = table[cell_of(rows, i)];
  sums.at[0] += scale;
  for (std::size_t k = 0; k < K; ++k) sums.at[1 + k] += scale * rows.column[k][i];
}

template <std::size_t K, class Id>
void take_step(const SlopeBlock<Id>& rows, std::size_t i, const Lanes* steps, double* residual) {
  const Lanes& step = steps[cell_of(rows, i)];
  double sum = step.at[0];
  for (std::size_t k = 0; k < K; ++k) sum += step.at[1 + k] * rows.column[k][i];
  residual[i] -= sum;
}

template <std::size_t K, class Id>
void clip_row(const SlopeBlock<Id>& rows, std::size_t i, const CellRange* ranges, float* out) {
  const CellRange& range = ranges[cell_of(rows, i)];
  for (std::size_t k = 0; k < K; ++k) {
    const float low = range.low.x[k], high = range.high.x[k];
    const float x = rows.column[k][i] < low ? low : rows.column[k][i];
    out[k * rows.size + i] = high < x ? high : x;
  }
}

#if defined(SHAFF_SLOPES_AVX2)

// Four rows of four numbers for four columns of them, or the other way round.
struct Four {
  __m256d at[4];
};

inline Four transposed(const Four& m) {
  const __m256d a = _mm256_unpacklo_pd(m.at[0], m.at[1]), b = _mm256_unpackhi_pd(m.at[0], m.at[1]),
                c = _mm256_unpacklo_pd(m.at[2], m.at[3]), d = _mm256_unpackhi_pd(m.at[2], m.at[3]);
  return {{_mm256_permute2f128_pd(a, c, 0x20), _mm256_permute2f128_pd(b, d, 0x20),
           _mm256_permute2f128_pd(a, c, 0x31), _mm256_permute2f128_pd(b, d, 0x31)}};
}

inline void add_to(double* sums, __m256d row) {
  _mm256_store_pd(sums, _mm256_add_pd(_mm256_load_pd(sums), row));
}
inline void add_to(double* sums, __m128d row) {
  _mm_store_pd(sums, _mm_add_pd(_mm_load_pd(sums), row));
}

// Numbers `a` and `b` of row `t`, from all four rows.
inline __m128d pair_of(__m256d a, __m256d b, std::size_t t) {
  const __m256d pairs = t % 2 ? _mm256_unpackhi_pd(a, b) : _mm256_unpacklo_pd(a, b);
  return t / 2 ? _mm256_extractf128_pd(pairs, 1) : _mm256_castpd256_pd128(pairs);
}

template <std::size_t K, class Id>
__m128 narrow_values(const SlopeBlock<Id>& rows, std::size_t k, std::size_t i) {
  return k < K ? _mm_loadu_ps(rows.column[k] + i) : _mm_setzero_ps();
}

template <std::size_t K, class Id>
__m256d values(const SlopeBlock<Id>& rows, std::size_t k, std::size_t i) {
  return _mm256_cvtps_pd(narrow_values<K>(rows, k, i));
}

template <std::size_t K, class Id>
void add_four_residuals(const SlopeBlock<Id>& rows, std::size_t i, const double* weight,
                        const double* residual, Lanes* tables, std::size_t count) {
  const __m256d scale = _mm256_mul_pd(_mm256_loadu_pd(weight + i), _mm256_loadu_pd(residual + i));
  Four scaled{{scale}};
  for (std::size_t k = 0; k < kMaxSlopes; ++k)
    scaled.at[1 + k] = k < K ? _mm256_mul_pd(scale, values<K>(rows, k, i)) : _mm256_setzero_pd();
  const Four by_row = transposed(scaled);
  for (std::size_t t = 0; t < kTables; ++t) {
    double* sums = tables[t * count + rows.number[i + t]].at;
    if constexpr (K > 1)
      add_to(sums, by_row.at[t]);
    else
      add_to(sums, pair_of(scaled.at[0], scaled.at[1], t));
  }
}

// The halves of four steps from `at`: two numbers of rows 0 and 2, or of rows 1 and 3.
template <class Id>
__m256d step_pairs(const Lanes* steps, const Id* number, std::size_t at) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(steps[number[0]].at + at)),
                              _mm_load_pd(steps[number[2]].at + at), 1);
}

template <std::size_t K, class Id>
void take_four_steps(const SlopeBlock<Id>& rows, std::size_t i, const Lanes* steps,
                     double* residual) {
  const Id* number = rows.number + i;
  __m256d even = step_pairs(steps, number, 0), odd = step_pairs(steps, number + 1, 0);
  __m256d sum = _mm256_unpacklo_pd(even, odd);
  const auto add = [&](std::size_t k, __m256d slope) {
    sum = _mm256_add_pd(sum, _mm256_mul_pd(slope, values<K>(rows, k, i)));
  };
  if constexpr (K > 0) add(0, _mm256_unpackhi_pd(even, odd));
  if constexpr (K > 1) {
    even = step_pairs(steps, number, 2);
    odd = step_pairs(steps, number + 1, 2);
    add(1, _mm256_unpacklo_pd(even, odd));
  }
  if constexpr (K > 2) add(2, _mm256_unpackhi_pd(even, odd));
  _mm256_storeu_pd(residual + i, _mm256_sub_pd(_mm256_loadu_pd(residual + i), sum));
}

// Four weights above 0.
template <std::size_t K, class Id>
void add_four_grams(const SlopeBlock<Id>& rows, std::size_t i, __m256d weight, CellGram* tables,
                    std::size_t count) {
  __m256d x[kMaxSlopes], product[kProducts];
  Four sums{{weight}};
  for (std::size_t j = 0; j < kMaxSlopes; ++j) {
    x[j] = values<K>(rows, j, i);
    sums.at[1 + j] = _mm256_mul_pd(weight, x[j]);
  }
  for (std::size_t j = 0; j < kMaxSlopes; ++j)
    for (std::size_t k = j; k < kMaxSlopes; ++k)
      product[kProductOf[j][k]] = _mm256_mul_pd(sums.at[1 + j], x[k]);
  const Four first = transposed(sums),
             second = transposed({{product[0], product[1], product[2], product[3]}});
  __m128 value[4] = {narrow_values<K>(rows, 0, i), narrow_values<K>(rows, 1, i),
                     narrow_values<K>(rows, 2, i), _mm_setzero_ps()};
  _MM_TRANSPOSE4_PS(value[0], value[1], value[2], value[3]);
  for (std::size_t t = 0; t < kTables; ++t) {
    CellGram& gram = tables[t * count + rows.number[i + t]];
    add_to(gram.sums.at, first.at[t]);
    add_to(gram.product, second.at[t]);
    if constexpr (K > 2) add_to(gram.product + 4, pair_of(product[4], product[5], t));
    float *low = gram.range.low.x, *high = gram.range.high.x;
    _mm_store_ps(low, _mm_min_ps(value[t], _mm_load_ps(low)));
    _mm_store_ps(high, _mm_max_ps(value[t], _mm_load_ps(high)));
  }
}

// Each returns how many rows it has done: whole fours, if cells have numbers.
template <std::size_t K, class Id>
std::size_t add_fours_of_grams(const SlopeBlock<Id>& rows, const double* weight, CellGram* tables,
                               std::size_t count) {
  if (K == 0 || !rows.number) return 0;
  std::size_t i = 0;
  for (; i + kTables <= rows.size; i += kTables) {
    const __m256d four = _mm256_loadu_pd(weight + i);
    if (_mm256_movemask_pd(_mm256_cmp_pd(four, _mm256_setzero_pd(), _CMP_GT_OQ)) == 15)
      add_four_grams<K>(rows, i, four, tables, count);
    else
      for (std::size_t t = 0; t < kTables; ++t)
        add_gram<K>(rows, i + t, weight[i + t], tables + t * count);
  }
  return i;
}

template <std::size_t K, class Id>
std::size_t add_fours_of_residuals(const SlopeBlock<Id>& rows, const double* weight,
                                   const double* residual, Lanes* tables, std::size_t count) {
  if (K == 0 || !rows.number) return 0;
  std::size_t i = 0;
  for (; i + kTables <= rows.size; i += kTables)
    add_four_residuals<K>(rows, i, weight, residual, tables, count);
  return i;
}

template <std::size_t K, class Id>
std::size_t take_fours_of_steps(const SlopeBlock<Id>& rows, const Lanes* steps, double* residual) {
  if (K == 0 || !rows.number) return 0;
  std::size_t i = 0;
  for (; i + 4 <= rows.size; i += 4) take_four_steps<K>(rows, i, steps, residual);
  return i;
}

#else

template <std::size_t K, class Id>
std::size_t add_fours_of_grams(const SlopeBlock<Id>&, const double*, CellGram*, std::size_t) {
  return 0;
}
template <std::size_t K, class Id>
std::size_t add_fours_of_residuals(const SlopeBlock<Id>&, const double*, const double*, Lanes*,
                                   std::size_t) {
  return 0;
}
template <std::size_t K, class Id>
std::size_t take_fours_of_steps(const SlopeBlock<Id>&, const Lanes*, double*) {
  return 0;
}

#endif

// `add` gets the number of a table and a row, from row `i` on, of which four are in turn.
template <class Add>
void in_turns(std::size_t i, std::size_t n, Add add) {
  for (; i + kTables <= n; i += kTables)
    for (std::size_t t = 0; t < kTables; ++t) add(t, i + t);
  for (; i < n; ++i) add(std::size_t{0}, i);
}

// As many slopes as there are, at most three, for the compiler to know. `run` gets them as a type.
template <std::size_t K>
struct Slopes {};

template <class Run>
void with_slopes(std::size_t n_slopes, Run run) {
  if (n_slopes == 0) return run(Slopes<0>{});
  if (n_slopes == 1) return run(Slopes<1>{});
  if (n_slopes == 2) return run(Slopes<2>{});
  run(Slopes<3>{});
}

template <class Id>
void add_grams(const SlopeBlock<Id>& rows, const double* weight, CellGram* tables,
               std::size_t count) {
  with_slopes(rows.n_slopes, [&]<std::size_t K>(Slopes<K>) {
    in_turns(
        add_fours_of_grams<K>(rows, weight, tables, count), rows.size,
        [&](std::size_t t, std::size_t i) { add_gram<K>(rows, i, weight[i], tables + t * count); });
  });
}

template <class Id>
void add_residuals(const SlopeBlock<Id>& rows, const double* weight, const double* residual,
                   Lanes* tables, std::size_t count) {
  with_slopes(rows.n_slopes, [&]<std::size_t K>(Slopes<K>) {
    in_turns(add_fours_of_residuals<K>(rows, weight, residual, tables, count), rows.size,
             [&](std::size_t t, std::size_t i) {
               add_residual<K>(rows, i, weight[i] * residual[i], tables + t * count);
             });
  });
}

template <class Id>
void take_steps(const SlopeBlock<Id>& rows, const Lanes* steps, double* residual) {
  with_slopes(rows.n_slopes, [&]<std::size_t K>(Slopes<K>) {
    for (std::size_t i = take_fours_of_steps<K>(rows, steps, residual); i < rows.size; ++i)
      take_step<K>(rows, i, steps, residual);
  });
}

template <class Id>
void clip(const SlopeBlock<Id>& rows, const CellRange* ranges, float* out) {
  with_slopes(rows.n_slopes, [&]<std::size_t K>(Slopes<K>) {
    for (std::size_t i = 0; i < rows.size; ++i) clip_row<K>(rows, i, ranges, out);
  });
}

template <class Id>
constexpr SlopeLoops<Id> kSlopeLoops{&add_grams<Id>, &add_residuals<Id>, &take_steps<Id>,
                                     &clip<Id>};

}  // namespace
}  // namespace shaff
