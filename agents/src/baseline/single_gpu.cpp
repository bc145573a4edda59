#include "heuristic/heuristics.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
// Puts everything on the placeable device that needs the least time for all groups, the first among
// equals.
Placement single_gpu(const Problem& problem) {
  const auto total_us = [&problem](DeviceId device) {
    double sum = 0;
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      sum += problem.group_cost_us(group, device);
    }
    return sum;
  };
  DeviceId best = problem.placeable_devices().front();
  double best_us = total_us(best);
  for (const DeviceId device : problem.placeable_devices().subspan(1)) {
    if (const double us = total_us(device); us < best_us) {
      best = device;
      best_us = us;
    }
  }
  return Placement(problem.num_groups(), best);
}

namespace {

class SingleGpu final : public Agent {
 public:
  explicit SingleGpu(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override { return single_gpu(problem); }
};

EMPLACE_REGISTER_AGENT(
    SingleGpu,
    {.name = "single-gpu",
     .kind = AgentKind::kBaseline,
     .summary = "everything on the fastest placeable device",
     .description = "Puts every group on the placeable device with the least total time for all "
                    "groups, or the first of several such devices. Slots are ignored. No transfer "
                    "is needed, so this is the time that a placement on several devices has to "
                    "beat, as long as the memory of one device suffices.",
     .reference = "Addanki et al. 2019, single GPU"});

}  // namespace
}  // namespace emplace::agents
