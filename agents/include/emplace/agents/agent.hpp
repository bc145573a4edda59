#pragma once

// An agent reads a problem and proposes a placement, within a budget of evaluations (simulated
// steps). To add one, add one file to a folder of agents/src:
//
//     class Mine final : public Agent {
//      public:
//       explicit Mine(const Params& params) : depth_(params.get<std::int64_t>("depth")) {}
//       Placement place(const Problem& problem, Evaluator& evaluator) override { ... }
//      ...
//     };
//     EMPLACE_REGISTER_AGENT(Mine, {.name = "mine",
//                                   .kind = AgentKind::kHeuristic,
//                                   .summary = "one line",
//                                   .description = "a paragraph: what it does, when to use it",
//                                   .reference = "who published it",
//                                   .parameters = {{.name = "depth", ...}}})
//
// It is then in `emplace list agents`, in every suite that says "agents": "*", in the reports and
// in the conformance suite (tests/agents/conformance_test.cpp), which every agent must pass. An
// agent gets everything through its arguments: it reads no clock, files or globals, and takes
// random numbers only from its evaluator.

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/params.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {
class JsonCursor;
}  // namespace emplace

namespace emplace::agents {

/// How an agent decides.
enum class AgentKind : std::uint8_t {
  kBaseline,   ///< a rule that ignores the graph
  kExpert,     ///< what a person would do by hand
  kHeuristic,  ///< an algorithm that spends no evaluations, or some where memory is tight
  kSearch,     ///< evaluates placements and keeps the best
  kLearned,    ///< trains a policy
};

/// Returns "baseline", "expert", "heuristic", "search" or "learned".
std::string_view to_string(AgentKind kind);

/// Other defaults for some parameters, by name.
using ParamDefaults = std::map<std::string, ParamValue, std::less<>>;

/// Returns `table` with `defaults` in place of its own. Requires: it has all these parameters, with
/// these types.
std::vector<ParamSpec> with_defaults(std::vector<ParamSpec> table, const ParamDefaults& defaults);

/// A set of defaults of an agent that users choose by name (kPresetParameter).
struct Preset {
  std::string name{};        ///< kebab-case, stable
  std::string summary{};     ///< one line
  ParamDefaults defaults{};  ///< what it changes in the agent's parameters
};

/// Describes an agent; listings, flags, reports and the conformance suite come from it.
struct AgentInfo {
  std::string name{};  ///< kebab-case, stable
  AgentKind kind = AgentKind::kBaseline;
  std::string summary{};                ///< one line
  std::string description{};            ///< a paragraph: what it does and when to use it
  std::string reference{};              ///< paper or library
  std::vector<ParamSpec> parameters{};  ///< in the order in which they are listed
  /// Whether the placement depends on the problem alone, not on the seed or the budget (but for a
  /// heuristic's search for what fits, which ends with the budget).
  bool deterministic = true;
  /// Whether the agent uses placeable devices only; cpu-only does not.
  bool respects_placeable = true;
  /// Whether the agent is a TrainableAgent.
  bool trainable = false;
  /// Whether the name alone is not enough: users add the command line of a program
  /// (kProgramParameter), `exec:./my_agent`. "All agents" do not include it.
  bool needs_program = false;
  /// Default number of groups to decide on, for an agent that cannot make good use of more: it then
  /// has the parameter `groups` (kGroupsParameter), and gets problems with more groups at a coarser
  /// level (src/coarsening/). None: it decides on all groups.
  std::optional<GroupId> default_groups{};
  /// The presets, the default first; most agents have none. Once registered, each preset has a
  /// value for every parameter that any of them changes, `parameters` have the defaults of the
  /// first, and include the parameter `preset` (kPresetParameter).
  std::vector<Preset> presets{};
};

/// The parameter of an agent with AgentInfo::default_groups: the most groups to decide on; 0 for
/// all groups of a problem.
inline constexpr const char* kGroupsParameter = "groups";

/// The parameter that selects a preset. Values that the user gives for other parameters override
/// those of the preset.
inline constexpr const char* kPresetParameter = "preset";

/// The parameter of an agent with AgentInfo::needs_program: the command line.
inline constexpr const char* kProgramParameter = "program";

/// Proposes placements. An instance belongs to one thread and one call of place().
class Agent {
 public:
  virtual ~Agent() = default;

