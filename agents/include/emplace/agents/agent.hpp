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
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  std::string reference{};              ///< paper or library
  std::vector<ParamSpec> parameters{};  ///< in the order in which they are listed
  /// Says that the placement depends on the problem alone: neither on the seed nor on the budget.
  bool deterministic = true;
  /// Says that the agent puts nothing on a device that is not placeable; cpu-only does.
  bool respects_placeable = true;
};

/// Proposes placements. An instance belongs to one thread and one call of place().
class Agent {
 public:
  virtual ~Agent() = default;

  /// Returns a complete placement of `problem`. May call session.evaluate() until the budget is
  /// spent.
  virtual Placement place(const Problem& problem, Session& session) = 0;
};

}  // namespace emplace::agents

#include <emplace/agents/registry.hpp>
