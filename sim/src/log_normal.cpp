#include "log_normal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace emplace {
namespace {

constexpr double kMaxNormal = 7;

// ln 2 in two parts; the first has so few bits that a small integer times it is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

// x = m 2^e with m between sqrt(1/2) and sqrt(2), and ln m = 2 artanh w with w = (m - 1) / (m + 1),
// |w| < 0.172: the series w + w^3 / 3 + w^5 / 5 + ... is cut off below 1e-18 of its sum.
double log_by_basic_operations(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double w = (mantissa - 1) / (mantissa + 1);
  double tail = 0;
  for (int term = 23; term > 1; term -= 2) {
    tail = (tail + 1.0 / term) * (w * w);
  }
  return exponent * kLn2High + (exponent * kLn2Low + 2 * (w + w * tail));
}

// x = k ln 2 + r with |r| <= ln(2) / 2: the Taylor series of e^r is cut off below 1e-17.
double exp_by_basic_operations(double x) {
  const double k = std::floor(x / std::numbers::ln2 + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int term = 14; term > 0; --term) {
    sum = 1 + sum * (r / term);
  }
  return std::ldexp(sum, static_cast<int>(k));
}

// Marsaglia's polar method: two at a time.
void draw_normals(RandomStream& random, std::span<double> normals) {
  for (std::size_t at = 0; at < normals.size(); at += 2) {
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2 * random.uniform() - 1;
      y = 2 * random.uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double stretch = std::sqrt(-2 * log_by_basic_operations(square) / square);
    normals[at] = std::clamp(x * stretch, -kMaxNormal, kMaxNormal);
    if (at + 1 < normals.size()) {
      normals[at + 1] = std::clamp(y * stretch, -kMaxNormal, kMaxNormal);
    }
  }
}

// If ln F is normal with variance v and mean -v / 2, then F has mean 1 and variance e^v - 1.
LogNormal::LogNormal(double standard_deviation) {
  const double variance = log_by_basic_operations(1 + standard_deviation * standard_deviation);
  scale_ = std::sqrt(variance);
  shift_ = -variance / 2;
}

double LogNormal::factor(double normal) const {
  return exp_by_basic_operations(scale_ * normal + shift_);
}

}  // namespace emplace
