#include "improvement_history.hpp"
#include "parallel_runs.hpp"
#include "suite_cell.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/placeable.hpp>
#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/suite_costs.hpp>
#include <emplace/sim/draws.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace emplace::bench {
namespace {

// The agent may be the user's own.
void check_placement(const Placement& placement, const Problem& problem, bool any_device) {
  if (placement.size() != problem.num_groups()) {
    throw Error(ErrorCode::kUnsupported, fmt::format("the agent placed {} of {} groups",
                                                     placement.size(), problem.num_groups()));
  }
  if (!any_device) {
    agents::require_placeable(problem, placement, "the agent's placement");
    return;
  }
  for (GroupId group = 0; group < placement.size(); ++group) {
    if (placement[group] < 0 || placement[group] >= problem.num_devices()) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("the agent put group {} on device {} of {}", group, placement[group],
                              problem.num_devices()));
    }
  }
}

void place_and_simulate(const Problem& problem, const Policies& policies,
                        const std::atomic<bool>& stop, const CellWatch& watch, CellResult& result) {
  const Cell& cell = result.cell;
  const bool any_device = !cell.agent.info().respects_placeable;
  ImprovementClock clock;
  agents::Evaluator evaluator(
      problem, {.seed = cell.seed(),
                .budget = {.max_evaluations = cell.max_evaluations,
                           .max_time = watch.max_time,
                           .stop = &stop},
                .enough_us = watch.ends_at_bound ? result.bound_us * (1 + kBoundRounding) : 0,
                .any_device = any_device,
                .progress = watch.progress,
                .improved = [&](const agents::Incumbent::Improvement& improvement) {
                  clock.note(improvement);
                  if (watch.improved) {
                    watch.improved(improvement);
                  }
                }});
  const std::unique_ptr<agents::Agent> agent = cell.agent.make(cell.groups_are_given());
  auto* const learner = dynamic_cast<agents::TrainableAgent*>(agent.get());
  if (!cell.policy.empty()) {
    EMPLACE_CHECK(learner != nullptr, "{} has no policies", cell.agent.name());
    learner->load(policies.at(cell.training).file.policy.root());
  }
  if (watch.policy != nullptr) {
    EMPLACE_CHECK(learner != nullptr, "{} has no policies", cell.agent.name());
    learner->load(watch.policy->policy.root());
  }
  if (watch.start) {
    evaluator.evaluate(*watch.start);
  }
  Placement placement = cell.learns ? agent->place(problem, evaluator)
                                    : learner->place_with_policy(problem, evaluator);
  check_placement(placement, problem, any_device);
  problem.constrain(placement);
  Simulator simulator(problem);
  const SimResult& step = simulator.run(placement);
  result.status = step.status == StepStatus::kOk ? CellStatus::kOk : CellStatus::kOutOfMemory;
  result.step_time_us = step.makespan_us;
  result.peak_bytes.assign(step.peak_bytes.begin(), step.peak_bytes.end());
  result.bound_us = std::max(result.bound_us, evaluator.incumbent().proven_bound_us());
  result.evaluations = evaluator.budget().evaluations();
  result.evaluations_to_best = evaluator.incumbent().evaluations_to_best();
  if (learner != nullptr) {
    result.evaluations_per_episode = learner->evaluations_per_episode(problem.num_groups());
  }
  result.evaluations_to_near_best = evaluator.incumbent().evaluations_to_within(kNearBest);
  result.problem_groups = problem.num_groups();
  result.decision_groups = agent->decision_groups(problem);
  result.placement_hash = hash_of(placement);
  result.placement = std::move(placement);
  result.history = thin_out(clock.timed(evaluator.incumbent().improvements()), kHistoryStep);
}

// The step times of the cell's placement where costs are drawn anew; the same draws for all cells
// of a problem.
std::vector<double> draws_of(const CellResult& result, const Problem& problem) {
  if (result.status == CellStatus::kFailed || num_uncertain_costs(problem, result.placement) == 0) {
    return {};
  }
  std::vector<Draws> draws;
  // Isolated, so that this thread does not begin another cell while it waits for others.
  tbb::this_task_arena::isolate([&] {
    draws = simulate_draws(problem, {&result.placement, 1}, {.draws = kCellDraws});
  });
  return std::move(draws.front().makespan_us);
}

// What came of a cell: a result, or a fault of the machine.
struct Attempt {
  CellResult result{};
  std::string fault{};  // empty if there is a result
};

Attempt attempt(const Cell& cell, const ProblemSet& problems, const Policies& policies,
                const std::atomic<bool>& stop) {
  try {
    return {.result = run_suite_cell(cell, problems, policies, stop)};
  } catch (...) {
    std::optional<std::string> fault = machine_fault(std::current_exception());
    if (!fault) {
      throw;
    }
    return {.fault = std::move(*fault)};
  }
}

