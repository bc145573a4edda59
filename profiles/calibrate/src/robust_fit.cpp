#include "robust_fit.hpp"

#include <emplace/base/elementary.hpp>
#include <emplace/calibrate/fit.hpp>

#include <algorithm>
#include <optional>

namespace emplace::calibrate {
namespace {

// Pivots below this part of their diagonal are rounding errors.
constexpr double kSingular = 1e-12;

// The least ratio of predicted to measured that is told from a smaller one.
constexpr double kLeastRatio = 1e-9;

// The normal equations: matrix * x = right.
struct NormalEquations {
  std::array<Triple, 3> matrix{};
  Triple right{};
};

// Solves for the unknowns in the set of bits `free`, the others at their bounds, by elimination
// with diagonal pivots, which is stable for such a matrix; returns nothing if it is singular.
std::optional<Triple> solve_free(NormalEquations normal, unsigned free, const Triple& lower) {
  auto& [matrix, right] = normal;
  const std::array<Triple, 3> original = matrix;
  Triple x = lower;
  std::vector<std::size_t> unknowns;
  for (std::size_t unknown = 0; unknown < x.size(); ++unknown) {
    if ((free >> unknown & 1U) != 0) {
      unknowns.push_back(unknown);
      x[unknown] = 0;
    }
  }
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) {
      right[row] -= original[row][column] * x[column];
    }
  }
  for (auto pivot = unknowns.begin(); pivot != unknowns.end(); ++pivot) {
    const std::size_t p = *pivot;
    if (!(matrix[p][p] > kSingular * original[p][p])) {
      return std::nullopt;
    }
    for (auto row = pivot + 1; row != unknowns.end(); ++row) {
      const double factor = matrix[*row][p] / matrix[p][p];
      for (auto column = pivot; column != unknowns.end(); ++column) {
        matrix[*row][*column] -= factor * matrix[p][*column];
      }
      right[*row] -= factor * right[p];
    }
  }
  for (auto row = unknowns.rbegin(); row != unknowns.rend(); ++row) {
    double rest = right[*row];
    for (auto column = row.base(); column != unknowns.end(); ++column) {
      rest -= matrix[*row][*column] * x[*column];
    }
    x[*row] = rest / matrix[*row][*row];
  }
  return x;
}

// The sum of squares, but for a constant.
double objective(const NormalEquations& normal, const Triple& x) {
  double sum = 0;
  for (std::size_t row = 0; row < x.size(); ++row) {
    sum += x[row] * (dot(normal.matrix[row], x) - 2 * normal.right[row]);
  }
  return sum;
}

}  // namespace

double dot(const Triple& a, const Triple& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double huber_loss(double error) {
  const double size = std::abs(error);
  return size <= kHuberBound ? size * size / 2 : kHuberBound * (size - kHuberBound / 2);
}

double huber_weight(double error) {
  const double size = std::abs(error);
  return size <= kHuberBound ? 1 : kHuberBound / size;
}

LogError::LogError(double ratio) {
  ratio = std::max(ratio, kLeastRatio);
  const double error = log_of(ratio);
  loss = huber_loss(error);
  if (ratio != 1) {
    weight = huber_weight(error) * error / (ratio * (ratio - 1));
  }
}

Triple solve_bounded(std::span<const Triple> equations, std::span<const double> weights,
                     const Triple& lower) {
  NormalEquations normal;
  for (std::size_t at = 0; at < equations.size(); ++at) {
    for (std::size_t row = 0; row < lower.size(); ++row) {
      const double weighted = weights[at] * equations[at][row];
      for (std::size_t column = 0; column < lower.size(); ++column) {
        normal.matrix[row][column] += weighted * equations[at][column];
      }
      normal.right[row] += weighted;
    }
  }
  Triple best = lower;
  double least = objective(normal, lower);
  for (unsigned free = 1; free < 1U << lower.size(); ++free) {
    const std::optional<Triple> x = solve_free(normal, free, lower);
    if (x && (*x)[0] >= lower[0] && (*x)[1] >= lower[1] && (*x)[2] >= lower[2]) {
      const double value = objective(normal, *x);
      if (value < least) {
        least = value;
        best = *x;
      }
    }
  }
  return best;
}

}  // namespace emplace::calibrate
