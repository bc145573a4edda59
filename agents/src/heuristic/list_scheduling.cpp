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

Placement place_by_schedule(const Problem& problem, Session& session, IdleSlots idle_slots,
                            MemoryRule memory_rule, StepOrder order, const AssignAll& assign_all) {
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
  constexpr std::int64_t kCompared = 2;
  if (session.evaluations_left() < kCompared) {
    return by_queue;
  }
  Simulator simulator(problem);
  session.charge(kCompared);
  return cost_of(simulator, by_plan) < cost_of(simulator, by_queue) ? by_plan : by_queue;
}

class ListScheduler final : public Agent {
 public:
  using Scheduler = std::function<AssignAll(const Problem&, const Session&)>;

  ListScheduler(IdleSlots idle_slots, MemoryRule memory_rule, StepOrder order, Scheduler scheduler)
      : idle_slots_(idle_slots),
        memory_rule_(memory_rule),
        order_(order),
        scheduler_(std::move(scheduler)) {}

  Placement place(const Problem& problem, Session& session) override {
    return place_by_schedule(problem, session, idle_slots_, memory_rule_, order_,
                             scheduler_(problem, session));
  }

 private:
  IdleSlots idle_slots_;
  MemoryRule memory_rule_;
  StepOrder order_;
  Scheduler scheduler_;
};

}  // namespace

AgentRegistration list_scheduler(
    AgentInfo info, IdleSlots idle_slots, MemoryRule memory_rule,
    const std::function<AssignAll(const Problem&, const Session&)>& scheduler) {
  info.kind = AgentKind::kHeuristic;
  info.parameters = {order_parameter()};
  return {std::move(info), [=](const Params& params) {
            return std::make_unique<ListScheduler>(idle_slots, memory_rule, order_of(params),
                                                   scheduler);
          }};
}

}  // namespace emplace::agents
