#include "list_scheduling.hpp"

namespace emplace::agents {

Placement place_by_schedule(const Problem& problem, IdleSlots idle_slots, MemoryRule memory_rule,
                            const std::function<void(MemorySchedule&)>& assign_all) {
  const auto scheduled = [&](const MemoryReserve* reserve) {
    MemorySchedule schedule(problem, idle_slots, reserve);
    assign_all(schedule);
    return std::move(schedule).take();
  };
  const MemoryReserve none(problem.num_devices(), 0);
  return fit_into_memory(
      problem, scheduled(memory_rule == MemoryRule::kAlways ? &none : nullptr),
      [&scheduled](const MemoryReserve& reserve) { return scheduled(&reserve); });
}

}  // namespace emplace::agents
