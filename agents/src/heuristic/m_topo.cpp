#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>

namespace emplace::agents {
namespace {

// Baechi's m-TOPO: fills device after device in topological order, each up to an even share of all
// memory plus the largest group. Adapted to groups: one takes its weights and all outputs of its
// members, nothing is freed (as in Baechi's test), and a share is no larger than the device. Where
// the last device is full too, the rest goes to the device with the most memory left, and the
// placement is repaired (memory_fit.hpp); Baechi fails then.
class MTopo final : public Agent {
 public:
  explicit MTopo(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    const auto filled = [&problem](const MemoryReserve& reserve) { return fill(problem, reserve); };
    return fit_into_memory(problem, filled(MemoryReserve(problem.num_devices(), 0)), filled);
  }

 private:
  static Placement fill(const Problem& problem, const MemoryReserve& reserve) {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    const auto bytes = [&problem](GroupId group) {
      return problem.group_persistent_bytes(group) + problem.group_output_bytes(group);
    };
    std::int64_t total = 0;
    std::int64_t largest = 0;
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      total += bytes(group);
      largest = std::max(largest, bytes(group));
    }
    const std::int64_t share = total / static_cast<std::int64_t>(devices.size()) + largest;

    std::vector<std::int64_t> used(devices.size(), 0);
    const auto left = [&](std::size_t device) {
      const std::int64_t usable = problem.memory_bytes(devices[device]) - reserve[devices[device]];
      return std::min(share, usable) - used[device];
    };
    Placement placement(problem.num_groups());
    std::size_t current = 0;
    for (const GroupId group : problem.group_order()) {
      while (current < devices.size() && bytes(group) > left(current)) {
        ++current;
      }
      std::size_t chosen = current;
      if (current == devices.size()) {
        chosen = 0;
        for (std::size_t device = 1; device < devices.size(); ++device) {
          chosen = left(device) > left(chosen) ? device : chosen;
        }
      }
      used[chosen] += bytes(group);
      placement[group] = devices[chosen];
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(
    MTopo, {.name = "m-topo",
            .kind = AgentKind::kHeuristic,
            .summary = "fills one device after the other to an even share of the "
                       "memory",
            .description = "Walks the groups in topological order and fills one device "
                           "after the other, each up to an even share of the memory that "
                           "all groups need. It is Baechi's simplest rule: few "
                           "transfers, no overlap of work. Use it as a quick placement "
                           "that fits where a single device is too small.",
            .reference = "Baechi: Jeon et al., SoCC 2020"});

}  // namespace
}  // namespace emplace::agents
