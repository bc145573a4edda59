#include "profiles/profile_texts.hpp"

#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace emplace::topology_test {
namespace {

using ::testing::ElementsAre;

// The names of the links from one device to another.
std::vector<std::string> route(const Cluster& cluster, std::string_view from, std::string_view to) {
  const auto device = [&](std::string_view name) {
    DeviceId id = 0;
    while (cluster.devices.at(static_cast<std::size_t>(id)).name != name) {
      ++id;
    }
    return id;
  };
  std::vector<std::string> names;
  for (const std::int32_t link : cluster.topology.route(device(from), device(to))) {
    names.push_back(cluster.topology.links()[static_cast<std::size_t>(link)].name);
  }
  return names;
}

constexpr std::string_view kThreeGpus = R"(
    {"name": "gpu:0", "profile": "k80"},
    {"name": "gpu:1", "profile": "k80"},
    {"name": "gpu:2", "profile": "k80"})";

// Two boards with two GPUs each, whose switches lead to the root complex of one socket:
//
//     gpu:0 gpu:1   gpu:2 gpu:3
//        \   /         \   /
//        plx:0         plx:1   cpu:0
//             \______ root ______/
Cluster pcie_tree() {
  return read_cluster(physical_cluster(R"(
    {"name": "gpu:0", "profile": "k80"},
    {"name": "gpu:1", "profile": "k80"},
    {"name": "gpu:2", "profile": "k80"},
    {"name": "gpu:3", "profile": "k80"},
    {"name": "cpu:0", "profile": "xeon-e5-2686-v4", "placeable": false})",
                                       R"("links": [
    {"name": "pcie:0", "between": ["gpu:0", "plx:0"], "bandwidth_bytes_per_us": 12000, "latency_us": 2},
    {"name": "pcie:1", "between": ["gpu:1", "plx:0"], "bandwidth_bytes_per_us": 12000, "latency_us": 2},
    {"name": "pcie:2", "between": ["gpu:2", "plx:1"], "bandwidth_bytes_per_us": 12000, "latency_us": 2},
    {"name": "pcie:3", "between": ["gpu:3", "plx:1"], "bandwidth_bytes_per_us": 12000, "latency_us": 2},
    {"name": "up:0", "between": ["plx:0", "root"], "bandwidth_bytes_per_us": 10000, "latency_us": 0.5},
    {"name": "up:1", "between": ["plx:1", "root"], "bandwidth_bytes_per_us": 10000, "latency_us": 0.5},
    {"name": "memory", "between": ["root", "cpu:0"], "bandwidth_bytes_per_us": 50000, "latency_us": 1,
     "duplex": "half"}])"),
                      "tree.json");
}

TEST(Topology, RoutesOfAPcieTreeClimbToTheNearestSwitchThatTheEndsShare) {
  const Cluster tree = pcie_tree();
  EXPECT_EQ(tree.transfer_model, TransferModel::kPhysical);
  EXPECT_THAT(route(tree, "gpu:0", "gpu:1"),
              ElementsAre("pcie:0 gpu:0>plx:0", "pcie:1 plx:0>gpu:1"));
  EXPECT_THAT(route(tree, "gpu:0", "gpu:3"), ElementsAre("pcie:0 gpu:0>plx:0", "up:0 plx:0>root",
                                                         "up:1 root>plx:1", "pcie:3 plx:1>gpu:3"));
  EXPECT_THAT(route(tree, "gpu:2", "cpu:0"),
              ElementsAre("pcie:2 gpu:2>plx:1", "up:1 plx:1>root", "memory"));
  EXPECT_THAT(route(tree, "gpu:0", "gpu:0"), ElementsAre());
}

TEST(Topology, LatencyOfARouteIsASumAndItsBandwidthTheLeast) {
  const Topology tree = pcie_tree().topology;
  EXPECT_DOUBLE_EQ(tree.latency_us(0, 1), 2 + 2);
  EXPECT_DOUBLE_EQ(tree.latency_us(0, 3), 2 + 0.5 + 0.5 + 2);
  EXPECT_EQ(tree.bytes_per_us(0, 1), 12000);
  EXPECT_EQ(tree.bytes_per_us(0, 3), 10000);
  EXPECT_EQ(tree.bytes_per_us(0, 0), std::numeric_limits<double>::infinity());
}

