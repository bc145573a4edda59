#include <emplace/agents/agent.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>

namespace emplace::agents {
namespace {

// Longest way from the start of each group to the end of the step, with the mean cost over the
// placeable devices and the time of each transfer:  rank(g) = mean cost(g) + max over consumers
// (c(g, s) + rank(s)).
std::vector<double> upward_ranks(const Problem& problem) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  std::vector<double> rank(static_cast<std::size_t>(problem.num_groups()), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    double below = 0;
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      below = std::max(below, problem.mean_transfer_us(edge.bytes) +
                                  rank[static_cast<std::size_t>(edge.consumer)]);
    }
    double cost = 0;
    for (const DeviceId device : devices) {
      cost += problem.group_cost_us(*group, device);
    }
    rank[static_cast<std::size_t>(*group)] = cost / static_cast<double>(devices.size()) + below;
  }
  return rank;
}

// Groups by upward rank, highest first; each goes where it ends first, also into an idle slot.
class Heft final : public Agent {
 public:
  explicit Heft(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    const std::vector<double> rank = upward_ranks(problem);
    std::vector<GroupId> order(problem.group_order().begin(), problem.group_order().end());
    // Stable: among equals (a producer that costs nothing) topological order must stay.
    std::stable_sort(order.begin(), order.end(), [&rank](GroupId a, GroupId b) {
      return rank[static_cast<std::size_t>(a)] > rank[static_cast<std::size_t>(b)];
    });

    ListSchedule schedule(problem, IdleSlots::kFill);
    for (const GroupId group : order) {
      schedule.assign(
          group, *std::ranges::min_element(problem.placeable_devices(), {}, [&](DeviceId device) {
            return schedule.finish_if(group, device);
          }));
    }
    return std::move(schedule).take();
  }
};

EMPLACE_REGISTER_AGENT(
    Heft, {.name = "heft",
           .kind = AgentKind::kHeuristic,
           .summary = "by longest way to the end, each where it finishes first, with insertion",
           .reference = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002"});

}  // namespace
}  // namespace emplace::agents
