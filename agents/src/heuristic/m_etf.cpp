#include "heuristics.hpp"
#include "list_scheduling.hpp"

#include <utility>

namespace emplace::agents {

// Baechi's m-ETF: as ETF, but a pair counts only if the group fits into the device's memory, and
// ties go to topological order. Adapted to groups, which are placed whole:
//   - a group needs its weights and all outputs of its members, and no scratch memory, as in the
//     simulator;
//   - outputs are freed when the last consuming group is scheduled, weights never, as in Baechi;
//   - transfers do not queue (ListSchedule), where Baechi has one channel for each device;
//   - where nothing fits, Baechi fails; here the first ready group goes to the device with the most
//     memory left;
//   - where the step does not fit all the same, it is repaired (memory_fit.hpp).
Placement m_etf(const Problem& problem, Budget& budget, StepOrder order) {
  return place_by_schedule(problem, budget, order, IdleSlots::kLeave, MemoryRule::kAlways,
                           [&](MemorySchedule& schedule) {
                             while (schedule.goes_on()) {
                               const GroupOnDevice earliest = least_ready_pair(
                                   problem, schedule, [&](GroupId group, DeviceId device) {
                                     return std::pair(schedule.is_too_full(group, device),
                                                      schedule.start_if(group, device));
                                   });
                               const auto [group, device] =
                                   schedule.is_too_full(earliest.first, earliest.second)
                                       ? least_overflow(schedule)
                                       : earliest;
                               schedule.assign(group, device);
                             }
                           });
}

namespace {

const AgentRegistration kMEtf =
    list_scheduler({.name = "m-etf",
                    .summary = "ETF among the devices that have memory left for the group",
                    .description = "Etf with the memory rule of Baechi: a group goes only to a "
                                   "device that has memory left for its weights and outputs. Use "
                                   "it for models that do not fit on one device. Where nothing "
                                   "fits, it uses the device with the most memory left, and "
                                   "repairs the placement.",
                    .reference = "Baechi: Jeon et al., SoCC 2020"},
                   m_etf);

}  // namespace
}  // namespace emplace::agents
