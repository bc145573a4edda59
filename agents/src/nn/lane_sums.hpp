#pragma once

// Sums over the lanes of vectors of `kBytes` bytes, in an order that does not depend on `kBytes`,
// so that all processors get the same bits. See kernel_loops.hpp for what may be included here.

#include "matrix.hpp"
#include "vector_math.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

template <class Scalar, std::size_t kBytes>
struct LaneSums {
  using Vector = typename VectorMath<Scalar, kBytes>::Vector;

  static constexpr std::size_t kWidth = kBytes / sizeof(Scalar);
  static constexpr std::size_t kParts = kLanes / kWidth;  // vectors for the 16 rows of a panel

  // Adds up the 16 lanes, each with its neighbour 8, 4, 2 and 1 further.
  static Scalar sum_of_lanes(const Vector (&vectors)[kParts]) {
    Scalar lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = vectors[lane / kWidth][lane % kWidth];
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

  // Sets the sums of lanes of kCount vectors of 16 numbers, a power of two, in the same order.
  template <std::size_t kCount>
  [[gnu::always_inline]] static void sums_of_lanes(Vector (&numbers)[kCount][kParts],
                                                   Scalar (&sums)[kCount]) {
    Vector halved[kCount];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 4
      for (std::size_t half = kParts / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (std::size_t part = 0; part < half; ++part) {
          numbers[i][part] += numbers[i][part + half];
        }
      }
      halved[i] = numbers[i][0];
    }
    alignas(kBytes) Scalar lanes[kCount < kWidth ? kWidth : kCount];
    halve_blocks<kWidth>(halved, lanes);
    for (std::size_t i = 0; i < kCount; ++i) {
      sums[i] = lanes[i];
    }
  }

 private:
  // The lanes 0 to kCount - 1, as std::index_sequence.
  template <std::size_t... kLane>
  struct Lanes {};
  template <std::size_t kCount, std::size_t... kLane>
  struct LanesUpTo : LanesUpTo<kCount - 1, kCount - 1, kLane...> {};
  template <std::size_t... kLane>
  struct LanesUpTo<0, kLane...> {
    using Type = Lanes<kLane...>;
  };

  // Adds the halves of blocks of kBlock lanes, those of two vectors into one, until each block is
  // one lane; blocks stay in their order.
  template <std::size_t kBlock, std::size_t kCount>
  [[gnu::always_inline]] static void halve_blocks(const Vector (&blocks)[kCount], Scalar* sums) {
    if constexpr (kBlock > 1) {
      constexpr std::size_t kHalf = kCount > 1 ? kCount / 2 : 1;
      Vector halved[kHalf];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kHalf; ++i) {
        halved[i] = halves_added<kBlock>(blocks[2 * i < kCount ? 2 * i : 0],
                                         blocks[2 * i + 1 < kCount ? 2 * i + 1 : 0],
                                         typename LanesUpTo<kWidth>::Type{});
      }
      halve_blocks<kBlock / 2>(halved, sums);
    } else {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kCount; ++i) {
        reinterpret_cast<Vector*>(sums)[i] = blocks[i];
      }
    }
  }

  template <std::size_t kBlock, std::size_t... kLane>
  [[gnu::always_inline]] static Vector halves_added(Vector a, Vector b, Lanes<kLane...>) {
    constexpr std::size_t kHalf = kBlock / 2;
    return __builtin_shufflevector(a, b, (kLane / kHalf * kBlock + kLane % kHalf)...) +
           __builtin_shufflevector(a, b, (kLane / kHalf * kBlock + kLane % kHalf + kHalf)...);
  }
};

}  // namespace
}  // namespace emplace::agents::nn
