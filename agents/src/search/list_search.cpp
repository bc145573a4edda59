#include "list_search.hpp"

#include "heuristic/ranks.hpp"
#include "memory_penalty.hpp"

#include <emplace/agents/move_evaluator.hpp>
#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace::agents {
namespace {

// In mean times of a group, at the beginning and at the end.
constexpr double kInitialTemperature = 0.2;
constexpr double kFinalTemperature = 0.01;

// Lists of a cycle for each group: then the next begins at the best list.
constexpr std::int64_t kCycle = 50;

// A list whose plan takes longer than may be accepted is not simulated, but one of so many is.
constexpr std::int64_t kMostNotSimulated = 64;

// Makes placements of lists; a workspace.
class ListScheduling {
 public:
  explicit ListScheduling(const Problem& problem)
      : problem_(problem),
        placement_(problem.num_groups()),
        priorities_(problem.num_groups()),
        waiting_for_(problem.num_groups()),
        finish_us_(problem.num_groups()),
        arrival_us_(index_of(problem.num_groups()) * problem.placeable_devices().size()),
        free_us_(problem.num_devices()) {}

  // Schedules the group and device that can start first; ties go to the group with the largest key.
  const Placement& run(const GroupTimes& keys) {
    std::fill(free_us_.begin(), free_us_.end(), 0.0);
    ready_.clear();
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      waiting_for_[group] = problem_.group_in_edges(group).size();
      if (waiting_for_[group] == 0) {
        make_ready(group);
      }
    }
    for (Priority priority = problem_.num_groups(); !ready_.empty(); --priority) {
      const GroupId group = assign_next(keys);
      priorities_[group] = priority;
      for (const GroupEdge& edge : problem_.group_out_edges(group)) {
        if (--waiting_for_[edge.consumer] == 0) {
          make_ready(edge.consumer);
        }
      }
    }
    placement_.set_priorities(priorities_);
    return placement_;
  }

  // Returns when the last group of the schedule ends.
  double makespan_us() const { return *std::ranges::max_element(finish_us_); }

 private:
  // Finds when what the group reads is on each device.
  void make_ready(GroupId group) {
    ready_.push_back(group);
    const std::span<const DeviceId> devices = problem_.placeable_devices();
    for (std::size_t at = 0; at < devices.size(); ++at) {
      double arrival_us = 0;
      for (const GroupEdge& edge : problem_.group_in_edges(group)) {
        const DeviceId from = placement_[edge.producer];
        const double transfer_us = from == devices[at] || edge.bytes == 0
                                       ? 0.0
                                       : problem_.transfer_us(edge.bytes, from, devices[at]);
        arrival_us = std::max(arrival_us, finish_us_[edge.producer] + transfer_us);
      }
      arrival_us_[index_of(group) * devices.size() + at] = arrival_us;
    }
  }

  // Takes the ready group that can start first, of those the one with the largest key, and puts it
  // where it can.
  GroupId assign_next(const GroupTimes& keys) {
    const std::span<const DeviceId> devices = problem_.placeable_devices();
    double least_us = std::numeric_limits<double>::infinity();
    std::size_t chosen = 0;
    DeviceId to = 0;
    for (std::size_t at = 0; at < ready_.size(); ++at) {
      const double* const arrival_us = arrival_us_.data() + index_of(ready_[at]) * devices.size();
      for (std::size_t device = 0; device < devices.size(); ++device) {
        const double start_us = std::max(free_us_[devices[device]], arrival_us[device]);
        if (start_us < least_us ||
            (start_us == least_us && keys[ready_[at]] > keys[ready_[chosen]])) {
          least_us = start_us;
          chosen = at;
          to = devices[device];
        }
      }
    }
    const GroupId group = ready_[chosen];
    ready_[chosen] = ready_.back();
    ready_.pop_back();
    placement_[group] = to;
    finish_us_[group] = free_us_[to] = least_us + problem_.group_cost_us(group, to);
    return group;
  }

  const Problem& problem_;
  Placement placement_;
  IdVector<GroupId, Priority> priorities_;
  IdVector<GroupId, std::size_t> waiting_for_;
  IdVector<GroupId, double> finish_us_;
  std::vector<double> arrival_us_;  // by group, placeable device
  IdVector<DeviceId, double> free_us_;
  std::vector<GroupId> ready_;
};

double mean_of(const GroupTimes& times) {
  double sum = 0;
  for (const double time : times) {
    sum += time;
  }
  return sum / static_cast<double>(times.size());
}

}  // namespace

void search_lists(Evaluator& evaluator, double until_share) {
  const Problem& problem = evaluator.problem();
  const GroupTimes costs_us = mean_costs_us(problem);
  const double mean_time_us = mean_of(costs_us);
  const auto num_groups = static_cast<std::uint64_t>(problem.num_groups());
  RandomStream& random = evaluator.random();
  GroupTimes keys = times_to_end_us(problem, costs_us, Transfers::kMean);
  ListScheduling scheduling(problem);
  MoveEvaluator steps(evaluator);
  MemoryPenalty penalty;
  Evaluation reached = steps.start(scheduling.run(keys));
  double reached_plan_us = scheduling.makespan_us();
  Evaluation best = reached;
  double best_plan_us = reached_plan_us;
  GroupTimes best_keys = keys;
  std::int64_t in_cycle = 0;
  std::int64_t not_simulated = 0;
  while (!evaluator.budget().exhausted() && evaluator.budget().share_used() < until_share) {
    const double progress = std::min(
        1.0, static_cast<double>(++in_cycle) / static_cast<double>(kCycle * problem.num_groups()));
    const double temperature_us =
        mean_time_us * kInitialTemperature *
        exp_of(progress * log_of(kFinalTemperature / kInitialTemperature));
    const double tolerance_us = -temperature_us * log_of(1 - random.uniform());
    const auto group = static_cast<GroupId>(random.below(num_groups));
    const auto other = static_cast<GroupId>(random.below(num_groups));
    const double before = keys[group];
    keys[group] = keys[other] + mean_time_us * (random.uniform() - 0.5);
    const Placement& placement = scheduling.run(keys);
    const double plan_us = scheduling.makespan_us();
    Evaluation tried;
    if (plan_us < reached_plan_us + tolerance_us || ++not_simulated == kMostNotSimulated) {
      not_simulated = 0;
      tried = steps.start(placement);
      if (tried.status == EvaluationStatus::kBudgetSpent) {
        return;
      }
    }
    if (penalty.objective_us(tried) < penalty.objective_us(reached) + tolerance_us) {
      reached = tried;
      reached_plan_us = plan_us;
    } else {
      keys[group] = before;
    }
    penalty.update(reached);
    if (tried.better_than(best)) {
      best = tried;
      best_plan_us = plan_us;
      best_keys = keys;
    }
    if (progress >= 1) {
      keys = best_keys;
      reached = best;
      reached_plan_us = best_plan_us;
      in_cycle = 0;
    }
  }
}

}  // namespace emplace::agents
