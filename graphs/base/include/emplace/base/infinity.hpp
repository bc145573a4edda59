#pragma once

// What no time, cost or bound reaches.

#include <limits>

namespace emplace {

/// Is larger than any finite number.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace emplace
