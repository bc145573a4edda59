#pragma once

// Walks through placements like those of searches, for tests that hold a simulator which remembers
// the last run against one that does not. A `Comparison` runs a placement with both and returns how
// long the step takes.

#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <utility>

namespace emplace::test {

/// Draws a device.
inline DeviceId random_device(const Problem& problem, RandomStream& random) {
  return static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(problem.num_devices())));
}

/// Draws a group.
inline GroupId random_group(const Problem& problem, RandomStream& random) {
  return static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem.num_groups())));
}

/// Draws a device for each group.
inline Placement random_placement(const Problem& problem, RandomStream& random) {
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = random_device(problem, random);
  }
  return placement;
}

/// Tries the moves of one group after the other and stays where the step gets shorter.
template <class Comparison>
void climb(Comparison& comparison, const Problem& problem, Placement current, int moves,
           RandomStream& random) {
  double reached_us = comparison.makespan_us(current);
  for (; moves > 0; --moves) {
    const GroupId group = random_group(problem, random);
    const DeviceId before = current[group];
    current[group] = random_device(problem, random);
    const double tried_us = comparison.makespan_us(current);
    if (tried_us < reached_us) {
      reached_us = tried_us;
    } else {
      current[group] = before;
    }
  }
}

/// Moves one to four groups, goes there or not by the toss of a coin, and now and then anywhere.
template <class Comparison>
void wander(Comparison& comparison, const Problem& problem, Placement current, int moves,
            RandomStream& random) {
  for (; moves > 0; --moves) {
    Placement next = current;
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
      next[random_group(problem, random)] = random_device(problem, random);
    }
    comparison.makespan_us(next);
    if (random.below(2) == 0) {
      current = std::move(next);
    }
    if (random.below(40) == 0) {
      current = random_placement(problem, random);
    }
  }
}

/// Sends everything to one device, group by group, and from there to the next: devices that were
/// not in use come in use, and others are left empty.
template <class Comparison>
void gather(Comparison& comparison, const Problem& problem, Placement current) {
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      current[group] = device;
      comparison.makespan_us(current);
    }
  }
}

}  // namespace emplace::test
