// Comparisons of up to 64 rows at once: the result is a bit mask, a bit per row.
//
// Values are read 64 at a time from addresses that are multiples of 64 * sizeof(Value), whether or
// not so many rows are there: the tables of values have whole words of places.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
// Every x86-64 processor has SSE2; MSVC has no macro that says so. SHAFF_NO_SIMD makes the build
// that other processors have, so that it can be tested on this one.
#if !defined(SHAFF_NO_SIMD) && (defined(__SSE2__) || (defined(_MSC_VER) && defined(_M_X64)))
#define SHAFF_SSE2
#include <immintrin.h>
#endif

#include "tree_data.hpp"

namespace shaff {
namespace {  // a copy per build: see kernel.hpp

// Number of the lowest bit; 64 for 0.
inline std::uint32_t first_bit(std::uint64_t word) {
#if defined(SHAFF_SSE2) && defined(__BMI__)
  return static_cast<std::uint32_t>(_tzcnt_u64(word));
#elif defined(__GNUC__)
  return word == 0 ? 64 : static_cast<std::uint32_t>(__builtin_ctzll(word));
#else  // library templates only where there is one build
  return static_cast<std::uint32_t>(std::countr_zero(word));
#endif
}

inline std::uint32_t count_bits(std::uint64_t word) {
#if defined(__GNUC__)
  return static_cast<std::uint32_t>(__builtin_popcountll(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}

#if defined(SHAFF_SSE2) && defined(__AVX2__)
inline std::uint64_t less_mask(const std::int8_t* value, std::int8_t cut) {
  const __m256i limit = _mm256_set1_epi8(cut);
  const auto* at = reinterpret_cast<const __m256i*>(value);
  const __m256i first = _mm256_cmpgt_epi8(limit, _mm256_load_si256(at));
  const __m256i second = _mm256_cmpgt_epi8(limit, _mm256_load_si256(at + 1));
  const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(first));
  const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(second));
  return static_cast<std::uint64_t>(high) << 32 | low;
}
inline std::uint64_t less_mask(const std::int16_t* value, std::int16_t cut) {
  const __m256i limit = _mm256_set1_epi16(cut);
  std::uint64_t mask = 0;
  for (int k = 0; k < 2; ++k) {
    const auto* at = reinterpret_cast<const __m256i*>(value + 32 * k);
    const __m256i first = _mm256_cmpgt_epi16(limit, _mm256_load_si256(at));
    const __m256i second = _mm256_cmpgt_epi16(limit, _mm256_load_si256(at + 1));
    // The pack works within 128-bit lanes; the permutation restores the order of the rows.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xD8);
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(packed)))
            << (32 * k);
  }
  return mask;
}
inline std::uint64_t less_mask(const std::int32_t* value, std::int32_t cut) {
  const __m256i limit = _mm256_set1_epi32(cut);
  std::uint64_t mask = 0;
  for (int k = 0; k < 8; ++k) {
    const __m256i less =
        _mm256_cmpgt_epi32(limit, _mm256_load_si256(reinterpret_cast<const __m256i*>(value) + k));
    mask |= static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(less))) << (8 * k);
  }
  return mask;
}
#elif defined(SHAFF_SSE2)
inline std::uint64_t less_mask(const std::int8_t* value, std::int8_t cut) {
  const __m128i limit = _mm_set1_epi8(cut);
  std::uint64_t mask = 0;
  for (int k = 0; k < 4; ++k) {
    const auto* at = reinterpret_cast<const __m128i*>(value + 16 * k);
    const int less = _mm_movemask_epi8(_mm_cmplt_epi8(_mm_load_si128(at), limit));
    mask |= static_cast<std::uint64_t>(less) << (16 * k);
  }
  return mask;
}
inline std::uint64_t less_mask(const std::int16_t* value, std::int16_t cut) {
  const __m128i limit = _mm_set1_epi16(cut);
  std::uint64_t mask = 0;
  for (int k = 0; k < 4; ++k) {
    const auto* at = reinterpret_cast<const __m128i*>(value + 16 * k);
    const __m128i first = _mm_cmplt_epi16(_mm_load_si128(at), limit);
    const __m128i second = _mm_cmplt_epi16(_mm_load_si128(at + 1), limit);
    mask |= static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_packs_epi16(first, second)))
            << (16 * k);
  }
  return mask;
}
inline std::uint64_t less_mask(const std::int32_t* value, std::int32_t cut) {
  const __m128i limit = _mm_set1_epi32(cut);
  std::uint64_t mask = 0;
  for (int k = 0; k < 16; ++k) {
    const __m128i less =
        _mm_cmplt_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(value) + k), limit);
    mask |= static_cast<std::uint64_t>(_mm_movemask_ps(_mm_castsi128_ps(less))) << (4 * k);
  }
  return mask;
}
#else
template <class Value>
std::uint64_t less_mask(const Value* value, Value cut) {
  std::uint64_t mask = 0;
  for (std::size_t k = 0; k < kBlock; ++k) mask |= static_cast<std::uint64_t>(value[k] < cut) << k;
  return mask;
}
#endif