TEST(Topology, FullDuplexIsALinkForEachDirectionAndHalfDuplexOneForBoth) {
  const Cluster tree = pcie_tree();
  EXPECT_EQ(tree.topology.links().size(), 6 * 2U + 1U);
  EXPECT_THAT(route(tree, "gpu:1", "gpu:0"),
              ElementsAre("pcie:1 gpu:1>plx:0", "pcie:0 plx:0>gpu:0"));
  EXPECT_THAT(route(tree, "cpu:0", "gpu:2"),
              ElementsAre("memory", "up:1 root>plx:1", "pcie:2 plx:1>gpu:2"));
}

// A megabyte of 2^20 bytes takes 1 + 1048.6 us over the slow cable, and over the switch
// 2 x (latency + 262.1 us): 624.3 us with 50 us of latency, 1324.3 us with 400.
TEST(Topology, RouteIsTheOneThatMovesAMegabyteSoonest) {
  const std::string links = R"("links": [
    {"name": "slow", "between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 1000, "latency_us": 1},
    {"name": "a", "between": ["gpu:0", "switch"], "bandwidth_bytes_per_us": 4000, "latency_us": 50},
    {"name": "b", "between": ["switch", "gpu:1"], "bandwidth_bytes_per_us": 4000, "latency_us": 50}])";
  const std::string text = physical_cluster(kTwoGpus, links);
  EXPECT_THAT(route(read_cluster(text, "a.json"), "gpu:0", "gpu:1"),
              ElementsAre("a gpu:0>switch", "b switch>gpu:1"));
  const std::string late = with(with(text, "\"latency_us\": 50", "\"latency_us\": 400"),
                                "\"latency_us\": 50", "\"latency_us\": 400");
  EXPECT_THAT(route(read_cluster(late, "a.json"), "gpu:0", "gpu:1"),
              ElementsAre("slow gpu:0>gpu:1"));
}

constexpr std::string_view kChain = R"("links": [
    {"name": "a", "between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 1000, "latency_us": 1},
    {"name": "b", "between": ["gpu:1", "gpu:2"], "bandwidth_bytes_per_us": 1000, "latency_us": 1}])";

TEST(Topology, DevicesForwardForNobodyUnlessARouteSaysSo) {
  EXPECT_EQ(
      test::error_of([&] { read_cluster(physical_cluster(kThreeGpus, kChain), "chain.json"); }),
      "chain.json: /physical: no links lead from 'gpu:2' to 'gpu:0'");
  const std::string relay =
      std::string(kChain) +
      R"(, "routes": [{"from": "gpu:0", "to": "gpu:2", "links": ["a", "b"], "both": true}])";
  const Cluster cluster = read_cluster(physical_cluster(kThreeGpus, relay), "chain.json");
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:2"), ElementsAre("a gpu:0>gpu:1", "b gpu:1>gpu:2"));
  EXPECT_THAT(route(cluster, "gpu:2", "gpu:0"), ElementsAre("b gpu:2>gpu:1", "a gpu:1>gpu:0"));
  EXPECT_THAT(route(cluster, "gpu:1", "gpu:2"), ElementsAre("b gpu:1>gpu:2"));
}

TEST(Topology, OfEqualCablesTheFirstInTheFileIsUsed) {
  const Cluster cluster = read_cluster(physical_cluster(kTwoGpus, R"("links": [
    {"name": "z", "between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 1000, "latency_us": 1},
    {"name": "a", "between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 1000, "latency_us": 1}])"),
                                       "a.json");
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:1"), ElementsAre("z gpu:0>gpu:1"));
  EXPECT_THAT(route(cluster, "gpu:1", "gpu:0"), ElementsAre("z gpu:1>gpu:0"));
}

constexpr std::string_view kEngines = R"("links": [
    {"name": "cable", "between": ["gpu:0", "gpu:1"], "bandwidth_bytes_per_us": 1000, "latency_us": 1},
    {"name": "wire", "between": ["gpu:1", "gpu:2"], "bandwidth_bytes_per_us": 1000, "latency_us": 1},
    {"name": "bus", "bandwidth_bytes_per_us": 900, "latency_us": 3, "sharing": "fatpipe"},
    {"name": "out:0", "bandwidth_bytes_per_us": 500, "latency_us": 0, "sharing": "fifo"},
    {"name": "in", "bandwidth_bytes_per_us": 600, "latency_us": 0}],
    "routes": [{"from": "gpu:0", "to": "gpu:2", "links": ["bus"], "both": true},
               {"from": "gpu:2", "to": "gpu:1", "links": ["in", "wire"]}],
    "queue_order": "critical-path")";

