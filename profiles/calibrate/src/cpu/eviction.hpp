#pragma once

// Cold caches, as a step that has run thousands of other ops finds them. Driving out just the lines
// that an op touches takes as long as the op is large; sweeping all caches of a server takes a
// tenth of a second each time.

#include "core_team.hpp"

#include <cstdint>

namespace emplace::calibrate {

/// Drives a range of memory out of all caches of the machine, sharing the work among a team.
void evict(const CoreTeam& team, const void* data, std::int64_t bytes);

}  // namespace emplace::calibrate
