#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/sim/list_schedule.hpp>

#include <algorithm>
#include <optional>
#include <tuple>

namespace emplace::agents {
namespace {

// Baechi's m-ETF: as ETF, but a pair counts only if the group fits into the device's memory, and
// ties go to topological order. Adapted to groups, which are placed whole:
//   - a group needs its weights and all outputs of its members, and no scratch memory, as in the
//     simulator;
//   - outputs are freed when the last consuming group is scheduled, weights never, as in Baechi;
//   - transfers do not queue (ListSchedule), where Baechi has one channel for each device;
//   - where nothing fits, Baechi fails; here the first ready group goes to the device with the most
//     memory left;
//   - where the step does not fit all the same, it is repaired (memory_fit.hpp).
class MEtf final : public Agent {
 public:
  explicit MEtf(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    const auto scheduled = [&problem](const MemoryReserve& reserve) {
      return schedule(problem, reserve);
    };
    return fit_into_memory(problem, scheduled(MemoryReserve(problem.num_devices(), 0)), scheduled);
  }

 private:
  static Placement schedule(const Problem& problem, const MemoryReserve& reserve) {
    ListSchedule schedule(problem);
    schedule.reserve(reserve);
    while (!schedule.ready_groups().empty()) {
      const auto [group, device] =
          earliest(problem, schedule).value_or(most_free_memory(problem, schedule));
      schedule.assign(group, device);
    }
    return std::move(schedule).take();
  }

  using Pair = std::pair<GroupId, DeviceId>;

  static std::optional<Pair> earliest(const Problem& problem, const ListSchedule& schedule) {
    std::optional<Pair> best;
    std::tuple<double, std::size_t, double> best_key;
    const std::span<const GroupId> ready = schedule.ready_groups();
    for (std::size_t position = 0; position < ready.size(); ++position) {
      for (const DeviceId device : problem.placeable_devices()) {
        const GroupId group = ready[position];
        const std::tuple key(schedule.start_if(group, device), position,
                             problem.group_cost_us(group, device));
        if (schedule.fits(group, device) && (!best || key < best_key)) {
          best = {group, device};
          best_key = key;
        }
      }
    }
    return best;
  }

  static Pair most_free_memory(const Problem& problem, const ListSchedule& schedule) {
    return {schedule.ready_groups().front(),
            *std::ranges::max_element(problem.placeable_devices(), {}, [&](DeviceId device) {
              return schedule.free_bytes(device);
            })};
  }
};

EMPLACE_REGISTER_AGENT(
    MEtf, {.name = "m-etf",
           .kind = AgentKind::kHeuristic,
           .summary = "ETF among the devices that have memory left for the group",
           .description = "Etf with the memory rule of Baechi: a group goes only to a "
                          "device that has memory left for its weights and outputs. Use "
                          "it for models that do not fit on one device. Where nothing "
                          "fits, it uses the device with the most memory left, and "
                          "repairs the placement.",
           .reference = "Baechi: Jeon et al., SoCC 2020"});

}  // namespace
}  // namespace emplace::agents
