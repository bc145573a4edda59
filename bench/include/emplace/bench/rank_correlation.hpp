#pragma once

// Measures whether two quantities order the same items in the same way. A search needs a simulator
// that orders placements as the real machine does.

#include <optional>
#include <span>

namespace emplace::bench {

/// Returns Kendall's tau-b (Kendall 1945) of the pairs (x[i], y[i]): 1 if both have the same order,
/// -1 if the order of one is the reverse of the other's; nothing if all x or all y are equal.
/// O(n^2). Requires: as many x as y, none NaN.
std::optional<double> kendall_tau(std::span<const double> x, std::span<const double> y);

}  // namespace emplace::bench
