#include "starts.hpp"

#include "coarsening/group_nesting.hpp"
#include "heuristic/heuristics.hpp"
#include "repair/repair.hpp"

#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace emplace::agents {
namespace {

using Heuristic = Placement(const Problem& problem, Budget& budget);

template <ListScheduler scheduler, StepOrder order>
Placement scheduled(const Problem& problem, Budget& budget) {
  return scheduler(problem, budget, order);
}

template <Placement rule(const Problem& problem)>
Placement ruled(const Problem& problem, Budget&) {
  return rule(problem);
}

// Not all heuristics that there are: partitioners are optional, and the same search shall give the
// same placement without them.
constexpr std::array<Heuristic*, 6> kHeuristics = {scheduled<heft, StepOrder::kQueue>,
                                                   scheduled<etf, StepOrder::kQueue>,
                                                   ruled<single_gpu>,
                                                   scheduled<m_etf, StepOrder::kQueue>,
                                                   m_topo,
                                                   ruled<human_expert>};

// Rules that plan nothing: always asked, before what follows.
constexpr std::array<Heuristic*, 2> kRules = {ruled<single_gpu>, ruled<human_expert>};

// The cheapest first: the last ones are left out where their part of the budget is used up.
constexpr std::array<Heuristic*, 10> kHeuristicsAndOrders = {m_topo,
                                                             scheduled<heft, StepOrder::kQueue>,
                                                             scheduled<heft, StepOrder::kPlan>,
                                                             scheduled<etf, StepOrder::kQueue>,
                                                             scheduled<etf, StepOrder::kPlan>,
                                                             scheduled<m_etf, StepOrder::kQueue>,
                                                             scheduled<m_etf, StepOrder::kPlan>,
                                                             scheduled<cpop, StepOrder::kQueue>,
                                                             scheduled<peft, StepOrder::kQueue>,
                                                             scheduled<dls, StepOrder::kQueue>};

// Those for a batch in parts, which are asked first if there are any.
constexpr std::array<Heuristic*, 2> kHeuristicsForParts = {ruled<data_parallel_expert>,
                                                           pipeline_expert};

bool has_parts(const Problem& problem) {
  return std::ranges::any_of(problem.topological_order(), [&](OpId op) {
    return problem.op(op).micro_batch > 0 || problem.op(op).replica > 0;
  });
}

constexpr std::int64_t kMaxRepairSimulations = 100;

// The largest part of the budget that the heuristics may use. On large graphs they are slow, and
// the search after them finds more in the same time.
constexpr double kMaxPartForHeuristics = 0.2;

// Adds a placement that is not among them yet.
void add_start(Placement placement, Evaluator& evaluator, std::vector<Evaluated>& starts) {
  if (std::ranges::find(starts, placement, &Evaluated::placement) == starts.end()) {
    const Evaluation evaluation = evaluator.evaluate(placement);
    starts.push_back({std::move(placement), evaluation});
  }
}

void sort_best_first(std::vector<Evaluated>& starts) {
  std::ranges::stable_sort(starts, [](const Evaluated& a, const Evaluated& b) {
    return a.evaluation.better_than(b.evaluation);
  });
}

// Asks the experts for a batch in parts and `rules`, then `heuristics` until so much of the budget
// is used; but at least one.
std::vector<Evaluated> evaluated(std::span<Heuristic* const> rules,
                                 std::span<Heuristic* const> heuristics, double until_share,
                                 const Problem& problem, Evaluator& evaluator) {
  std::vector<Evaluated> starts;
  if (const std::optional<Placement>& best = evaluator.incumbent().placement()) {
    starts.push_back({*best, evaluator.incumbent().evaluation()});
  }
  const auto ask = [&](std::span<Heuristic* const> asked, double until) {
    for (Heuristic* const heuristic : asked) {
      if (!starts.empty() &&
          (evaluator.budget().exhausted() || evaluator.budget().share_used() >= until)) {
        break;
      }
      add_start(heuristic(problem, evaluator.budget()), evaluator, starts);
    }
  };
  if (has_parts(problem)) {
    ask(kHeuristicsForParts, 1);
  }
  ask(rules, 1);
  ask(heuristics, until_share);
  sort_best_first(starts);
  return starts;
}

}  // namespace

Placement start_of_search(std::string_view start, const Coarsening& coarsening,
                          Evaluator& evaluator) {
  const Problem& problem = coarsening.problem();
  if (start == kBestHeuristic) {
    return std::move(evaluated_starts(problem, evaluator).front().placement);
  }
  if (start == kBestOfLevels) {
    return std::move(evaluated_starts_of_levels(coarsening, evaluator).front().placement);
  }
  if (start == kOneDevice) {
    Placement one_device(problem.num_groups(), problem.placeable_devices().front());
    if (evaluator.budget().exhausted()) {
      return one_device;
    }
    Simulator simulator(problem);
    return repair(problem, simulator, std::move(one_device), kMaxRepairSimulations,
                  evaluator.budget())
        .placement;
  }
  return (start == kEtf ? etf : heft)(problem, evaluator.budget(), StepOrder::kQueue);
}

Placement random_placement(const Problem& problem, RandomStream& random) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = devices[random.below(devices.size())];
  }
  return placement;
}

std::vector<Evaluated> evaluated_starts(const Problem& problem, Evaluator& evaluator) {
  return evaluated({}, kHeuristics, 1, problem, evaluator);
}

std::vector<Evaluated> evaluated_starts_and_orders(const Problem& problem, Evaluator& evaluator) {
  return evaluated(kRules, kHeuristicsAndOrders, kMaxPartForHeuristics, problem, evaluator);
}

std::vector<Evaluated> evaluated_starts_of_levels(const Coarsening& coarsening,
                                                  Evaluator& evaluator) {
  const Problem& problem = coarsening.problem();
  std::vector<Evaluated> starts = evaluated_starts(problem, evaluator);
  const std::vector<GroupId> sizes = coarsening.levels();
  for (const GroupId size : std::span(sizes).subspan(1)) {
    if (evaluator.budget().exhausted()) {
      break;
    }
    const Problem level = problem.regrouped(coarsening.grouping(size));
    const Placement placement = heft(level, evaluator.budget(), StepOrder::kQueue);
    add_start(GroupNesting(problem.grouping(), level.grouping()).expand(placement), evaluator,
              starts);
  }
  sort_best_first(starts);
  return starts;
}

}  // namespace emplace::agents
