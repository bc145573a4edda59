// The shipped machines with links, against what is published of them.

#include "support/test_names.hpp"

#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace emplace::shipped_clusters_test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<std::string> route(const Cluster& cluster, DeviceId from, DeviceId to) {
  std::vector<std::string> names;
  for (const std::int32_t link : cluster.topology.route(from, to)) {
    names.push_back(cluster.topology.links()[static_cast<std::size_t>(link)].name);
  }
  return names;
}

DeviceId num_devices(const Cluster& cluster) {
  return static_cast<DeviceId>(cluster.devices.size());
}

TEST(ShippedClusters, AreTheseNextToPlacetos) {
  EXPECT_THAT(cluster_names(),
              ElementsAre("cpu-gpu", "dgx-1-p100", "dgx-1-v100", "dgx-a100", "dgx-h100", "dgx-h200",
                          "k80-pcie-8", "mixed-v100-p100", "p2-8xlarge-2", "p2-8xlarge-4",
                          "p2-8xlarge-4-grappler", "two-hosts-v100"));
}

class ShippedCluster : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedCluster, SaysWhereItsNumbersComeFromAndWhichAreGuesses) {
  const Cluster cluster = load_cluster(GetParam());
  EXPECT_FALSE(cluster.summary.empty());
  EXPECT_FALSE(cluster.provenance.source.empty());
  if (cluster.provenance.kind == "spec-sheet") {
    EXPECT_THAT(cluster.provenance.notes, ::testing::HasSubstr("guess"));
  }
  for (const DeviceProfile& profile : cluster.profiles) {
    EXPECT_THAT(profile.provenance.notes, ::testing::HasSubstr("guess"));
  }
}

