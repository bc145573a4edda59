#include "support/errors.hpp"

#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/what_if.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace emplace::what_if_test {
namespace {

using testing::HasSubstr;

TEST(WhatIf, ChangesLinksByKindCableAndDirection) {
  const Cluster before = load_cluster("dgx-1-v100");
  const auto changed = [&](const std::string& name) {
    const Cluster after = load_cluster("dgx-1-v100:set=link:" + name + ".bandwidth=2x");
    int count = 0;
    for (std::size_t at = 0; at < before.topology.links().size(); ++at) {
      const double ratio =
          after.topology.links()[at].bytes_per_us / before.topology.links()[at].bytes_per_us;
      EXPECT_TRUE(ratio == 1 || ratio == 2);
      count += ratio == 2;
    }
    // Routes stay, although other links are faster now.
    EXPECT_TRUE(std::ranges::equal(after.topology.route(0, 5), before.topology.route(0, 5)));
    return count;
  };
  EXPECT_EQ(changed("nvlink"), 32);
  EXPECT_EQ(changed("nvlink:0-1"), 2);
  EXPECT_EQ(changed("nvlink:0-1 gpu:0>gpu:1"), 1);
  EXPECT_EQ(changed("qpi"), 2);
  EXPECT_EQ(changed("*"), 60);
}

TEST(WhatIf, TakesFactorsAndQuantities) {
  const Cluster cluster = load_cluster(
      "dgx-1-v100:set=link:qpi.bandwidth=25GB/s;link:qpi.latency=5us;link:pcie.latency=0.5x;"
      "device:gpu:1.memory=40GB;device:gpu:1.launch=2us;device:gpu:[01].memory=2x");
  for (const Link& link : cluster.topology.links()) {
    if (link.name.starts_with("qpi")) {
      EXPECT_EQ(link.bytes_per_us, 25'000);
      EXPECT_EQ(link.latency_us, 5);
    } else if (link.name.starts_with("pcie")) {
      EXPECT_EQ(link.latency_us, 9.375 / 2);
    }
  }
  const auto profile_of = [&](std::size_t device) -> const DeviceProfile& {
    return cluster.profiles[cluster.devices[device].profile];
  };
  EXPECT_EQ(profile_of(1).memory_bytes, 80'000'000'000);
  EXPECT_EQ(profile_of(1).launch_us, 2);
  EXPECT_EQ(profile_of(0).memory_bytes, 2 * profile_of(2).memory_bytes);
  EXPECT_EQ(cluster.devices[2].profile, cluster.devices[7].profile);
  EXPECT_EQ(profile_of(2).name, "v100");
  EXPECT_NE(profile_of(1).name, profile_of(0).name);
}

TEST(WhatIf, ChangesTheConstantsOfChannels) {
  const double before = load_cluster("p2-8xlarge-2").placeto.bytes_per_us;
  EXPECT_EQ(load_cluster("p2-8xlarge-2:set=link:*.bandwidth=2x").placeto.bytes_per_us, 2 * before);
}

// All costs, wherever they are from.
TEST(WhatIf, SpeedDividesCosts) {
  const Cluster before = load_cluster("dgx-1-v100");
  const Cluster after = load_cluster("dgx-1-v100:set=device:gpu:*.speed=2x;device:gpu:*.speed=2x");
  Op op{.kind = "matmul", .flops = 1'000'000'000, .bytes_read = 1'000'000};
  const auto costs = [&](const Cluster& cluster) {
    return op_cost(cluster.profiles[cluster.devices[0].profile], op, cluster.math).us;
  };
  EXPECT_EQ(costs(before), 4 * costs(after));
  op.measured = {{.device_class = before.profiles[0].device_class, .cost_us = 12}};
  EXPECT_EQ(costs(before), 12);
  EXPECT_EQ(costs(after), 3);
}

TEST(WhatIf, IsPartOfTheNameAndTheFile) {
  const std::string name = with_changes("p2-8xlarge-4:exclude=gpu:3,set=link:*.bandwidth=2x",
                                        {"device:gpu:1.speed=2x", "device:gpu:0.memory=4GB"});
  EXPECT_EQ(name,
            "p2-8xlarge-4:exclude=gpu:3,set=link:*.bandwidth=2x;device:gpu:1.speed=2x;"
            "device:gpu:0.memory=4GB");
  const Cluster cluster = load_cluster(name);
  EXPECT_EQ(cluster.name, name);
  EXPECT_EQ(read_cluster(write_cluster_json(cluster), "written"), cluster);
}

TEST(WhatIf, TellsMistakes) {
  const auto error_of = [](const std::string& cluster, const std::string& change) {
    return test::error_of([&] { load_cluster(cluster + ":set=" + change); });
  };
  const std::string dgx = "dgx-1-v100";
  EXPECT_THAT(error_of(dgx, "link:nvl.bandwidth=2x"), HasSubstr("did you mean 'nvlink:0-1'"));
  EXPECT_THAT(error_of(dgx, "device:gpu:9.memory=4GB"), HasSubstr("unknown device"));
  EXPECT_THAT(error_of(dgx, "link:qpi.speed=2x"), HasSubstr("a bandwidth and a latency"));
  EXPECT_THAT(error_of(dgx, "device:gpu:0.cost=2x"), HasSubstr("a memory, a speed and a launch"));
  for (const char* value : {"0x", "-1x", "nanx", "1e9x"}) {
    EXPECT_THAT(error_of(dgx, fmt::format("link:qpi.bandwidth={}", value)),
                HasSubstr("expected a factor above 0"));
  }
  EXPECT_THAT(error_of(dgx, "link:qpi.bandwidth=4GB"), HasSubstr("for example 2x or 25GB/s"));
  EXPECT_THAT(error_of(dgx, "link:qpi.bandwidth=4/s"), HasSubstr("'4' is no size"));
  EXPECT_THAT(error_of(dgx, "link:qpi.bandwidth=0GB/s"), HasSubstr("expected 0.001 to"));
  EXPECT_THAT(error_of(dgx, "link:qpi.latency=5"), HasSubstr("for example 0.5x or 5us"));
  EXPECT_THAT(error_of(dgx, "link:qpi.latency=-5us"), HasSubstr("expected 0 to"));
  EXPECT_THAT(error_of(dgx, "device:gpu:0.memory=-2GB"), HasSubstr("expected 1 to"));
  EXPECT_THAT(error_of(dgx, "device:gpu:0.memory=1MB"), HasSubstr("take more than this memory"));
  EXPECT_THAT(error_of(dgx, "device:gpu:0.speed=3"), HasSubstr("expected a factor"));
  for (const char* text : {"gpu:0.speed=2x", "link:qpi", "link:.bandwidth=2x", "link:qpi=2x"}) {
    EXPECT_THAT(error_of(dgx, text), HasSubstr("expected link:NAME")) << text;
  }
  EXPECT_THAT(error_of("p2-8xlarge-2", "link:gpu:0.bandwidth=2x"), HasSubstr("expected link:*"));
  EXPECT_THAT(error_of("p2-8xlarge-2", "link:*.latency=2us"), HasSubstr("has a bandwidth"));
  EXPECT_THAT(error_of("p2-8xlarge-2", "device:gpu:0.launch=2us"), HasSubstr("'physical' model"));
  EXPECT_THAT(test::error_of([] { with_changes("p2-8xlarge-2", {"a;b"}); }),
              HasSubstr("without ',' and ';'"));
}

}  // namespace
}  // namespace emplace::what_if_test
