#pragma once

// The hyperbolic tangent and e^2x of whole vectors, from basic operations only: the same bits
// whatever the width of a vector, within a few units in the last place. A recurrent network with
// attention spends most of its time in them. See kernel_loops.hpp for what may be included here.
//
// e^2x = 2^n (1 + p) with p = e^r - 1 from its series in r = 2x - n ln 2, at most ln 2 / 2.
// tanh x = (e^2x - 1) / (e^2x + 1), where e^2x - 1 = 2^n p + (2^n - 1); near 0, n is 0 and no
// digits cancel.

#include <cstddef>
#include <cstdint>

namespace emplace::agents::nn {
namespace {

template <class Scalar>
struct MathConstants;

template <>
struct MathConstants<float> {
  using Integer = std::int32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kRounder = 0x1.8p23F;  // added and taken off, it leaves a whole number
  static constexpr float kMost = 9.1F;          // where the result is 1
  static constexpr float kLn2High = 0x1.62e4p-1F;
  static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
  static constexpr std::size_t kTerms = 7;  // the next is below 2^-25
};

template <>
struct MathConstants<double> {
  using Integer = std::int64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kRounder = 0x1.8p52;
  static constexpr double kMost = 20;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr std::size_t kTerms = 13;
};

template <class Scalar, std::size_t kBytes>
struct VectorMath {
  using Constants = MathConstants<Scalar>;
  using Vector [[gnu::vector_size(kBytes), gnu::may_alias]] = Scalar;
  using Integers [[gnu::vector_size(kBytes), gnu::may_alias]] = typename Constants::Integer;

  [[gnu::always_inline]] static Vector tanh(Vector x) {
    const Parts parts = parts_of(x, Constants::kMost);
    const Vector less_one = parts.power * parts.p + (parts.power - Scalar{1});
    return less_one / (less_one + Scalar{2});
  }

  // Returns e^2x, of x between -20 and 20, so that products of two are finite.
  [[gnu::always_inline]] static Vector exp_twice(Vector x) {
    const Parts parts = parts_of(x, Scalar{20});
    return parts.power * parts.p + parts.power;
  }

 private:
  struct Parts {
    Vector power;  // 2^n
    Vector p;
  };

  [[gnu::always_inline]] static Parts parts_of(Vector x, Scalar most) {
    constexpr Scalar kLog2E = static_cast<Scalar>(0x1.71547652b82fep+0);
    x = x > most ? Vector{} + most : x;  // NaN stays NaN
    x = x < -most ? Vector{} - most : x;
    const Vector z = x + x;
    const Vector shifted = z * kLog2E + Constants::kRounder;
    const Vector n = shifted - Constants::kRounder;
    const Vector r = (z - n * Constants::kLn2High) - n * Constants::kLn2Low;
    Vector sum = Vector{} + kSeries.inverse[Constants::kTerms];
#pragma GCC unroll 16
    for (std::size_t k = 1; k < Constants::kTerms; ++k) {
      sum = sum * r + kSeries.inverse[Constants::kTerms - k];
    }
    // The exponent of 1 plus n is that of 2^n.
    const Integers exponent = (reinterpret_cast<Integers>(shifted) -
                               reinterpret_cast<Integers>(Vector{} + Constants::kRounder))
                              << Constants::kMantissaBits;
    return {reinterpret_cast<Vector>(reinterpret_cast<Integers>(Vector{} + Scalar{1}) + exponent),
            sum * r};
  }

  // 1 / k!
  struct Series {
    Scalar inverse[Constants::kTerms + 1];
  };
  static constexpr Series kSeries = [] {
    Series series{};
    double factorial = 1;
    for (std::size_t k = 0; k <= Constants::kTerms; ++k) {
      factorial *= k == 0 ? 1.0 : static_cast<double>(k);
      series.inverse[k] = static_cast<Scalar>(1 / factorial);
    }
    return series;
  }();
};

}  // namespace
}  // namespace emplace::agents::nn
