#include "starts.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/sim/repair.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <string>

namespace emplace::agents {
namespace {

// Not all heuristics that there are: partitioners are optional, and the same search shall give the
// same placement without them.
constexpr std::array kAgents = {"heft", "etf", "single-gpu", "m-etf", "m-topo", "human-expert"};

Placement placed_by(std::string_view agent, const Problem& problem, Session& session) {
  return AgentRegistry::global().make(Spec{std::string(agent)})->place(problem, session);
}

}  // namespace

Placement start_of_search(std::string_view start, const Problem& problem, Session& session) {
  if (start == kBestHeuristic) {
    return std::move(evaluated_starts(problem, session).front().placement);
  }
  if (start == kOneDevice) {
    Simulator simulator(problem);
    return repair(problem, simulator,
                  Placement(problem.num_groups(), problem.placeable_devices().front()))
        .placement;
  }
  return placed_by(start, problem, session);
}

std::vector<Evaluated> evaluated_starts(const Problem& problem, Session& session) {
  std::vector<Evaluated> starts;
  if (session.best_placement()) {
    starts.push_back({*session.best_placement(), session.best_evaluation()});
  }
  for (const char* agent : kAgents) {
    if (!starts.empty() && session.exhausted()) {
      break;
    }
    Placement placement = placed_by(agent, problem, session);
    if (std::ranges::find(starts, placement, &Evaluated::placement) == starts.end()) {
      const Evaluation evaluation = session.evaluate(placement);
      starts.push_back({std::move(placement), evaluation});
    }
  }
  std::ranges::stable_sort(starts, [](const Evaluated& a, const Evaluated& b) {
    return a.evaluation.better_than(b.evaluation);
  });
  return starts;
}

}  // namespace emplace::agents
