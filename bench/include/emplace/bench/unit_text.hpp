#pragma once

#include <string>

namespace emplace::bench {

/// Returns a time in the unit in which it is easy to read: "1.23 ms", "2.5 h".
std::string time_text(double us);

/// Returns a size in the unit in which it is easy to read: "1.23 MB".
std::string bytes_text(double bytes);

}  // namespace emplace::bench
