#pragma once

// A cell is one run of one agent on one graph and one cluster. Its id and the seed of its random
// numbers are hashes of its coordinates alone, so the result is the same, to the last bit, whatever
// the order, thread or process in which it is computed.

#include <emplace/agents/evaluator.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/sim/placement.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The largest root seed: every JSON reader represents it exactly.
inline constexpr std::int64_t kMaxRootSeed = (std::int64_t{1} << 53) - 1;

/// Names one cell.
struct Cell {
  std::string graph{};
  std::string cluster{};
  agents::AgentSpec agent{};
  std::int64_t repetition = 0;
  std::int64_t max_evaluations = 0;
  std::int64_t groups = 0;
  std::string grouping{kDefaultGrouping};
  std::uint64_t root_seed = 0;  ///< at most kMaxRootSeed
  std::string policy{};    ///< name in the suite of the policy that the agent starts from; or empty
  std::string training{};  ///< hash of the plan by which that policy was trained
  bool learns = true;      ///< false: it uses the policy as it is

  /// Returns whether the user fixed the groups of the problem. Agents then decide on all of them
  /// unless their own parameters say otherwise.
  bool groups_are_given() const { return grouping != kDefaultGrouping; }

  /// Returns 16 hexadecimal digits, the hash of all coordinates.
  std::string id() const;

  /// Returns the seed of the cell's random stream. Cells that differ only in budget share it.
  std::uint64_t seed() const;

  bool operator==(const Cell&) const = default;
};

/// Returns one cell of a suite. Requires: graph, cluster and agent are the suite's.
Cell cell_of(const Suite& suite, const SuiteGraph& graph, const std::string& cluster,
             const SuiteAgent& agent, std::int64_t repetition, std::uint64_t root_seed);

/// Returns the cells of a suite in the order of its lists: by graph, cluster, agent, repetition.
/// Throws kUnknownName if the suite has an agent that this program does not know.
std::vector<Cell> cells_of(const Suite& suite, std::uint64_t root_seed);

/// Names the ways in which a cell ends.
enum class CellStatus : std::uint8_t {
  kOk,
  kOutOfMemory,  ///< the agent's placement overflows a memory; the time is still reported
  kFailed,       ///< the agent threw; see CellResult::message
};

/// Returns "ok", "out_of_memory" or "failed".
std::string_view to_string(CellStatus status);

/// The share of its step time by which a placement may be slower than an agent's best and still
/// count as near it.
inline constexpr double kNearBest = 0.02;

/// The number of draws in which the placements of cells are compared (draws.hpp).
inline constexpr std::int64_t kCellDraws = 200;

/// Describes a placement that was better than all before it.
struct Improvement {
  std::int64_t evaluations = 0;  ///< used until it was found
  agents::Evaluation evaluation{};
  /// Until the search had a placement at least as good, by the clock of this machine. Where
  /// searches ran side by side, another of them may have been earlier.
  double seconds = 0;
};

/// The share by which an improvement must lower the objective to be kept in CellResult::history.
inline constexpr double kHistoryStep = 0.002;

/// The result of a cell. All but `wall_s` and the seconds of the history is a function of the cell
/// and its problem alone.
struct CellResult {
  Cell cell{};
  CellStatus status = CellStatus::kOk;
  std::string message{};                   ///< why it failed
  double step_time_us = 0;                 ///< of the agent's placement
  double bound_us = 0;                     ///< no placement that fits is faster
  std::vector<std::int64_t> peak_bytes{};  ///< by device
  std::int64_t evaluations = 0;            ///< that the agent used
  std::int64_t evaluations_to_best = 0;    ///< until its best placement was found
  /// Evaluations until a placement was found that is at most kNearBest slower than its best.
  std::int64_t evaluations_to_near_best = 0;
  std::int64_t evaluations_per_episode = 0;  ///< of a learning agent; 0 for others
  std::int64_t problem_groups = 0;           ///< groups of the problem; 0 if the cell failed
  std::int64_t decision_groups = 0;          ///< on which the agent decided; 0 if the cell failed
  std::string placement_hash{};              ///< 16 hexadecimal digits
  double wall_s = 0;                         ///< time that the cell took on this machine
  Placement placement{};                     ///< empty if it failed
  /// How the best so far fell. After any number of evaluations, the true best is less than
  /// kHistoryStep below the last entry up to there, which fits if that does. Empty if nothing was
  /// evaluated, and if the cell failed.
  std::vector<Improvement> history{};
  /// Step times of the placement in kCellDraws draws of the costs, which are the same for all
  /// cells of a problem; empty if no cost there has a relative deviation, and if the cell failed.
  std::vector<double> draws_us{};
};

/// Returns 16 hexadecimal digits, the hash of the groups' devices and priorities.
std::string hash_of(const Placement& placement);

}  // namespace emplace::bench
