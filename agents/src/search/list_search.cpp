#include "list_search.hpp"

#include "heuristic/ranks.hpp"
#include "memory_penalty.hpp"

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

// Evaluations of a cycle for each group: then the next begins at the best list.
constexpr std::int64_t kCycle = 50;

// Makes placements of lists; a workspace.
class ListScheduling {
 public:
  explicit ListScheduling(const Problem& problem)
      : problem_(problem),
        placement_(problem.num_groups()),
        priorities_(problem.num_groups()),
        waiting_for_(problem.num_groups()),
        finish_us_(problem.num_groups()),
        free_us_(problem.num_devices()) {}

  // Schedules the group and device that can start first; ties go to the group with the largest key.
  const Placement& run(const GroupTimes& keys) {
    std::fill(free_us_.begin(), free_us_.end(), 0.0);
    ready_.clear();
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      waiting_for_[group] = problem_.group_in_edges(group).size();
      if (waiting_for_[group] == 0) {
        ready_.push_back(group);
      }
    }
    for (Priority priority = problem_.num_groups(); !ready_.empty(); --priority) {
      const GroupId group = assign_next(keys);
      priorities_[group] = priority;
      for (const GroupEdge& edge : problem_.group_out_edges(group)) {
        if (--waiting_for_[edge.consumer] == 0) {
          ready_.push_back(edge.consumer);
        }
      }
    }
    placement_.set_priorities(priorities_);
    return placement_;
  }

 private:
  // Takes the ready group that can start first, of those the one with the largest key, and puts it
  // where it can.
  GroupId assign_next(const GroupTimes& keys) {
    double least_us = std::numeric_limits<double>::infinity();
    std::size_t chosen = 0;
    DeviceId to = 0;
    for (std::size_t at = 0; at < ready_.size(); ++at) {
      for (const DeviceId device : problem_.placeable_devices()) {
        const double start_us = start_if(ready_[at], device);
        if (start_us < least_us ||
            (start_us == least_us && keys[ready_[at]] > keys[ready_[chosen]])) {
          least_us = start_us;
          chosen = at;
          to = device;
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

  double start_if(GroupId group, DeviceId device) const {
    double start_us = free_us_[device];
    for (const GroupEdge& edge : problem_.group_in_edges(group)) {
      const DeviceId from = placement_[edge.producer];
      const double transfer_us =
          from == device || edge.bytes == 0 ? 0.0 : problem_.transfer_us(edge.bytes, from, device);
      start_us = std::max(start_us, finish_us_[edge.producer] + transfer_us);
    }
    return start_us;
  }

  const Problem& problem_;
  Placement placement_;
  IdVector<GroupId, Priority> priorities_;
  IdVector<GroupId, std::size_t> waiting_for_;
  IdVector<GroupId, double> finish_us_;
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
  GroupTimes keys = times_to_end_us(problem, costs_us, Transfers::kMean);
  GroupTimes best_keys = keys;
  ListScheduling scheduling(problem);
  MemoryPenalty penalty;
  Evaluation reached = evaluator.evaluate(scheduling.run(keys));
  Evaluation best = reached;
  std::int64_t in_cycle = 0;
  while (!evaluator.budget().exhausted() && evaluator.budget().share_used() < until_share) {
    const double progress = std::min(
        1.0, static_cast<double>(++in_cycle) / static_cast<double>(kCycle * problem.num_groups()));
    const double temperature_us =
        mean_time_us * kInitialTemperature *
        exp_of(progress * log_of(kFinalTemperature / kInitialTemperature));
    RandomStream& random = evaluator.random();
    const auto group = static_cast<GroupId>(random.below(num_groups));
    const auto other = static_cast<GroupId>(random.below(num_groups));
    const double before = keys[group];
    keys[group] = keys[other] + mean_time_us * (random.uniform() - 0.5);
    const Evaluation tried = evaluator.evaluate(scheduling.run(keys));
    if (tried.status == EvaluationStatus::kBudgetSpent) {
      return;
    }
    const double limit_us =
        penalty.objective_us(reached) - temperature_us * log_of(1 - random.uniform());
    if (penalty.objective_us(tried) < limit_us) {
      reached = tried;
    } else {
      keys[group] = before;
    }
    penalty.update(reached);
    if (tried.better_than(best)) {
      best = tried;
      best_keys = keys;
    }
    if (progress >= 1) {
      keys = best_keys;
      reached = best;
      in_cycle = 0;
    }
  }
}

}  // namespace emplace::agents
