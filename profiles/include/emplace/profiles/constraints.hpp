#pragma once

// Constraints on placements: which ops must run where, which share a device, which devices are left
// out, and how much of their memory a step may use. They are part of a cluster, so they reach all
// that reads its name or file: agents, bounds, suites, placement files, other languages.
//
// A pattern is a shell's (fnmatch): `*` is any text, slashes included, `?` one character, `[ab]`
// one of several. It selects the ops whose name, scope, or a scope around it matches: `block_1`
// selects all ops of that block.

#include <emplace/profiles/cluster.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

class JsonCursor;

/// The largest Cluster::granularity.
inline constexpr std::int64_t kMaxGranularity = 64;

/// Constraints as users write them.
struct Constraints {
  std::vector<std::string> pins{};      ///< "PATTERN=DEVICE"
  std::vector<std::string> together{};  ///< "PATTERN"
  std::vector<std::string> excluded{};  ///< "DEVICE", a name or a pattern of names
  /// "DEVICE=SIZE", for example "gpu:0=20GB"; "gpu:*=-2GB" is 2 GB less than the device has.
  std::vector<std::string> memory{};
  std::int64_t granularity = 0;  ///< Cluster::granularity

  /// Says whether there are none.
  bool empty() const {
    return pins.empty() && together.empty() && excluded.empty() && memory.empty() &&
           granularity == 0;
  }
};

/// Reads the members `pin`, `together`, `exclude` and `memory` of an object. Throws kFormat.
Constraints read_constraints(const JsonCursor& json);

/// Reads a file of constraints (profiles/schema/constraints.schema.json); `source` names it in
/// errors. Throws kFormat.
Constraints read_constraints(std::string_view text, const std::string& source);

/// Returns the text with which load_cluster() makes `cluster`, a name or path with or without
/// parameters, under further constraints; a granularity replaces the one it has. Throws kUsage if
/// one contains ',' or ';'.
std::string with_constraints(std::string_view cluster, const Constraints& constraints);

/// Adds constraints to a cluster. Throws kUnknownName for a device that it does not have, and
/// kUsage for what is not written as above, and for contradictions: no device is left, ops are
/// pinned to one that is excluded, or a limit is more than a device has.
void constrain(Cluster& cluster, const Constraints& constraints);

/// Says whether a pattern selects an op of this name and scope.
bool selects(const std::string& pattern, const std::string& op_name, std::string_view scope);

/// Returns bytes from a size such as "20GB", "1.5 GiB" or "-500MB". Throws kUsage, with `what` as
/// subject.
std::int64_t parse_size(std::string_view text, std::string_view what);

}  // namespace emplace
