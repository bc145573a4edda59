#pragma once

#include <ctime>

namespace emplace::micro {

/// Returns the seconds of processor time that this process has taken, which other processes on the
/// machine do not lengthen.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace emplace::micro
