#pragma once

// Proofs that no placement of a problem on its placeable devices fits into memory, whatever its
// times. Each is valid for the memory rules of all models (docs/concepts/simulation.md):
// - all devices together: weights and optimizer slots, and what is present while some op runs in
//   any step, which is its own memory and every tensor that an op before it produces and it or an
//   op after it reads;
// - one device: the same for a group, whose ops are all on one;
// - packing: a device has room for at most floor(memory / s) groups with weights of s bytes or more
//   each.
// Without a proof, there may still be no placement that fits: deciding that is as hard as bin
// packing.

#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace emplace {

/// The memory that is missing for every placement.
struct MemoryShortage {
  enum class Kind : std::uint8_t { kAllDevices, kOneDevice, kPacking };

  Kind kind = Kind::kAllDevices;
  std::int64_t needed_bytes = 0;  ///< by all groups, by one, or by each of num_groups groups
  std::int64_t memory_bytes = 0;  ///< of all placeable devices, or of the largest one
  GroupId group = 0;              ///< kOneDevice: the group
  OpId op = -1;                   ///< the op during which that is needed; -1: always
  std::int64_t num_groups = 0;    ///< kPacking: groups that need as much or more
  std::int64_t max_groups = 0;    ///< kPacking: how many of them fit
};

/// Returns a proof that nothing fits; nothing if none was found. O(ops + edges), a number of times,
/// and O(groups * (log groups + devices)).
std::optional<MemoryShortage> find_memory_shortage(const Problem& problem);

/// Returns how many devices with as much memory as the largest placeable one a placement needs at
/// least, by the same proofs. Nothing if no number suffices.
std::optional<std::int64_t> least_devices(const Problem& problem);

/// Returns the proof in words.
std::string describe(const Problem& problem, const MemoryShortage& shortage);

}  // namespace emplace
