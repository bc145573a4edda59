#pragma once

// Random problems for measuring: graphs in which every op reads one to three of the `window` ops
// before it, on a cluster of equal devices, with random costs and bytes.

#include <emplace/base/ids.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

namespace emplace::micro {

/// How many placements a benchmark takes in turn, so that the processor cannot learn their
/// branches.
inline constexpr std::uint64_t kPlacements = 16;

/// Is the window of problems, unless told otherwise.
inline constexpr std::uint64_t kWindow = 100;

/// Makes a problem of `ops` ops on `devices` devices, the same at every call; each op is a group.
Problem random_problem(OpId ops, DeviceId devices, std::uint64_t window = kWindow);

/// Makes the same graph on as many devices around a switch, in the `physical` model: each device
/// has a link to the switch and one from it, shared in the given way.
Problem random_problem(OpId ops, DeviceId devices, LinkSharing sharing,
                       std::uint64_t window = kWindow);

/// Returns a placement of each group on a random device; different seeds give different ones.
Placement random_placement(const Problem& problem, std::uint64_t seed);

}  // namespace emplace::micro
