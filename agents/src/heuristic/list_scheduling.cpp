#include "list_scheduling.hpp"

#include <emplace/sim/simulator.hpp>

#include <array>
#include <string>

namespace emplace::agents {
namespace {

constexpr std::array<const char*, 3> kOrders = {"queue", "plan", "faster"};

// Returns what a step takes, by which placements are compared: what fits first.
std::pair<std::int64_t, double> cost_of(Simulator& simulator, const Placement& placement) {
  const SimResult& step = simulator.run(placement);
  return {step.bytes_over, step.makespan_us};
}

}  // namespace

ParamSpec order_parameter() {
  return {.name = "order",
          .default_value = std::string(kOrders[0]),
          .choices = {kOrders.begin(), kOrders.end()},
          .summary =
              "order in which devices run their groups: that of the cluster (queue), that of the "
              "plan, stored as priorities of the placement (plan), or the faster of the two in "
              "simulation (faster)"};
}

StepOrder order_of(const Params& params) {
  const auto choice = std::ranges::find(kOrders, params.get<std::string>("order"));
  return static_cast<StepOrder>(choice - kOrders.begin());
}

Placement place_by_schedule(const Problem& problem, const Session& session, IdleSlots idle_slots,
                            MemoryRule memory_rule, StepOrder order,
                            const std::function<void(MemorySchedule&)>& assign_all) {
  const auto placed = [&](bool keeps_order) {
    const auto scheduled = [&](const MemoryReserve* reserve) {
      MemorySchedule schedule(problem, idle_slots, reserve, &session);
      assign_all(schedule);
      if (!schedule.ready_groups().empty()) {  // it was stopped
        Placement placement(problem.num_groups());
        for (GroupId group = 0; group < problem.num_groups(); ++group) {
          placement[group] = problem.placeable_devices().front();
        }
        return placement;
      }
      IdVector<GroupId, Priority> priorities;
      if (keeps_order) {
        priorities = schedule.priorities();
      }
      Placement placement = std::move(schedule).take();
      placement.set_priorities(std::move(priorities));
      return placement;
    };
    const MemoryReserve none(problem.num_devices(), 0);
    return fit_into_memory(
        problem, session, scheduled(memory_rule == MemoryRule::kAlways ? &none : nullptr),
        [&scheduled](const MemoryReserve& reserve) { return scheduled(&reserve); });
  };
  if (order != StepOrder::kFaster) {
    return placed(order == StepOrder::kPlan);
  }
  Placement by_queue = placed(false);
  Placement by_plan = placed(true);
  Simulator simulator(problem);
  return cost_of(simulator, by_plan) < cost_of(simulator, by_queue) ? by_plan : by_queue;
}

}  // namespace emplace::agents
