#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// Returns the length of the longest path from each group to the end of the step, with mean costs
// over the placeable devices and mean transfer times:
//     rank(g) = mean cost(g) + max over consumers s of (c(g, s) + rank(s)).
IdVector<GroupId, double> upward_ranks(const Problem& problem) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  IdVector<GroupId, double> rank(static_cast<std::size_t>(problem.num_groups()), 0.0);
  const std::span<const GroupId> order = problem.group_order();
  for (auto group = order.rbegin(); group != order.rend(); ++group) {
    double below = 0;
    for (const GroupEdge& edge : problem.group_out_edges(*group)) {
      below = std::max(below, problem.mean_transfer_us(edge.bytes) + rank[edge.consumer]);
    }
    double cost = 0;
    for (const DeviceId device : devices) {
      cost += problem.group_cost_us(*group, device);
    }
    rank[*group] = cost / static_cast<double>(devices.size()) + below;
  }
  return rank;
}

// Schedules groups by decreasing upward rank, each on the device where it ends first, also into an
// idle slot. Where the step then does not fit, devices with room for the group come first.
class Heft final : public Agent {
 public:
  explicit Heft(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    const IdVector<GroupId, double> rank = upward_ranks(problem);
    std::vector<GroupId> order(problem.group_order().begin(), problem.group_order().end());
    // Stable: among equal ranks (after a producer that costs nothing) topological order must stay.
    std::stable_sort(order.begin(), order.end(),
                     [&rank](GroupId a, GroupId b) { return rank[a] > rank[b]; });
    return fit_into_memory(
        problem, schedule(problem, order, nullptr),
        [&](const MemoryReserve& reserve) { return schedule(problem, order, &reserve); });
  }

 private:
  // Looks at memory if there is a reserve.
  static Placement schedule(const Problem& problem, const std::vector<GroupId>& order,
                            const MemoryReserve* reserve) {
    ListSchedule schedule(problem, IdleSlots::kFill);
    if (reserve != nullptr) {
      schedule.reserve(*reserve);
    }
    for (const GroupId group : order) {
      const auto key = [&](DeviceId device) {
        const bool is_too_full = reserve != nullptr && !schedule.fits(group, device);
        return std::pair(is_too_full, schedule.finish_if(group, device));
      };
      schedule.assign(group, *std::ranges::min_element(problem.placeable_devices(), {}, key));
    }
    return std::move(schedule).take();
  }
};

EMPLACE_REGISTER_AGENT(
    Heft, {.name = "heft",
           .kind = AgentKind::kHeuristic,
           .summary = "list scheduling by upward rank, each group where it finishes "
                      "first",
           .description = "Heterogeneous earliest finish time: ranks groups by their "
                          "longest path to the end of the step, transfers included, and "
                          "puts each on the device where it finishes first, also into "
                          "idle slots between groups that are scheduled already. The "
                          "usual first choice among heuristics; hill-climb can start "
                          "from its result. Where that does not fit into memory, it "
                          "prefers devices with room, and repairs the placement.",
           .reference = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002"});

}  // namespace
}  // namespace emplace::agents
