#pragma once

// Whether two measures order the same things alike, which is what a search needs of a simulator.

#include <optional>
#include <span>

namespace emplace::bench {

/// Returns Kendall's tau-b of pairs (x[i], y[i]): 1 if both order all pairs alike, -1 if
/// oppositely; ties lower the number of pairs that count (Kendall 1945). Nothing if one of them has
/// only ties. O(n^2). Requires: as many x as y, none NaN.
std::optional<double> kendall_tau(std::span<const double> x, std::span<const double> y);

}  // namespace emplace::bench
