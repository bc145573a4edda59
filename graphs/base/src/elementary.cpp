#include <emplace/base/elementary.hpp>

#include <cmath>
#include <limits>

namespace emplace {
namespace {

// ln 2 in two parts: a multiple of the first with a small whole number is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;

}  // namespace

double exp_of(double x) {
  if (x > 709.7) {
    return std::numeric_limits<double>::infinity();
  }
  if (x < -708) {
    return 0;
  }
  if (std::isnan(x)) {
    return x;
  }
  const double exponent = std::floor(x * kLog2E + 0.5);
  const double rest = (x - exponent * kLn2High) - exponent * kLn2Low;  // at most ln 2 / 2
  double sum = 1;
  for (int n = 14; n > 0; --n) {
    sum = 1 + sum * rest / n;
  }
  return std::ldexp(sum, static_cast<int>(exponent));
}

double log_of(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0x1.6a09e667f3bcdp-1) {  // sqrt(1/2)
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with |s| < 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int n = 23; n > 1; n -= 2) {
    sum = (sum + 1.0 / n) * (s * s);
  }
  return exponent * kLn2High + (2 * s * (1 + sum) + exponent * kLn2Low);
}

}  // namespace emplace
