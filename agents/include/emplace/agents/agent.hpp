#pragma once

// What an agent is: something that reads a problem and proposes a placement, within a budget of
// simulations. Adding one is adding one file to agents/src:
//
//     class Mine final : public Agent {
//      public:
//       explicit Mine(const Params& params) : depth_(params.get<std::int64_t>("depth")) {}
//       Placement place(const Problem& problem, Session& session) override { ... }
//      ...
//     };
//     EMPLACE_REGISTER_AGENT(Mine, {.name = "mine",
//                                   .kind = AgentKind::kHeuristic,
//                                   .summary = "one line",
//                                   .reference = "who published it",
//                                   .parameters = {{.name = "depth", ...}}})
//
// It is then in `emplace list agents`, in every suite that says "agents": "*", in the reports and
// in the conformance suite (tests/agents/conformance_test.cpp), which every agent must pass. An
// agent gets all it needs through its arguments: no clock, no files, no globals, no random numbers
// of its own.

#include <emplace/agents/session.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {
class JsonCursor;
}  // namespace emplace

namespace emplace::agents {

/// Says how an agent decides.
enum class AgentKind : std::uint8_t {
  kBaseline,   ///< a rule that ignores the graph
  kExpert,     ///< what a person would do by hand
  kHeuristic,  ///< an algorithm without simulations
  kSearch,     ///< tries placements in the simulator
  kLearned,    ///< trains a policy
};

/// Returns "baseline", "expert", "heuristic", "search" or "learned".
std::string_view to_string(AgentKind kind);

/// Describes an agent; listings, flags, reports and the conformance suite come from it.
struct AgentInfo {
  std::string name{};  ///< kebab-case, stable
  AgentKind kind = AgentKind::kBaseline;
  std::string summary{};                ///< one line
  std::string description{};            ///< a paragraph: what it does and when to use it
  std::string reference{};              ///< paper or library
  std::vector<ParamSpec> parameters{};  ///< in the order in which they are listed
  /// Says that the placement depends on the problem alone: neither on the seed nor on the budget.
  bool deterministic = true;
  /// Says that the agent puts nothing on a device that is not placeable; cpu-only does.
  bool respects_placeable = true;
  /// Says that the agent is a TrainableAgent.
  bool trainable = false;
};

/// Proposes placements. An instance belongs to one thread and one call of place().
class Agent {
 public:
  virtual ~Agent() = default;

  /// Returns a complete placement of `problem`. May call session.evaluate() until the budget is
  /// spent.
  virtual Placement place(const Problem& problem, Session& session) = 0;
};

/// Describes a layer of a policy: an affine map with a bias.
struct PolicyLayer {
  std::string name{};
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  std::int64_t weights() const { return (inputs + 1) * outputs; }
};

/// Tells of one update of a policy.
struct TrainingUpdate {
  std::int64_t update = 0;    ///< from 1
  std::int64_t episodes = 0;  ///< that were played so far, over all sessions
  /// Whose problem was played; an update from several is told by a call for each.
  std::size_t session = 0;
  double last_us = 0;        ///< mean objective of the placements with which its episodes ended
  double best_us = 0;        ///< objective of the best placement of that session so far
  double entropy = 0;        ///< of a decision, in nats, mean
  double gradient_norm = 0;  ///< before it was clipped
  bool is_last = true;       ///< of the calls that tell of this update
};

/// Is told of each update; says whether to go on. All calls of an update are made, whatever they
/// say.
using TrainingCallback = std::function<bool(const TrainingUpdate&)>;

/// Learns a policy, which can be kept and used on graphs that it has not seen. place() learns from
/// its own problem until the budget is spent. If a policy was trained or loaded, it begins with
/// place_with_policy() and goes on learning from there.
class TrainableAgent : public Agent {
 public:
  /// Learns from the problems of all sessions in turn until their budgets are spent or `callback`,
  /// which may be empty, says no. It begins with the policy that there is, if any, but anew
  /// otherwise: schedules run from now until the budgets end. After load_training(), it goes on
  /// with that training instead, once. Throws kUnsupported where a problem has more or
  /// fewer placeable devices than the policy is for; those of placeto-plus and placeto-transfer are
  /// for any number.
  virtual void train(std::span<Session* const> sessions, const TrainingCallback& callback) = 0;

  /// Uses the policy as it is: plays one episode of likeliest choices and returns the best
  /// placement of the session. Requires: there is a policy.
  virtual Placement place_with_policy(const Problem& problem, Session& session) = 0;

  /// Returns the most evaluations that an episode takes of `problem`.
  virtual std::int64_t evaluations_per_episode(const Problem& problem) const = 0;

  /// Returns the policy as JSON that load() reads. Requires: there is one.
  virtual std::string save() const = 0;

  /// Takes a policy. Throws kFormat, with its place in the file, if it is none of this agent with
  /// these parameters.
  virtual void load(const JsonCursor& policy) = 0;

  /// Returns, as JSON, all that train() needs to go on with the same bits, besides the states of
  /// the sessions. Requires: train() was called; it may be running, and then `callback` calls this.
  virtual std::string save_training() const = 0;

  /// Takes what save_training() of this agent with the same parameters gave, and keeps what it
  /// needs of it. Throws kFormat, with its place in the file, if it is something else. The next
  /// train() needs sessions of the same problems and options, in the same order, restored to where
  /// they were.
  virtual void load_training(const JsonCursor& training) = 0;

  /// Returns the layers of a policy for so many placeable devices.
  virtual std::vector<PolicyLayer> layers(DeviceId num_devices) const = 0;
};

}  // namespace emplace::agents

#include <emplace/agents/registry.hpp>
