#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// Puts everything on the first device whose class starts with "cpu"; where there is none, on the
// first placeable device, so that suites over mixed clusters need no exception.
class CpuOnly final : public Agent {
 public:
  explicit CpuOnly(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    const Cluster& cluster = problem.cluster();
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      const Device& candidate = cluster.devices[static_cast<std::size_t>(device)];
      if (cluster.profiles[candidate.profile].device_class.starts_with("cpu")) {
        return Placement(problem.num_groups(), device);
      }
    }
    return Placement(problem.num_groups(), problem.placeable_devices().front());
  }
};

EMPLACE_REGISTER_AGENT(
    CpuOnly, {.name = "cpu-only",
              .kind = AgentKind::kBaseline,
              .summary = "everything on the host CPU",
              .description = "Puts every group on the first device whose class begins with "
                             "\"cpu\"; where there is none, on the first placeable device. "
                             "It is the slow end of a comparison: what the step takes "
                             "without accelerators.",
              .reference = "Addanki et al. 2019, CPU only",
              .respects_placeable = false});

}  // namespace
}  // namespace emplace::agents
