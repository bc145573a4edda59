#pragma once

// Units of time, and the largest numbers that readers accept.

#include <cstdint>
#include <limits>

namespace emplace::bench {

inline constexpr double kMsPerS = 1e3;
inline constexpr double kUsPerMs = 1e3;
inline constexpr double kUsPerS = 1e6;
inline constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
inline constexpr double kMaxNumber = std::numeric_limits<double>::max();

}  // namespace emplace::bench