TEST_P(ShippedCluster, HasRoutesBothWaysOfTheSameSpeed) {
  const Cluster cluster = load_cluster(GetParam());
  if (cluster.transfer_model != TransferModel::kPhysical) {
    EXPECT_TRUE(cluster.topology.links().empty());
    return;
  }
  for (DeviceId from = 0; from < num_devices(cluster); ++from) {
    for (DeviceId to = 0; to < num_devices(cluster); ++to) {
      if (from == to) {
        continue;
      }
      const std::span<const std::int32_t> links = cluster.topology.route(from, to);
      EXPECT_FALSE(links.empty()) << from << " to " << to;
      EXPECT_EQ(links.size(), cluster.topology.route(to, from).size());
      EXPECT_EQ(cluster.topology.bytes_per_us(from, to), cluster.topology.bytes_per_us(to, from));
      EXPECT_EQ(cluster.topology.latency_us(from, to), cluster.topology.latency_us(to, from));
      // Faster than 10 Gb/s Ethernet, and not above 18 NVLinks of the fourth generation.
      EXPECT_GE(cluster.topology.bytes_per_us(from, to), 1250);
      EXPECT_LE(cluster.topology.bytes_per_us(from, to), 450'000);
      EXPECT_GE(cluster.topology.latency_us(from, to), 1);
      EXPECT_LE(cluster.topology.latency_us(from, to), 30);
    }
  }
}

TEST_P(ShippedCluster, UsesEveryLink) {
  const Cluster cluster = load_cluster(GetParam());
  std::vector<bool> used(cluster.topology.links().size());
  for (DeviceId from = 0; from < num_devices(cluster); ++from) {
    for (DeviceId to = 0; !used.empty() && to < num_devices(cluster); ++to) {
      for (const std::int32_t link : cluster.topology.route(from, to)) {
        used[static_cast<std::size_t>(link)] = true;
      }
    }
  }
  EXPECT_THAT(used, ::testing::Each(true));
}

INSTANTIATE_TEST_SUITE_P(Names, ShippedCluster, ::testing::ValuesIn(cluster_names()),
                         test::kNamedByParameter);

// `nvidia-smi topo -m` of a DGX-1 with V100s: the number of NVLinks between two GPUs.
constexpr int kDgx1Links[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                  {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                  {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                  {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

class Dgx1 : public ::testing::TestWithParam<std::string> {};

// NVLink carries 20 GB/s (P100) or 25 GB/s (V100) in each direction, of which we count on 0.9.
TEST_P(Dgx1, NeighboursInTheMeshTalkOverNvlinkAndOthersOverPcie) {
  const bool is_v100 = GetParam() == "dgx-1-v100";
  const Cluster cluster = load_cluster(GetParam());
  for (DeviceId from = 0; from < 8; ++from) {
    for (DeviceId to = 0; to < 8; ++to) {
      const int links = kDgx1Links[from][to];
      if (links > 0) {
        EXPECT_THAT(route(cluster, from, to), ElementsAre(StartsWith("nvlink:")));
        EXPECT_EQ(cluster.topology.bytes_per_us(from, to), is_v100 ? 23000 * links : 18400);
      } else if (from != to) {
        EXPECT_THAT(route(cluster, from, to), ::testing::Each(::testing::Not(StartsWith("nvlink"))))
            << from << " to " << to;
        EXPECT_EQ(cluster.topology.bytes_per_us(from, to), 10000);
      }
    }
  }
}

TEST_P(Dgx1, GpusThatAreNoNeighboursCrossBothSockets) {
  EXPECT_THAT(route(load_cluster(GetParam()), 0, 5),
              ElementsAre("pcie:0 gpu:0>plx:0", "uplink:0 plx:0>root:0", "qpi root:0>root:1",
                          "uplink:2 root:1>plx:2", "pcie:5 plx:2>gpu:5"));
}

INSTANTIATE_TEST_SUITE_P(Generations, Dgx1, ::testing::Values("dgx-1-p100", "dgx-1-v100"),
                         [](const auto& test) { return test.param.substr(6); });

// As measured: of 12 NVLinks of 25 GB/s of an A100, and of 18 of an H100 or H200.
TEST(ShippedClusters, GpusOnNvswitchReachEachOtherAtTheSpeedOfAllTheirLinks) {
  for (const auto& [name, bytes_per_us] :
       {std::pair("dgx-a100", 228e3), std::pair("dgx-h100", 376e3), std::pair("dgx-h200", 376e3)}) {
    const Cluster cluster = load_cluster(name);
    EXPECT_THAT(route(cluster, 0, 7),
                ElementsAre("nvlink:0 gpu:0>nvswitch", "nvlink:7 nvswitch>gpu:7"));
    for (DeviceId from = 0; from < 8; ++from) {
      for (DeviceId to = 0; to < 8; ++to) {
        EXPECT_TRUE(from == to || cluster.topology.bytes_per_us(from, to) == bytes_per_us) << name;
      }
    }
  }
}

TEST(ShippedClusters, K80sOfABoardMeetAtItsSwitchAndEachCopyPassesTwoEngines) {
  const Cluster cluster = load_cluster("k80-pcie-8");
  EXPECT_THAT(route(cluster, 0, 1),
              ElementsAre("copy-out:0", "pcie:0 gpu:0>plx:0", "pcie:1 plx:0>gpu:1", "copy-in:1"));
  EXPECT_THAT(
      route(cluster, 3, 4),
      ElementsAre("copy-out:3", "pcie:3 gpu:3>plx:1", "uplink:1 plx:1>root:0", "qpi root:0>root:1",
                  "uplink:2 root:1>plx:2", "pcie:4 plx:2>gpu:4", "copy-in:4"));
  EXPECT_THAT(route(cluster, 8, 0),
              ElementsAre("memory:0", "uplink:0 root:0>plx:0", "pcie:0 plx:0>gpu:0", "copy-in:0"));
}

TEST(ShippedClusters, HostsTalkOverTheirNetworkAdapters) {
  const Cluster cluster = load_cluster("two-hosts-v100");
  EXPECT_THAT(route(cluster, 1, 3), ElementsAre("nvlink:1-3 gpu:1>gpu:3"));
  EXPECT_THAT(
      route(cluster, 1, 6),
      ElementsAre("pcie:1 gpu:1>plx:0", "nic-pcie:0 plx:0>nic:0", "infiniband:0 nic:0>ib-switch",
                  "infiniband:1 ib-switch>nic:1", "nic-pcie:1 nic:1>plx:1", "pcie:6 plx:1>gpu:6"));
  EXPECT_EQ(cluster.topology.bytes_per_us(1, 6), 10'000);  // of PCIe, as measured
}

TEST(ShippedClusters, OnlyTheMachineOfOneCpuAndOneGpuOffersItsCpu) {
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    for (const Device& device : cluster.devices) {
      EXPECT_EQ(device.placeable, device.name.starts_with("gpu:") || name == "cpu-gpu")
          << name << ", " << device.name;
    }
  }
}

TEST(ShippedClusters, MixedMachineHasTwoGenerations) {
  const Cluster cluster = load_cluster("mixed-v100-p100");
  ASSERT_EQ(cluster.devices.size(), 5U);
  EXPECT_EQ(cluster.profiles[cluster.devices[1].profile].name, "v100-pcie");
  EXPECT_EQ(cluster.profiles[cluster.devices[2].profile].name, "p100-pcie");
}

// Data sheets: TFLOP/s in float32, TF32 and float16; GB/s; GB.
TEST(ShippedDevices, HaveThePeaksOfTheirDataSheets) {
  struct Sheet {
    const char* name;
    double float32, tf32, float16;
    double gb_per_s;
    double gb;
  };
  for (const Sheet& sheet :
       {Sheet{"m40", 6.8, 0, 0, 288, 12}, Sheet{"p100", 10.6, 0, 0, 732, 16},
        Sheet{"p100-pcie", 9.3, 0, 0, 732, 16}, Sheet{"v100", 15.7, 0, 125, 900, 16},
        Sheet{"v100-pcie", 14, 0, 112, 900, 16}, Sheet{"t4", 8.1, 0, 65, 320, 16},
        Sheet{"l4", 30.3, 60.5, 121, 300, 24}, Sheet{"a100", 19.5, 156, 312, 1555, 40},
        Sheet{"a100-80", 19.5, 156, 312, 2039, 80}, Sheet{"a100-pcie", 19.5, 156, 312, 1555, 40},
        Sheet{"a100-pcie-80", 19.5, 156, 312, 1935, 80},
        Sheet{"h100", 66.9, 494.7, 989.4, 3350, 80}, Sheet{"h100-pcie", 51.2, 378, 756, 2039, 80},
        Sheet{"h200", 66.9, 494.7, 989.4, 4800, 141}}) {
    const DeviceProfile profile = load_device_profile(sheet.name);
    EXPECT_NEAR(profile.peak_flops_per_us / 1e6, sheet.float32, 0.01 * sheet.float32) << sheet.name;
    EXPECT_NEAR(profile.tf32_flops_per_us / 1e6, sheet.tf32, 0.01 * sheet.tf32) << sheet.name;
    EXPECT_NEAR(profile.float16_flops_per_us / 1e6, sheet.float16, 0.01 * sheet.float16)
        << sheet.name;
    EXPECT_DOUBLE_EQ(profile.memory_bytes_per_us / 1e3, sheet.gb_per_s) << sheet.name;
    // What is sold is in GiB; where memory corrects errors in itself, a sixteenth of it is for
    // that.
    EXPECT_GE(static_cast<double>(profile.memory_bytes), sheet.gb * 0.98e9) << sheet.name;
    EXPECT_LE(static_cast<double>(profile.memory_bytes), sheet.gb * 1.074e9) << sheet.name;
    EXPECT_LT(profile.usable_bytes(), profile.memory_bytes) << sheet.name;
    EXPECT_GT(static_cast<double>(profile.usable_bytes()), sheet.gb * 0.94e9) << sheet.name;
  }
}

}  // namespace
}  // namespace emplace::shipped_clusters_test
