#include "accelerators.hpp"
#include "heuristic/heuristics.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// A group without replicas is of the first.
std::size_t replica_of(const Problem& problem, GroupId group) {
  return static_cast<std::size_t>(problem.op(problem.grouping().members(group).front()).replica);
}

// Orders devices for rings, in which each sends to the next: as long as that helps, it turns a part
// of the ring around (2-opt, Croes 1958).
std::vector<DeviceId> ring_of(const Problem& problem, std::vector<DeviceId> ring) {
  constexpr std::int64_t kBytes = 1 << 20;
  const std::size_t size = ring.size();
  const auto us = [&](std::size_t a, std::size_t b) {  // at these places, in both directions
    const DeviceId from = ring[a % size];
    const DeviceId to = ring[b % size];
    return problem.transfer_us(kBytes, from, to) + problem.transfer_us(kBytes, to, from);
  };
  for (bool improves = true; improves;) {
    improves = false;
    for (std::size_t first = 1; first + 1 < size; ++first) {
      for (std::size_t last = first + 1; last < size; ++last) {
        const double now_us = us(first - 1, first) + us(last, last + 1);
        if (us(first - 1, last) + us(first, last + 1) < now_us * (1 - 1e-9)) {
          std::reverse(ring.begin() + static_cast<std::ptrdiff_t>(first),
                       ring.begin() + static_cast<std::ptrdiff_t>(last + 1));
          improves = true;
        }
      }
    }
  }
  return ring;
}

}  // namespace

// Each replica on a device, such that the next replica is near.
Placement data_parallel_expert(const Problem& problem) {
  std::size_t replicas = 1;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    replicas = std::max(replicas, replica_of(problem, group) + 1);
  }
  std::vector<DeviceId> devices = accelerators(problem);
  devices.resize(std::min(replicas, devices.size()));
  devices = ring_of(problem, std::move(devices));
  Placement placement(problem.num_groups(), devices.front());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = devices[replica_of(problem, group) * devices.size() / replicas];
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
     .description =
         "Places a graph with replicas, as in bert-base:replicas=4, by data "
         "parallelism: each replica is on an accelerator of its own, or these take several "
         "in a row where they are fewer. The next replica, to which it sends in a ring, "
         "is on a device near by. A graph without replicas is on one device. "
         "Use it as the baseline of placements of the same batch without replicas.",
     .reference = "Li et al., PyTorch Distributed, VLDB 2020, arXiv 2006.15704"});

}  // namespace
}  // namespace emplace::agents
