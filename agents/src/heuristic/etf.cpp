#include <emplace/agents/agent.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace emplace::agents {
namespace {

// Longest way from the start of each group to the end of the step, without transfers; of the
// placeable devices the fastest counts.
std::vector<double> static_levels(const Problem& problem) {
  std::vector<double> level(static_cast<std::size_t>(problem.num_groups()), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    double below = 0;
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      below = std::max(below, level[static_cast<std::size_t>(edge.consumer)]);
    }
    double cost = std::numeric_limits<double>::infinity();
    for (const DeviceId device : problem.placeable_devices()) {
      cost = std::min(cost, problem.group_cost_us(*group, device));
    }
    level[static_cast<std::size_t>(*group)] = cost + below;
  }
  return level;
}

// Of all ready groups and devices, again and again the pair that can start first; among equals the
// group with the highest static level, then topological order, then the device that ends it sooner
// (Hwang et al. know only identical processors), then the first device.
class Etf final : public Agent {
 public:
  explicit Etf(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    const std::vector<double> level = static_levels(problem);
    ListSchedule schedule(problem);
    while (!schedule.ready_groups().empty()) {
      const std::span<const GroupId> ready = schedule.ready_groups();
      const auto key = [&](std::size_t position, DeviceId device) {
        const GroupId group = ready[position];
        return std::tuple(schedule.start_if(group, device), -level[static_cast<std::size_t>(group)],
                          position, problem.group_cost_us(group, device));
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

EMPLACE_REGISTER_AGENT(Etf, {.name = "etf",
                             .kind = AgentKind::kHeuristic,
                             .summary = "the ready group and device that can start first",
                             .reference = "Hwang, Chow, Anger, Lee, SIAM J. Comput. 18(2), 1989"});

}  // namespace
}  // namespace emplace::agents
