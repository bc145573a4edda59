#pragma once

// Holds all that is needed to repeat a run: the suite itself, the seed, hashes of its problems, and
// for each start (the first and every resumption) the command, the program and the machine.

#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Lists libraries and files of agents: name, and version or hash.
using Libraries = std::vector<std::pair<std::string, std::string>>;

/// Describes the program.
struct BuildInfo {
  std::string version{};
  std::string git_revision{};  ///< with "-dirty" if the tree had changes; "unknown" outside git
  std::string compiler{};
  std::string build_type{};
  Libraries libraries{};

  bool operator==(const BuildInfo&) const = default;
};

/// Returns the facts compiled into this program.
BuildInfo build_info();

/// Describes the machine.
struct MachineInfo {
  std::string cpu{};
  int cores = 0;  ///< that this process may use
  std::int64_t memory_bytes = 0;
  std::string system{};
};

/// Reads the facts from the system; what cannot be read is empty or 0.
MachineInfo machine_info();

/// Describes one start of a run.
struct Start {
  std::vector<std::string> arguments{};  ///< the command line
  std::string time{};                    ///< UTC, ISO 8601
  BuildInfo build{};
  MachineInfo machine{};
};

/// Returns a start by this program, on this machine, now; plug-ins that were loaded are among the
/// libraries, with a hash of their content as the version. Throws kIo if one cannot be read.
Start start_now(std::vector<std::string> arguments);

/// The content of manifest.json.
struct Manifest {
  Suite suite{};
  std::uint64_t root_seed = 0;
  std::int64_t num_cells = 0;        ///< of the suite, finished or not
  Shard shard{};                     ///< the part of the suite that the store is for
  std::int64_t num_shard_cells = 0;  ///< of a part; not used for the whole suite
  std::vector<ProblemHash> problems{};
  std::vector<Start> starts{};

  /// Returns how many cells the store has when it is finished.
  std::int64_t num_own_cells() const { return shard.is_whole() ? num_cells : num_shard_cells; }
};

/// Returns why results of `stored` and `wanted` do not belong together: another suite, seed or
/// problem (as a clause about the run of `stored`); or nothing. Shards of one suite belong
/// together.
std::optional<std::string> difference(const Manifest& stored, const Manifest& wanted);

/// Returns how the program of the last start differs from that of the first, whose results are
/// kept: libraries, plug-ins and files of agents, or the build. One line each; `folder` is that of
/// the run.
std::vector<std::string> differences_of_starts(const Manifest& manifest, const std::string& folder);

/// Returns whether the run had this problem under these names, with the same contents.
bool had_problem(const Manifest& manifest, std::string_view graph, std::string_view cluster,
                 const Problem& problem);

/// Returns the manifest as JSON text.
std::string write_manifest(const Manifest& manifest);

/// Reads a manifest, also one of the previous format, whose results have neither placements nor
/// histories; `source` names it in errors. Throws kFormat. Its suite may have agents that this
/// program does not know.
Manifest read_manifest(std::string_view text, const std::string& source);

}  // namespace emplace::bench
