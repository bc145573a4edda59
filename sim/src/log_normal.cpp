#include "log_normal.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

constexpr double kMaxNormal = 7;

}  // namespace

void draw_normals(RandomStream& random, std::span<double> normals) {
  for (std::size_t at = 0; at < normals.size(); at += 2) {
    const auto [first, second] = random.normal_pair();
    normals[at] = std::clamp(first, -kMaxNormal, kMaxNormal);
    if (at + 1 < normals.size()) {
      normals[at + 1] = std::clamp(second, -kMaxNormal, kMaxNormal);
    }
  }
}

// If ln F is normal with variance v and mean -v / 2, then F has mean 1 and variance e^v - 1.
LogNormal::LogNormal(double standard_deviation) {
  const double variance = log_of(1 + standard_deviation * standard_deviation);
  scale_ = std::sqrt(variance);
  shift_ = -variance / 2;
}

double LogNormal::factor(double normal) const { return exp_of(scale_ * normal + shift_); }

}  // namespace emplace
