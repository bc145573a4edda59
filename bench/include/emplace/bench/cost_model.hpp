#pragma once

// How long a cell or a training is expected to take on one core, and how much memory, from what
// was recorded of agents (bench/speeds, docs/notes/sweep-costs.md):
//
//     seconds = work * us / 10^6 * (ops / 1000)^ops_exponent * (groups / 128)^groups_exponent
//               * (devices / 4)^devices_exponent * physical, on clusters of that engine
//     bytes = 10^6 * mb + 10^3 * (kb_per_op * ops + kb_per_group * groups)
//
// `work` is the budget of evaluations, or 1 for an agent that spends none; `groups` are those on
// which the agent decides. If costs have spreads, the draws in which placements are compared
// (kCellReplicas) are added, each as one evaluation of `random`, which only simulates. The same
// numbers balance shards (shard.hpp) and estimate what a run takes (`emplace run --dry-run`). They
// are the same, to the last bit, on every machine.

#include <emplace/agents/agent_spec.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {

/// The properties of a problem that decide on time and memory.
struct ProblemSize {
  std::int64_t ops = 0;
  std::int64_t groups = 0;
  std::int64_t devices = 0;
  bool is_physical = false;  ///< the engine
  bool has_spreads = false;  ///< of costs: cells are compared in draws
};

/// Returns the size of `problem`.
ProblemSize size_of(const Problem& problem);

/// The time and memory that an agent takes; see the head of this file.
struct AgentCosts {
  double us = 0;  ///< of one evaluation, or of the whole cell; 1,000 ops, 128 groups, 4 devices
  double ops_exponent = 0;
  double groups_exponent = 0;
  double devices_exponent = 0;
  double physical = 1;  ///< factor
  double mb = 0;        ///< of memory, in addition to the problem
  double kb_per_op = 0;
  double kb_per_group = 0;
};

/// How well the speed of an agent is known.
enum class SpeedSource : std::uint8_t {
  kRecorded,         ///< of this agent
  kOtherParameters,  ///< of this agent with fewer of the parameters that were given
  kGuessed,          ///< agent not recorded: the median of all agents that evaluate, or that do not
};

/// Returns "recorded", "other parameters" or "guessed".
std::string_view to_string(SpeedSource source);

/// Predicts time and memory. Immutable, so any thread may use it.
class CostModel {
 public:
  /// Reads recorded costs; `source` names them in errors. Throws kFormat.
  static CostModel read(std::string_view text, const std::string& source);

  /// Returns the model of the shipped file.
  static const CostModel& shipped();

  /// Returns the machine on which costs were recorded, and when.
  const std::string& machine() const { return machine_; }
  const std::string& time() const { return time_; }

  /// Returns how well the speed of `agent` is known.
  SpeedSource source_of(const agents::AgentSpec& agent) const;

  /// Returns the expected seconds of one core for `evaluations` of `agent`; `groups_are_given` as
  /// in AgentRegistry::most_groups(). Throws kUnknownName for an agent that this program does not
  /// have.
  double seconds(const agents::AgentSpec& agent, std::int64_t evaluations, const ProblemSize& size,
                 bool groups_are_given) const;

  /// Returns the expected seconds of one core for `cell`, the draws of costs included. Throws as
  /// above.
  double seconds(const Cell& cell, const ProblemSize& size) const;

  /// Returns the most bytes of memory that `agent` is expected to take, in addition to the problem.
  /// Throws as above.
  std::int64_t bytes(const agents::AgentSpec& agent, const ProblemSize& size,
                     bool groups_are_given) const;

 private:
  CostModel() = default;
  const AgentCosts* find(const agents::AgentSpec& agent) const;
  const AgentCosts& costs_of(const agents::AgentSpec& agent) const;

  std::string machine_;
  std::string time_;
  std::map<std::string, AgentCosts, std::less<>> costs_;  // by the text of the agent
  // By name: with the parameters that were given, those with the most parameters first.
  std::map<std::string, std::vector<std::pair<Spec, AgentCosts>>, std::less<>> variants_;
  AgentCosts guessed_search_;
  AgentCosts guessed_heuristic_;
};

/// Returns the expected bytes of memory of a problem.
std::int64_t expected_bytes(const ProblemSize& size);

/// Returns the expected bytes of the result of `cell` in its store.
std::int64_t expected_bytes(const Cell& cell, const ProblemSize& size);

}  // namespace emplace::bench
