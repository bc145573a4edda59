#pragma once

// Times as integers, and choices without branches, for loops whose branches a processor cannot
// predict: there a misprediction costs more than twenty additions, and integers are compared and
// chosen in a cycle each.

#include <bit>
#include <cstdint>
#include <limits>

namespace emplace::placeto_model {

/// The bits of a time that is not negative: they have the order of the times.
using TimeBits = std::uint64_t;

/// Later than every time.
inline constexpr TimeBits kNever = std::numeric_limits<TimeBits>::max();

/// Convert between microseconds and their bits. Requires: `us` is not negative, nor minus zero.
inline TimeBits time_bits(double us) { return std::bit_cast<TimeBits>(us); }
inline double microseconds(TimeBits at) { return std::bit_cast<double>(at); }

/// Returns `at`, or kNever unless `holds`.
inline TimeBits only_if(bool holds, TimeBits at) { return at | (TimeBits{holds} - 1); }

/// Returns `one` or `other` by arithmetic; compilers make branches of `?:` where they please.
inline std::uint64_t choose(bool first, std::uint64_t one, std::uint64_t other) {
  return other ^ ((one ^ other) & -std::uint64_t{first});
}

}  // namespace emplace::placeto_model
