#pragma once

// The first of the least of a few numbers, without a branch on which one it is: the next event of a
// simulation cannot be foreseen, and a mispredicted branch costs more than all the comparisons.

#include <bit>
#include <cstddef>
#include <limits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace emplace {

/// Numbers that are compared together; arrays are padded to a multiple of it with infinity.
inline constexpr std::size_t kEventBlock = 8;

#ifdef __SSE2__

// Loads two numbers one by one: one of them was mostly stored a moment ago, and a wide load of it
// would have to wait until that store has left the store buffer.
inline __m128d load_pair(const double* pair) { return _mm_loadh_pd(_mm_load_sd(pair), pair + 1); }

// Returns the least of a block and of `least`, in both halves.
inline __m128d least_of_block(const double* times, __m128d least) {
  const __m128d a = _mm_min_pd(load_pair(times), load_pair(times + 2));
  const __m128d b = _mm_min_pd(load_pair(times + 4), load_pair(times + 6));
  least = _mm_min_pd(least, _mm_min_pd(a, b));
  return _mm_min_pd(least, _mm_shuffle_pd(least, least, 1));
}

// Returns a bit for each number of a block that equals `least`.
inline unsigned equal_in_block(const double* times, __m128d least) {
  unsigned found = 0;
  for (unsigned pair = 0; pair < kEventBlock; pair += 2) {
    const __m128d equal = _mm_cmpeq_pd(load_pair(times + pair), least);
    found |= static_cast<unsigned>(_mm_movemask_pd(equal)) << pair;
  }
  return found;
}

/// Returns the position of the first of the least of `count` numbers, rounded up to whole blocks.
/// None is NaN.
inline std::size_t earliest(const double* times, std::size_t count) {
  __m128d least = least_of_block(times, _mm_set1_pd(std::numeric_limits<double>::infinity()));
  for (std::size_t at = kEventBlock; at < count; at += kEventBlock) {
    least = least_of_block(times + at, least);
  }
  std::size_t at = 0;
  unsigned found = equal_in_block(times, least);
  while (found == 0) {
    at += kEventBlock;
    found = equal_in_block(times + at, least);
  }
  return at + static_cast<std::size_t>(std::countr_zero(found));
}

#else

inline std::size_t earliest(const double* times, std::size_t count) {
  std::size_t first = 0;
  for (std::size_t at = 1; at < count; ++at) {
    first = times[at] < times[first] ? at : first;
  }
  return first;
}

#endif

}  // namespace emplace