// gpu:1 and gpu:2 share the engine "in", through which gpu:2 also sends.
Cluster with_engines() {
  return read_cluster(physical_cluster(R"(
    {"name": "gpu:0", "profile": "k80", "copy_out": "out:0"},
    {"name": "gpu:1", "profile": "k80", "copy_in": "in"},
    {"name": "gpu:2", "profile": "k80", "copy_in": "in", "copy_out": "in"})",
                                       kEngines),
                      "engines.json");
}

TEST(Topology, CopyEnginesStandAtTheEndsOfEveryRoute) {
  const Cluster cluster = with_engines();
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:1"), ElementsAre("out:0", "cable gpu:0>gpu:1", "in"));
  EXPECT_THAT(route(cluster, "gpu:1", "gpu:0"), ElementsAre("cable gpu:1>gpu:0"));
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:2"), ElementsAre("out:0", "bus", "in"));
}

TEST(Topology, TransferOccupiesAnEngineOnceHoweverOftenItIsNamed) {
  EXPECT_THAT(route(with_engines(), "gpu:2", "gpu:1"), ElementsAre("in", "wire gpu:2>gpu:1"));
}

TEST(Topology, LinkWithoutEndsIsUsedOnlyWhereItIsNamed) {
  const Cluster cluster = with_engines();
  EXPECT_THAT(route(cluster, "gpu:2", "gpu:0"), ElementsAre("in", "bus"));
  EXPECT_THAT(route(cluster, "gpu:1", "gpu:2"), ElementsAre("wire gpu:1>gpu:2", "in"));
}

TEST(Topology, LinksAreFairUnlessTheyAreFifoOrFatpipe) {
  const Cluster cluster = with_engines();
  const std::vector<Link>& links = cluster.topology.links();
  ASSERT_EQ(links.size(), 7U);
  EXPECT_EQ(links[0].sharing, LinkSharing::kFair);
  EXPECT_EQ(links[4].name, "bus");
  EXPECT_EQ(links[4].sharing, LinkSharing::kFatpipe);
  EXPECT_EQ(links[5].sharing, LinkSharing::kFifo);
  EXPECT_EQ(links[5].bytes_per_us, 500);
  EXPECT_EQ(links[4].latency_us, 3);
}

TEST(Topology, QueueOrderIsFifoUnlessTheFileSaysCriticalPath) {
  EXPECT_EQ(pcie_tree().queue_order, QueueOrder::kFifo);
  EXPECT_EQ(with_engines().queue_order, QueueOrder::kCriticalPath);
}

TEST(Topology, OneDeviceNeedsNoLinks) {
  const Cluster cluster = read_cluster(
      physical_cluster(R"({"name": "gpu:0", "profile": "k80"})", "\"links\": []"), "one.json");
  EXPECT_TRUE(cluster.topology.links().empty());
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:0"), ElementsAre());
}

// The cable is slow and late, and the file says to take it nevertheless.
TEST(Topology, RouteOfTheFileGoesBeforeTheDerivedOne) {
  constexpr std::string_view kPhysical = R"("links": [
    {"name": "fast", "between": ["gpu:1", "gpu:0"], "bandwidth_bytes_per_us": 9000, "latency_us": 1},
    {"name": "slow", "between": ["gpu:1", "gpu:0"], "bandwidth_bytes_per_us": 10, "latency_us": 90}],
    "routes": [{"from": "gpu:0", "to": "gpu:1", "links": ["slow"]}])";
  const Cluster cluster = read_cluster(physical_cluster(kTwoGpus, kPhysical), "a.json");
  EXPECT_THAT(route(cluster, "gpu:0", "gpu:1"), ElementsAre("slow gpu:0>gpu:1"));
  EXPECT_THAT(route(cluster, "gpu:1", "gpu:0"), ElementsAre("fast gpu:1>gpu:0"));
}

}  // namespace
}  // namespace emplace::topology_test
