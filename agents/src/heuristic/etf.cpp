#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace emplace::agents {
namespace {

// Returns the length of the longest path from each group to the end of the step, without transfers,
// at the cost on the fastest placeable device.
IdVector<GroupId, double> static_levels(const Problem& problem) {
  IdVector<GroupId, double> level(static_cast<std::size_t>(problem.num_groups()), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    double below = 0;
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      below = std::max(below, level[edge.consumer]);
    }
    double cost = std::numeric_limits<double>::infinity();
    for (const DeviceId device : problem.placeable_devices()) {
      cost = std::min(cost, problem.group_cost_us(*group, device));
    }
    level[*group] = cost + below;
  }
  return level;
}

// Earliest task first: repeatedly takes, of all ready groups and devices, the pair that can start
// first. Ties go to the group with the highest static level, then to topological order, then to the
// device that ends it sooner (Hwang et al. have identical processors), then to the first device.
// Where the step then does not fit, pairs of a device with room for the group come first.
class Etf final : public Agent {
 public:
  explicit Etf(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    return fit_into_memory(problem, schedule(problem, nullptr), [&](const MemoryReserve& reserve) {
      return schedule(problem, &reserve);
    });
  }

 private:
  // Looks at memory if there is a reserve.
  static Placement schedule(const Problem& problem, const MemoryReserve* reserve) {
    const IdVector<GroupId, double> level = static_levels(problem);
    ListSchedule schedule(problem);
    if (reserve != nullptr) {
      schedule.reserve(*reserve);
    }
    while (!schedule.ready_groups().empty()) {
      const std::span<const GroupId> ready = schedule.ready_groups();
      const auto key = [&](std::size_t position, DeviceId device) {
        const GroupId group = ready[position];
        const bool is_too_full = reserve != nullptr && !schedule.fits(group, device);
        return std::tuple(is_too_full, schedule.start_if(group, device), -level[group], position,
                          problem.group_cost_us(group, device));
      };
      std::pair best(std::size_t{0}, problem.placeable_devices().front());
      for (std::size_t position = 0; position < ready.size(); ++position) {
        for (const DeviceId device : problem.placeable_devices()) {
          if (key(position, device) < key(best.first, best.second)) {
            best = {position, device};
          }
        }
      }
      schedule.assign(ready[best.first], best.second);
    }
    return std::move(schedule).take();
  }
};

EMPLACE_REGISTER_AGENT(
    Etf, {.name = "etf",
          .kind = AgentKind::kHeuristic,
          .summary = "list scheduling: the ready group and device that can start "
                     "first",
          .description = "Earliest task first: list scheduling that again and again "
                         "takes the pair of a ready group and a device that can start "
                         "first. Ties go to the group with the longest path to the end "
                         "of the step. It takes milliseconds. Where the placement "
                         "does not fit into memory, devices with room come first, "
                         "and the placement is repaired; m-etf looks at memory "
                         "always.",
          .reference = "Hwang, Chow, Anger, Lee, SIAM J. Comput. 18(2), 1989"});

}  // namespace
}  // namespace emplace::agents
