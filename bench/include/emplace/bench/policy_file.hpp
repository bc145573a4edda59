#pragma once

// A trained policy in a file: what `emplace train` writes and `emplace place --policy` reads. The
// file names the agent with its parameters and contains the plan by which the policy was trained.
// The format is schema/policy.schema.json.

#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Describes a training: every graph is placed on every cluster.
struct TrainingPlan {
  agents::AgentSpec agent{};
  std::vector<std::string> graphs{};       ///< members, not families
  std::vector<std::string> clusters{};     ///< names or paths
  std::int64_t groups = 0;                 ///< target count; 0: the default of the grouping
  std::string grouping{kDefaultGrouping};  ///< strategy
  std::uint64_t root_seed = 0;             ///< at most kMaxRootSeed
  std::int64_t episodes = 1;               ///< on each graph and cluster
  std::int64_t patience = 0;               ///< see Training; 0: none
  std::vector<std::string> validation{};   ///< graphs that choose the policy; see Training

  /// Returns whether the user fixed the groups of the problems, as for a cell (cell.hpp).
  bool groups_are_given() const { return grouping != kDefaultGrouping; }

  bool operator==(const TrainingPlan&) const = default;
};

/// Describes how a policy was trained.
struct PolicyOrigin {
  TrainingPlan plan{};
  std::int64_t episodes_played = 0;  ///< over all graphs and clusters
  std::int64_t updates = 0;
};

/// The contents of a policy file.
struct PolicyFile {
  PolicyOrigin origin{};
  JsonDocument policy;  ///< for load() of the agent
};

/// Makes an agent that trains a policy, as AgentSpec::make() does; throws kUsage, with the names of
/// those that do, if it trains none, and what AgentSpec::make() throws.
std::unique_ptr<agents::TrainableAgent> make_trainable(const agents::AgentSpec& spec,
                                                       bool groups_are_given = false);

/// Returns the text of a policy file; `policy` is what save() of the agent returned.
std::string write_policy_file(const PolicyOrigin& origin, std::string_view policy);

/// Reads a policy file; `source` is its name in errors. Throws kFormat, also if the checksum does
/// not match. The policy itself is checked by its agent.
PolicyFile read_policy_file(std::string_view text, const std::string& source);

/// Makes the agent of a policy file with its policy, for problems whose groups the user fixed or
/// did not. Throws what make_trainable() and load() throw.
std::unique_ptr<agents::TrainableAgent> agent_of(const PolicyFile& file, bool groups_are_given);

}  // namespace emplace::bench
