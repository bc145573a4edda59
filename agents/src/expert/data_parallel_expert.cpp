#include "heuristic/heuristics.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <cstddef>

namespace emplace::agents {
namespace {

// A group without replicas is of the first.
std::size_t replica_of(const Problem& problem, GroupId group) {
  return static_cast<std::size_t>(problem.op(problem.grouping().members(group).front()).replica);
}

}  // namespace

Placement data_parallel_expert(const Problem& problem) {
  std::size_t replicas = 1;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    replicas = std::max(replicas, replica_of(problem, group) + 1);
  }
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const std::size_t used = std::min(replicas, devices.size());
  Placement placement(problem.num_groups(), devices.front());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = devices[replica_of(problem, group) * used / replicas];
  }
  return placement;
}

namespace {

class DataParallelExpert final : public Agent {
 public:
  explicit DataParallelExpert(const Params&) {}

  Placement place(const Problem& problem, Evaluator&) override {
    return data_parallel_expert(problem);
  }
};

EMPLACE_REGISTER_AGENT(
    DataParallelExpert,
    {.name = "data-parallel-expert",
     .kind = AgentKind::kExpert,
     .summary = "each replica on a device of its own",
     .description = "Places a graph with replicas, as in bert-base:replicas=4, by data "
                    "parallelism: each replica is on a device of its own, or devices take several "
                    "in a row where they are fewer. A graph without replicas is on one device. "
                    "Use it as the baseline of placements of the same batch without replicas.",
     .reference = "Li et al., PyTorch Distributed, VLDB 2020, arXiv 2006.15704"});

}  // namespace
}  // namespace emplace::agents