// Rows come in groups of so many values, which are read at once.
template <class Value>
inline constexpr std::size_t kGroup = 1;

// From rows to columns: out[c * 2 * kBlock + k] = value c of row rows[k]. Reads and writes full
// groups of rows, some of them past the last: `rows` has kListSlack numbers more, of rows that the
// table has (tree_data.hpp), and `out` has room for kBlock rows, a multiple of every group.
template <class Value>
void transpose_rows(const Value* table, const std::uint32_t* rows, std::uint32_t n_rows,
                    Value* out) {
  for (std::uint32_t k = 0; k < n_rows; ++k) out[k] = table[rows[k]];
}

#if defined(SHAFF_SSE2)
template <>
inline constexpr std::size_t kGroup<std::int8_t> = 16;
template <>
inline constexpr std::size_t kGroup<std::int16_t> = 8;
static_assert(kGroup<std::int8_t> <= kListSlack && kBlock % kGroup<std::int8_t> == 0);

inline void interleave(std::int8_t, __m128i a, __m128i b, __m128i* out) {
  out[0] = _mm_unpacklo_epi8(a, b);
  out[1] = _mm_unpackhi_epi8(a, b);
}
inline void interleave(std::int16_t, __m128i a, __m128i b, __m128i* out) {
  out[0] = _mm_unpacklo_epi16(a, b);
  out[1] = _mm_unpackhi_epi16(a, b);
}

// Rounds that interleave row i with row i + size / 2 turn `size` rows into as many columns.
template <class Value>
void transpose(__m128i* rows) {
  constexpr int size = kGroup<Value>, half = size / 2;
  __m128i turned[size];
  for (int width = size; width > 1; width /= 2) {
    for (int i = 0; i < half; ++i) interleave(Value{}, rows[i], rows[i + half], turned + 2 * i);
    for (int i = 0; i < size; ++i) rows[i] = turned[i];
  }
}

template <class Value>
void transpose_groups(const Value* table, const std::uint32_t* rows, std::uint32_t n_rows,
                      Value* out) {
  constexpr int size = kGroup<Value>;
  for (std::uint32_t k = 0; k < n_rows; k += size) {
    __m128i tile[size];
    for (int i = 0; i < size; ++i)
      tile[i] = _mm_load_si128(reinterpret_cast<const __m128i*>(table) + rows[k + i]);
    transpose<Value>(tile);
    for (int c = 0; c < size; ++c)
      _mm_store_si128(reinterpret_cast<__m128i*>(out + c * 2 * kBlock + k), tile[c]);
  }
}

// The way there: a group of columns, `n_rows` apart, to rows.
template <class Value>
void group_rows(const Value* columns, std::size_t n_rows, Value* table) {
  constexpr int size = kGroup<Value>;
  for (std::size_t k = 0; k < n_rows; k += size) {
    __m128i tile[size];
    for (int c = 0; c < size; ++c)
      tile[c] = _mm_load_si128(reinterpret_cast<const __m128i*>(columns + c * n_rows + k));
    transpose<Value>(tile);
    for (int i = 0; i < size; ++i)
      _mm_store_si128(reinterpret_cast<__m128i*>(table + k * size) + i, tile[i]);
  }
}

template <>
inline void transpose_rows(const std::int8_t* table, const std::uint32_t* rows,
                           std::uint32_t n_rows, std::int8_t* out) {
  transpose_groups(table, rows, n_rows, out);
}
template <>
inline void transpose_rows(const std::int16_t* table, const std::uint32_t* rows,
                           std::uint32_t n_rows, std::int16_t* out) {
  transpose_groups(table, rows, n_rows, out);
}
#endif

}  // namespace
}  // namespace shaff
