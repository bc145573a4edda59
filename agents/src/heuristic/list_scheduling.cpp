#include "list_scheduling.hpp"

#include <emplace/sim/simulator.hpp>

#include <array>
#include <memory>
#include <string>

namespace emplace::agents {
namespace {

constexpr std::array<const char*, 3> kOrders = {"queue", "plan", "faster"};

// Returns what a step takes, by which placements are compared: what fits first.
std::pair<std::int64_t, double> cost_of(Simulator& simulator, const Placement& placement) {
  const SimResult& step = simulator.run(placement);
  return {step.bytes_over, step.makespan_us};
}

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

class ListSchedulingAgent final : public Agent {
 public:
  ListSchedulingAgent(ListScheduler* scheduler, StepOrder order)
      : scheduler_(scheduler), order_(order) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    return scheduler_(problem, evaluator.budget(), order_);
  }

 private:
  ListScheduler* scheduler_;
  StepOrder order_;
};

}  // namespace

Placement place_by_schedule(const Problem& problem, Budget& budget, StepOrder order,
                            IdleSlots idle_slots, MemoryRule memory_rule,
                            const AssignAll& assign_all) {
  const auto placed = [&](bool keeps_order) {
    const auto scheduled = [&](const MemoryReserve* reserve) {
      MemorySchedule schedule(problem, idle_slots, reserve, &budget);
      assign_all(schedule);
      if (!schedule.ready_groups().empty()) {  // it was stopped
        return Placement(problem.num_groups(), problem.placeable_devices().front());
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
        problem, budget, scheduled(memory_rule == MemoryRule::kAlways ? &none : nullptr),
        [&scheduled](const MemoryReserve& reserve) { return scheduled(&reserve); });
  };
  if (order != StepOrder::kFaster) {
    return placed(order == StepOrder::kPlan);
  }
  Placement by_queue = placed(false);
  Placement by_plan = placed(true);
  constexpr std::int64_t kCompared = 2;
  if (budget.evaluations_left() < kCompared) {
    return by_queue;
  }
  Simulator simulator(problem);
  budget.charge(kCompared);
  return cost_of(simulator, by_plan) < cost_of(simulator, by_queue) ? by_plan : by_queue;
}

AgentRegistration list_scheduler(AgentInfo info, ListScheduler* scheduler) {
  info.kind = AgentKind::kHeuristic;
  info.parameters = {order_parameter()};
  return {std::move(info), [scheduler](const Params& params) {
            return std::make_unique<ListSchedulingAgent>(scheduler, order_of(params));
          }};
}

}  // namespace emplace::agents
