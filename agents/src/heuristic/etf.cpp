#include "heuristics.hpp"
#include "list_scheduling.hpp"
#include "ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

namespace emplace::agents {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The ready groups of one device by when they can start there. Once the data of a group has come,
// it waits for the device alone, and the device never becomes free sooner than it was.
class Queue {
 public:
  // When a group could start, and what ties go by.
  struct Candidate {
    double start_us;
    double minus_level_us;
    std::int32_t rank;
    GroupId group;

    std::tuple<double, double, std::int32_t> key() const {
      return {start_us, minus_level_us, rank};
    }
  };

  /// Adds a group whose data is there at candidate.start_us.
  void add(const Candidate& candidate) { coming_.push(candidate); }

  /// Returns the candidate that can start first on a device that is free from `free_us` on;
  /// nothing if there is none. Requires: `free_us` never falls.
  std::optional<Candidate> first(double free_us, const ListSchedule& schedule) {
    while (!coming_.empty() && coming_.top().start_us <= free_us) {
      Candidate candidate = coming_.top();
      candidate.start_us = 0;  // the same for all that are there
      there_.push(candidate);
      coming_.pop();
    }
    for (Heap* heap : {&there_, &coming_}) {
      while (!heap->empty() && !schedule.is_ready(heap->top().group)) {
        heap->pop();
      }
    }
    if (!there_.empty()) {
      Candidate candidate = there_.top();
      candidate.start_us = free_us;
      return candidate;
    }
    return coming_.empty() ? std::nullopt : std::optional(coming_.top());
  }

 private:
  struct ComesLater {
    bool operator()(const Candidate& a, const Candidate& b) const { return a.key() > b.key(); }
  };
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>, ComesLater>;

  Heap coming_;  // whose data has not come when the device is free
  Heap there_;   // whose data has
};

// Assigns all groups, the earliest pair after the other.
void assign_earliest(const Problem& problem, MemorySchedule& schedule, const GroupTimes& level_us) {
  const std::span<const DeviceId> devices = problem.used_devices();
  std::vector<Queue> queues(devices.size());
  std::vector<double> free_us(devices.size(), 0.0);
  const auto add = [&](GroupId group) {
    for (const DeviceId device : schedule.devices_for(group)) {
      const auto at =
          static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin());
      queues[at].add(
          {schedule.ready_us(group, device), -level_us[group], schedule.rank(group), group});
    }
  };
  std::ranges::for_each(schedule.ready_groups(), add);
  for (GroupId left = problem.num_groups(); left > 0 && !schedule.is_stopped(); --left) {
    GroupId group = 0;
    std::size_t device = 0;
    // The key of the pair, its cost and its device.
    std::tuple<double, double, std::int32_t, double, std::size_t> least{kNever, kNever, 0, 0, 0};
    for (std::size_t at = 0; at < devices.size(); ++at) {
      if (const auto found = queues[at].first(free_us[at], schedule)) {
        const auto pair = std::tuple_cat(
            found->key(), std::tuple(problem.group_cost_us(found->group, devices[at]), at));
        if (pair < least) {
          least = pair;
          group = found->group;
          device = at;
        }
      }
    }
    // Since it was ready, a group with which this one must be together may have been assigned.
    if (const auto allowed = schedule.devices_for(group);
        std::ranges::find(allowed, devices[device]) == allowed.end()) {
      device =
          static_cast<std::size_t>(std::ranges::find(devices, allowed.front()) - devices.begin());
    }
    schedule.assign(group, devices[device]);
    free_us[device] = schedule.finish_us(group);
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      if (schedule.is_ready(edge.consumer)) {
        add(edge.consumer);
      }
    }
  }
}

}  // namespace

// Earliest task first: repeatedly takes, of all ready groups and devices, the pair that can start
// first. Ties go to the group with the highest static level (its cost is that on the fastest
// device), then to topological order, then to the device that ends it sooner (Hwang et al. have
// identical processors), then to the first device. Where the step then does not fit, pairs of a
// device with room for the group come first. O(groups * devices * log(groups)); where memory is
// looked at, O(groups * ready groups * devices).
Placement etf(const Problem& problem, Budget& budget, StepOrder order) {
  const GroupTimes level_us =
      times_to_end_us(problem, least_costs_us(problem), Transfers::kIgnored);
  return place_by_schedule(
      problem, budget, order, IdleSlots::kLeave, MemoryRule::kWhereNeeded,
      [&](MemorySchedule& schedule) {
        if (!schedule.looks_at_memory()) {
          assign_earliest(problem, schedule, level_us);
        }
        assign_least_pairs(problem, schedule, [&](GroupId group, DeviceId device) {
          return std::pair(schedule.start_if(group, device), -level_us[group]);
        });
      });
}

namespace {

const AgentRegistration kEtf = list_scheduler(
    {.name = "etf",
     .summary = "list scheduling: the ready group and device that can start "
                "first",
     .description =
         "Earliest task first: list scheduling that repeatedly takes the pair of a ready group and "
         "a device that can start first. Ties go to the group with the longest path to the end of "
         "the step. It takes milliseconds. Where the placement does not fit into memory, devices "
         "with room come first, and the placement is repaired; m-etf always considers memory.",
     .reference = "Hwang, Chow, Anger, Lee, SIAM J. Comput. 18(2), 1989"},
    etf);

}  // namespace
}  // namespace emplace::agents
