#pragma once

// Numbers as people type them, for CLI::Option::transform().

#include <CLI/Error.hpp>  // which Validators.hpp needs
#include <CLI/Validators.hpp>

#include <cstdint>

namespace emplace::cli {

/// Longest duration that a user may ask for, in seconds: about 30 years.
inline constexpr double kMaxDurationS = 1e9;

/// Returns what accepts a whole number from `least` to `most`, also written as 1e4.
CLI::Validator whole_number_from(std::int64_t least, std::int64_t most);

/// Returns what accepts a time above 0, or also 0, up to kMaxDurationS: 90, 90s, 2m or 1h. The
/// option gets seconds.
CLI::Validator duration(bool zero_too = false);

}  // namespace emplace::cli
