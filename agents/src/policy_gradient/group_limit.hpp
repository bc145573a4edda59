#pragma once

// How many groups an agent takes whose memory grows fast with them: as their square, or by
// megabytes for each. What would not fit is refused before any of it is taken.

#include <emplace/base/ids.hpp>

#include <string_view>

namespace emplace::agents::policy_gradient {

/// Says what an agent needs: so many bytes for each group, and for each pair of groups.
struct GroupMemory {
  double per_group_bytes = 0;
  double per_pair_bytes = 0;

  /// Returns what `groups` groups need.
  double bytes(double groups) const { return groups * (per_group_bytes + groups * per_pair_bytes); }
};

/// Limits what an agent takes, in bytes.
inline constexpr double kMostBytes = 16e9;

/// Throws Error of kUnsupported if `agent` would take more than kMostBytes of memory on `groups`
/// groups. `remedy` says what to do besides giving fewer groups.
void check_group_limit(std::string_view agent, GroupId groups, const GroupMemory& memory,
                       std::string_view remedy);

}  // namespace emplace::agents::policy_gradient