// Returns the cells that the machine could not run.
std::vector<CellFault> attempt_all(const std::vector<const Cell*>& order,
                                   const ProblemSet& problems, const Policies& policies,
                                   int threads, const std::atomic<bool>& stop,
                                   const std::function<void(const CellResult&)>& sink) {
  std::vector<CellFault> faults;
  run_in_parallel<Attempt>(
      order.size(), threads, stop,
      [&](std::size_t at) { return attempt(*order[at], problems, policies, stop); },
      [&](std::size_t at, const Attempt& attempt) {
        if (attempt.fault.empty()) {
          sink(attempt.result);
        } else {
          faults.push_back({*order[at], attempt.fault});
        }
      });
  return faults;
}

}  // namespace

CellResult run_cell(const Cell& cell, const ProblemSet::Entry& entry, const Policies& policies,
                    const std::atomic<bool>& stop, const CellWatch& watch) {
  const auto start = std::chrono::steady_clock::now();
  CellResult result;
  result.cell = cell;
  result.bound_us = entry.bounds.best_us();
  try {
    place_and_simulate(entry.problem, policies, stop, watch, result);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const std::exception& error) {
    result.status = CellStatus::kFailed;
    result.message = error.what();
  } catch (...) {
    result.status = CellStatus::kFailed;
    result.message = "the agent threw something that is not a std::exception";
  }
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string describe(std::span<const CellFault> faults, std::size_t num_cells) {
  const CellFault& first = faults.front();
  return fmt::format(
      "{} of {} cells could not be run on this machine, the first, {} on {} by {}, because: {}",
      faults.size(), num_cells, first.cell.graph, first.cell.cluster, first.cell.agent.text(),
      first.reason);
}

CellResult run_suite_cell(const Cell& cell, const ProblemSet& problems, const Policies& policies,
                          const std::atomic<bool>& stop) {
  const ProblemSet::Entry& entry = problems.find(cell);
  CellResult result = run_cell(cell, entry, policies, stop);
  result.draws_us = draws_of(result, entry.problem);
  return result;
}

std::vector<double> work_of(std::span<const Cell> cells, const ProblemSet& problems) {
  std::map<const Problem*, ProblemSize> sizes;
  std::vector<double> work;
  work.reserve(cells.size());
  for (const Cell& cell : cells) {
    const Problem& problem = problems.find(cell).problem;
    auto size = sizes.find(&problem);
    if (size == sizes.end()) {
      size = sizes.emplace(&problem, size_of(problem)).first;
    }
    work.push_back(work_of(cell, size->second));
  }
  return work;
}

std::vector<const Cell*> longest_first(std::span<const Cell> cells, const ProblemSet& problems) {
  const std::vector<double> work = work_of(cells, problems);
  std::vector<const Cell*> order;
  order.reserve(cells.size());
  for (const Cell& cell : cells) {
    order.push_back(&cell);
  }
  std::ranges::stable_sort(order, std::greater(), [&](const Cell* cell) {
    return work[static_cast<std::size_t>(cell - cells.data())];
  });
  return order;
}

std::optional<std::string> machine_fault(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::system_error& fault) {
    return fault.what();
  } catch (...) {
    return std::nullopt;
  }
}

std::vector<CellFault> run_alone(std::vector<CellFault> faults, const ProblemSet& problems,
                                 const Policies& policies, const std::atomic<bool>& stop,
                                 const std::function<void(const CellResult&)>& sink) {
  std::vector<const Cell*> again;
  again.reserve(faults.size());
  for (const CellFault& fault : faults) {
    again.push_back(&fault.cell);
  }
  return again.empty() || stop ? std::move(faults)
                               : attempt_all(again, problems, policies, 1, stop, sink);
}

std::vector<CellFault> ThreadExecutor::run_cells(
    std::span<const Cell> cells, const ProblemSet& problems, const Policies& policies,
    const std::atomic<bool>& stop, const std::function<void(const CellResult&)>& sink) {
  return run_alone(
      attempt_all(longest_first(cells, problems), problems, policies, threads_, stop, sink),
      problems, policies, stop, sink);
}

void ThreadExecutor::train_policies(
    std::span<const SuiteTraining> trainings, const std::atomic<bool>& stop,
    const std::function<void(const SuiteTraining&, const TrainedPolicy&)>& sink) {
  run_in_parallel<TrainedPolicy>(
      trainings.size(), threads_, stop,
      [&](std::size_t at) { return train_policy(trainings[at], threads_, stop); },
      [&](std::size_t at, const TrainedPolicy& trained) { sink(trainings[at], trained); });
}

}  // namespace emplace::bench
