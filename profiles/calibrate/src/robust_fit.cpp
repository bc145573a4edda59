#include "robust_fit.hpp"

#include <emplace/base/elementary.hpp>
#include <emplace/calibrate/fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr std::size_t kUnknowns = 3;

// Pivots below this part of their diagonal are rounding errors.
constexpr double kSingular = 1e-12;

// The least ratio of predicted to measured that is told from a smaller one.
constexpr double kLeastRatio = 1e-9;

// The normal equations: matrix * x = right.
struct NormalEquations {
  std::array<Triple, kUnknowns> matrix{};
  Triple right{};
};

NormalEquations normal_equations(std::span<const Triple> equations,
                                 std::span<const double> weights) {
  NormalEquations normal;
  for (std::size_t at = 0; at < equations.size(); ++at) {
    for (std::size_t row = 0; row < kUnknowns; ++row) {
      const double weighted = weights[at] * equations[at][row];
      for (std::size_t column = 0; column < kUnknowns; ++column) {
        normal.matrix[row][column] += weighted * equations[at][column];
      }
      normal.right[row] += weighted;
    }
  }
  return normal;
}

// Solves for the unknowns in the set of bits `free`, the others at their bounds, by elimination
// with diagonal pivots, which is stable for such a matrix; returns nothing if it is singular.
std::optional<Triple> solve_free(NormalEquations normal, unsigned free, const Triple& lower) {
  const auto is_free = [free](std::size_t unknown) { return (free >> unknown & 1U) != 0; };
  const std::array<Triple, kUnknowns> original = normal.matrix;
  Triple x = lower;
  for (std::size_t row = 0; row < kUnknowns; ++row) {
    for (std::size_t column = 0; column < kUnknowns; ++column) {
      if (!is_free(column)) {
        normal.right[row] -= original[row][column] * lower[column];
      }
    }
  }
  for (std::size_t pivot = 0; pivot < kUnknowns; ++pivot) {
    if (!is_free(pivot)) {
      continue;
    }
    if (!(normal.matrix[pivot][pivot] > kSingular * original[pivot][pivot])) {
      return std::nullopt;
    }
    for (std::size_t row = pivot + 1; row < kUnknowns; ++row) {
      if (is_free(row)) {
        const double factor = normal.matrix[row][pivot] / normal.matrix[pivot][pivot];
        for (std::size_t column = pivot; column < kUnknowns; ++column) {
          normal.matrix[row][column] -= factor * normal.matrix[pivot][column];
        }
        normal.right[row] -= factor * normal.right[pivot];
      }
    }
  }
  for (std::size_t row = kUnknowns; row-- > 0;) {
    if (is_free(row)) {
      double rest = normal.right[row];
      for (std::size_t column = row + 1; column < kUnknowns; ++column) {
        if (is_free(column)) {
          rest -= normal.matrix[row][column] * x[column];
        }
      }
      x[row] = rest / normal.matrix[row][row];
    }
  }
  return x;
}

// The sum of squares, but for a constant.
double objective(const NormalEquations& normal, const Triple& x) {
  double sum = 0;
  for (std::size_t row = 0; row < kUnknowns; ++row) {
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
  error_ = log_of(ratio);
  if (ratio != 1) {
    weight_ = huber_weight(error_) * error_ / (ratio * (ratio - 1));
  }
}

Triple solve_bounded(std::span<const Triple> equations, std::span<const double> weights,
                     const Triple& lower) {
  const NormalEquations normal = normal_equations(equations, weights);
  Triple best = lower;
  double least = objective(normal, lower);
  for (unsigned free = 1; free < 1U << kUnknowns; ++free) {
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