  /// Returns a complete placement of `problem`. May call evaluator.evaluate() until the budget is
  /// spent.
  virtual Placement place(const Problem& problem, Evaluator& evaluator) = 0;

  /// Returns for how many groups of `problem` the agent chooses a device: all, or fewer for an
  /// agent that decides on a coarser level.
  virtual GroupId decision_groups(const Problem& problem) const { return problem.num_groups(); }
};

/// Describes a layer of a policy: an affine map with a bias.
struct PolicyLayer {
  std::string name{};
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  std::int64_t weights() const { return (inputs + 1) * outputs; }
};

/// Describes one update of a policy, on one of the problems that it learned from.
struct TrainingUpdate {
  std::int64_t update = 0;    ///< number of the update, from 1
  std::int64_t episodes = 0;  ///< run so far, over all problems
  /// Index of the problem; an update from several problems is reported once for each.
  std::size_t problem = 0;
  double last_us = 0;        ///< mean objective of the placements at the end of its episodes
  double best_us = 0;        ///< objective of the best placement of that problem so far
  double entropy = 0;        ///< mean entropy of an action's distribution, in nats
  double gradient_norm = 0;  ///< Euclidean norm before clipping
  bool is_last = true;       ///< no further report of this update follows
};

/// Receives the report of each update; returns false to stop the training. Every problem of an
/// update is reported, also after a call that returned false.
using TrainingCallback = std::function<bool(const TrainingUpdate&)>;

/// Learns a policy, which can be saved and used on graphs that it has not seen. place() learns from
/// its own problem until the budget is spent. If a policy was trained or loaded, place() begins
/// with place_with_policy() and then goes on learning.
class TrainableAgent : public Agent {
 public:
  /// Learns from the problems of all evaluators in turn until their budgets are spent or
  /// `callback`, which may be empty, returns false. Starts from the present policy, if there is
  /// one, with a new optimizer and with schedules that run until the end of the budgets. The first
  /// call after load_training() resumes that training instead. Throws kUnsupported if a problem has
  /// a different number of placeable devices than the policy; policies of agents that know devices
  /// by their features fit any number.
  virtual void train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback) = 0;

  /// Runs one episode of greedy actions without learning, and returns the best placement of the
  /// evaluator. Requires: there is a policy.
  virtual Placement place_with_policy(const Problem& problem, Evaluator& evaluator) = 0;

  /// Returns the largest number of evaluations that an episode on a problem of `num_groups` groups
  /// takes.
  virtual std::int64_t evaluations_per_episode(GroupId num_groups) const = 0;

  /// Returns the policy as JSON that load() reads. Requires: there is a policy.
  virtual std::string save() const = 0;

  /// Replaces the policy with a saved one. Throws kFormat, with the place in the file, if it is not
  /// a policy of this agent with these parameters.
  virtual void load(const JsonCursor& policy) = 0;

  /// Returns a checkpoint as JSON: all that train() needs, besides the states of the evaluators, to
  /// continue with exactly the same results. Requires: train() was called; `callback` may call
  /// this.
  virtual std::string save_training() const = 0;

  /// Restores what save_training() of this agent with the same parameters returned. Throws kFormat,
  /// with the place in the file, if it is something else; the next train() may throw for errors in
  /// the details. It needs evaluators of the same problems and options, in the same order, restored
  /// to their states.
  virtual void load_training(const JsonCursor& training) = 0;

  /// Returns the layers of a policy for `num_devices` placeable devices.
  virtual std::vector<PolicyLayer> layers(DeviceId num_devices) const = 0;
};

}  // namespace emplace::agents

#include <emplace/agents/registry.hpp>
