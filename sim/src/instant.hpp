#pragma once

// Times as integers, and choices without branches, for loops in which nothing can be foreseen:
// there a mispredicted branch costs more than twenty additions, and integers are compared and
// chosen in a cycle each.

#include <bit>
#include <cstdint>
#include <limits>

namespace emplace {

/// A time that is not negative, as its bits: they have the order of the times.
using Instant = std::uint64_t;

/// Later than every time.
inline constexpr Instant kNever = std::numeric_limits<Instant>::max();

/// Converts between microseconds and instants. Requires: `us` is not negative, nor minus zero.
inline Instant instant(double us) { return std::bit_cast<Instant>(us); }
inline double microseconds(Instant at) { return std::bit_cast<double>(at); }

/// Returns `at`, or kNever unless `holds`.
inline Instant only_if(bool holds, Instant at) { return at | (Instant{holds} - 1); }

/// Returns until when ends belong to the instant that begins at `us` in the `physical` model (rule
/// 3 in sim/README.md): sums of the same times in another order differ by rounding, and ties must
/// not depend on that.
inline double end_of_instant(double us) { return us + 1e-6 + us * 1e-12; }

/// Returns the one or the other by arithmetic; compilers make branches of `?:` where they please.
inline std::uint64_t choose(bool first, std::uint64_t one, std::uint64_t other) {
  return other ^ ((one ^ other) & -std::uint64_t{first});
}

}  // namespace emplace
