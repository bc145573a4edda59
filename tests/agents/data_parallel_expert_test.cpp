#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/replicas.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::agents::data_parallel_expert_test {
namespace {

using testing::ElementsAre;

// Replicas of a(1) -> b(1) without gradients: ops a, b, a@1, b@1, ...
Problem replicated(std::size_t count, DeviceId num_devices) {
  const OpGraph part = test::chain_graph({1, 1}, 0);
  return test::make_problem(
      replicas(std::vector<std::reference_wrapper<const OpGraph>>(count, part)),
      {.num_devices = num_devices});
}

TEST(DataParallelExpert, GivesEachReplicaADevice) {
  EXPECT_THAT(place("data-parallel-expert", replicated(2, 4)), ElementsAre(0, 0, 1, 1));
}

TEST(DataParallelExpert, GivesADeviceSeveralReplicasWhereThereAreMore) {
  EXPECT_THAT(place("data-parallel-expert", replicated(4, 2)), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

// NVLinks join the GPUs of a DGX-1 to a cube; devices with successive numbers are not all
// neighbours.
TEST(DataParallelExpert, FollowsFastLinks) {
  const OpGraph part = test::chain_graph({1, 1}, 0);
  auto graph = std::make_shared<const OpGraph>(
      replicas(std::vector<std::reference_wrapper<const OpGraph>>(8, part)));
  Grouping groups = ungrouped(*graph);
  const Problem problem(std::move(graph), std::move(groups),
                        std::make_shared<const Cluster>(load_cluster("dgx-1-v100")));
  const Placement placement(place("data-parallel-expert", problem));
  for (std::int32_t replica = 0; replica < 8; ++replica) {
    const DeviceId from = placement[GroupId(2 * replica)];
    const DeviceId to = placement[GroupId(2 * ((replica + 1) % 8))];
    EXPECT_GT(1e6 / problem.transfer_us(1'000'000, from, to), 15'000) << from << " to " << to;
  }
}

TEST(DataParallelExpert, LeavesOutProcessorsBesideAccelerators) {
  const OpGraph part = test::chain_graph({1, 1}, 0);
  auto graph = std::make_shared<const OpGraph>(
      replicas(std::vector<std::reference_wrapper<const OpGraph>>(2, part)));
  Grouping groups = ungrouped(*graph);
  const Problem problem(std::move(graph), std::move(groups),
                        std::make_shared<const Cluster>(load_cluster("cpu-gpu")));
  EXPECT_THAT(place("data-parallel-expert", problem), ElementsAre(0, 0, 0, 0));
}

TEST(DataParallelExpert, KeepsAGraphWithoutReplicasOnOneDevice) {
  EXPECT_THAT(place("data-parallel-expert", replicated(1, 4)), ElementsAre(0, 0));
}

}  // namespace
}  // namespace emplace::agents::data_parallel_expert_test
