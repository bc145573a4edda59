#include "starts.hpp"

#include "coarsening/group_nesting.hpp"
#include "repair/repair.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace emplace::agents {
namespace {

// Not all heuristics that there are: partitioners are optional, and the same search shall give the
// same placement without them.
constexpr std::array kAgents = {"heft", "etf", "single-gpu", "m-etf", "m-topo", "human-expert"};

constexpr std::int64_t kMaxRepairSimulations = 100;

// The largest part of the budget that the heuristics may use. On large graphs they are slow, and
// the search after them finds more in the same time.
constexpr double kMaxPartForHeuristics = 0.2;

// The cheapest first: the last ones are left out where that part is used up.
constexpr std::array kAgentsAndOrders = {"single-gpu",     "human-expert",    "m-topo",
                                         "heft",           "heft:order=plan", "etf",
                                         "etf:order=plan", "m-etf",           "m-etf:order=plan"};

Placement placed_by(std::string_view agent, const Problem& problem, Session& session) {
  return AgentRegistry::global().make(Spec::parse(agent))->place(problem, session);
}

// Adds a placement that is not among them yet.
void add_start(Placement placement, Session& session, std::vector<Evaluated>& starts) {
  if (std::ranges::find(starts, placement, &Evaluated::placement) == starts.end()) {
    const Evaluation evaluation = session.evaluate(placement);
    starts.push_back({std::move(placement), evaluation});
  }
}

void sort_best_first(std::vector<Evaluated>& starts) {
  std::ranges::stable_sort(starts, [](const Evaluated& a, const Evaluated& b) {
    return a.evaluation.better_than(b.evaluation);
  });
}

// Asks agents, but at least one, until so much of the budget is used.
std::vector<Evaluated> evaluated(std::span<const char* const> agents, const Problem& problem,
                                 Session& session, double until_share = 1) {
  std::vector<Evaluated> starts;
  if (const std::optional<Placement>& best = session.best_placement()) {
    starts.push_back({*best, session.best_evaluation()});
  }
  for (const char* agent : agents) {
    if (!starts.empty() && (session.exhausted() || session.share_used() >= until_share)) {
      break;
    }
    add_start(placed_by(agent, problem, session), session, starts);
  }
  sort_best_first(starts);
  return starts;
}

}  // namespace

Placement start_of_search(std::string_view start, const Coarsening& coarsening, Session& session) {
  const Problem& problem = coarsening.problem();
  if (start == kBestHeuristic) {
    return std::move(evaluated_starts(problem, session).front().placement);
  }
  if (start == kBestOfLevels) {
    return std::move(evaluated_starts_of_levels(coarsening, session).front().placement);
  }
  if (start == kOneDevice) {
    Placement one_device(problem.num_groups(), problem.placeable_devices().front());
    if (session.exhausted()) {
      return one_device;
    }
    Simulator simulator(problem);
    Repair repaired = repair(problem, simulator, std::move(one_device),
                             std::min(kMaxRepairSimulations, session.evaluations_left() + 1));
    session.charge(repaired.simulations - 1);  // not the one that tells whether it fits
    return std::move(repaired.placement);
  }
  return placed_by(start, problem, session);
}

Placement random_placement(const Problem& problem, RandomStream& random) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = devices[random.below(devices.size())];
  }
  return placement;
}

std::vector<Evaluated> evaluated_starts(const Problem& problem, Session& session) {
  return evaluated(kAgents, problem, session);
}

std::vector<Evaluated> evaluated_starts_and_orders(const Problem& problem, Session& session) {
  return evaluated(kAgentsAndOrders, problem, session, kMaxPartForHeuristics);
}

std::vector<Evaluated> evaluated_starts_of_levels(const Coarsening& coarsening, Session& session) {
  const Problem& problem = coarsening.problem();
  std::vector<Evaluated> starts = evaluated_starts(problem, session);
  const std::vector<GroupId> sizes = coarsening.levels();
  for (const GroupId size : std::span(sizes).subspan(1)) {
    if (session.exhausted()) {
      break;
    }
    const Problem level = problem.regrouped(coarsening.grouping(size));
    Session on_level(session, level);
    add_start(GroupNesting(problem.grouping(), level.grouping())
                  .expand(placed_by("heft", level, on_level)),
              session, starts);
  }
  sort_best_first(starts);
  return starts;
}

}  // namespace emplace::agents
