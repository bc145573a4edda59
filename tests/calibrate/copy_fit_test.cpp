// Copies are drawn from machines that the test knows: so much per copy, so much per byte, and links
// that they share or do not.

#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/calibrate/copy_fit.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace emplace::calibrate::copy_fit_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr double kAlphaUs = 5;
constexpr double kBytesPerUs = 25000;

CopySample copy_of(std::string from, std::string to, std::int64_t bytes, double us,
                   std::string beside = "", HostMemory host = HostMemory::kNone) {
  return {.from = std::move(from),
          .to = std::move(to),
          .host = host,
          .bytes = bytes,
          .beside = std::move(beside),
          .time = {.median_us = us, .relative_deviation = 0.01, .runs = 20}};
}

double line_us(std::int64_t bytes, double alpha_us = kAlphaUs, double bytes_per_us = kBytesPerUs) {
  return alpha_us + static_cast<double>(bytes) / bytes_per_us;
}

// Copies of 4 bytes to 1 GiB, each four times the one before.
std::vector<CopySample> copies_of(const std::string& from, const std::string& to,
                                  double (*us_of)(std::int64_t),
                                  HostMemory host = HostMemory::kNone) {
  std::vector<CopySample> samples;
  for (std::int64_t bytes = 4; bytes <= 1 << 30; bytes *= 4) {
    samples.push_back(copy_of(from, to, bytes, us_of(bytes), "", host));
  }
  return samples;
}

double plain_us(std::int64_t bytes) { return line_us(bytes); }

void append(std::vector<CopySample>& samples, const std::vector<CopySample>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

// Two copies of 1 to 64 MiB at the same time, which take `factor` times as long as alone.
void append_pair(std::vector<CopySample>& samples, const std::string& from_1,
                 const std::string& to_1, const std::string& from_2, const std::string& to_2,
                 double factor) {
  for (std::int64_t bytes = 1 << 20; bytes <= 1 << 26; bytes *= 4) {
    samples.push_back(copy_of(from_1, to_1, bytes, factor * line_us(bytes), from_2 + '>' + to_2));
    samples.push_back(copy_of(from_2, to_2, bytes, factor * line_us(bytes), from_1 + '>' + to_1));
  }
}

std::vector<CopySample> all_pairs_of_three() {
  std::vector<CopySample> samples;
  for (const char* from : {"cpu:0", "gpu:0", "gpu:1"}) {
    for (const char* to : {"cpu:0", "gpu:0", "gpu:1"}) {
      if (from != std::string(to)) {
        append(samples, copies_of(from, to, plain_us));
      }
    }
  }
  return samples;
}

TEST(CopyFit, FindsAlphaAndBetaOfALine) {
  const CopyFit fit = fit_copies(copies_of("gpu:0", "gpu:1", plain_us));
  ASSERT_THAT(fit.costs, SizeIs(1));
  EXPECT_EQ(fit.costs[0].from, "gpu:0");
  EXPECT_EQ(fit.costs[0].to, "gpu:1");
  EXPECT_NEAR(fit.costs[0].alpha_us, kAlphaUs, 1e-6);
  EXPECT_NEAR(fit.costs[0].bytes_per_us, kBytesPerUs, 1e-3);
  EXPECT_THAT(fit.costs[0].pieces, SizeIs(1));
  EXPECT_LT(fit.costs[0].max_error, 1e-9);
}

TEST(CopyFit, NoiseAndOddCopiesMoveItLittle) {
  RandomStream random(7);
  std::vector<CopySample> samples;
  for (int again = 0; again < 5; ++again) {
    append(samples, copies_of("gpu:0", "gpu:1", plain_us));
  }
  for (std::size_t at = 0; at < samples.size(); ++at) {
    samples[at].time.median_us *= at % 10 == 0 ? 3 : 0.96 + 0.08 * random.uniform();
  }
  const CopyFit fit = fit_copies(samples);
  EXPECT_NEAR(fit.costs[0].alpha_us, kAlphaUs, 0.03 * kAlphaUs);
  EXPECT_NEAR(fit.costs[0].bytes_per_us, kBytesPerUs, 0.03 * kBytesPerUs);
  EXPECT_THAT(fit.costs[0].pieces, SizeIs(1));
}

// Up to 64 KiB through a buffer at 1 us and 2 GB/s, beyond at 20 us and 25 GB/s.
double two_paths_us(std::int64_t bytes) {
  return bytes <= 1 << 16 ? line_us(bytes, 1, 2000) : line_us(bytes, 20, 25000);
}

TEST(CopyFit, SmallCopiesOnAnotherPathHaveALineOfTheirOwn) {
  const CopyFit fit = fit_copies(copies_of("cpu:0", "gpu:0", two_paths_us));
  ASSERT_THAT(fit.costs[0].pieces, SizeIs(2));
  const auto& [small, large] = std::pair(fit.costs[0].pieces[0], fit.costs[0].pieces[1]);
  EXPECT_EQ(small.from_bytes, 0);
  EXPECT_NEAR(small.alpha_us, 1, 1e-6);
  EXPECT_NEAR(small.bytes_per_us, 2000, 1e-2);
  EXPECT_EQ(large.from_bytes, 1 << 18);
  EXPECT_NEAR(large.alpha_us, 20, 1e-4);
  EXPECT_NEAR(large.bytes_per_us, 25000, 1);
}

// A cluster's link has the one line, so that the errors of two would flatter it.
TEST(CopyFit, TellsTheErrorsOfTheLineThatALinkHas) {
  const std::vector<CopySample> samples = copies_of("cpu:0", "gpu:0", two_paths_us);
  const CopyCost cost = fit_copies(samples).costs.at(0);
  ASSERT_THAT(cost.pieces, SizeIs(2));
  double sum = 0;
  double largest = 0;
  for (const CopySample& sample : samples) {
    const double predicted_us = line_us(sample.bytes, cost.alpha_us, cost.bytes_per_us);
    const double error = std::abs(predicted_us / sample.time.median_us - 1);
    sum += error;
    largest = std::max(largest, error);
  }
  EXPECT_GT(cost.mean_error, 0.05);
  EXPECT_NEAR(cost.mean_error, sum / static_cast<double>(samples.size()), 1e-12);
  EXPECT_NEAR(cost.max_error, largest, 1e-12);
}

TEST(CopyFit, KeepsDirectionsAndMemoriesOfTheHostApart) {
  std::vector<CopySample> samples = copies_of("cpu:0", "gpu:0", plain_us, HostMemory::kPinned);
  append(samples, copies_of(
                      "cpu:0", "gpu:0", [](std::int64_t bytes) { return line_us(bytes, 9, 6000); },
                      HostMemory::kPageable));
  append(samples, copies_of(
                      "gpu:0", "cpu:0", [](std::int64_t bytes) { return line_us(bytes, 4, 20000); },
                      HostMemory::kPinned));
  const CopyFit fit = fit_copies(samples);
  ASSERT_THAT(fit.costs, SizeIs(3));
  EXPECT_EQ(fit.costs[0].host, HostMemory::kPinned);
  EXPECT_NEAR(fit.costs[0].bytes_per_us, 25000, 1);
  EXPECT_EQ(fit.costs[1].host, HostMemory::kPageable);
  EXPECT_NEAR(fit.costs[1].bytes_per_us, 6000, 1);
  EXPECT_EQ(fit.costs[2].from, "gpu:0");
  EXPECT_NEAR(fit.costs[2].bytes_per_us, 20000, 1);
}

TEST(CopyFit, LeavesOutWhatWasMeasuredAtOneSizeOnly) {
  const std::vector<CopySample> samples = {copy_of("gpu:0", "gpu:1", 1000, 5),
                                           copy_of("gpu:0", "gpu:1", 1000, 6)};
  EXPECT_THAT(fit_copies(samples).costs, SizeIs(0));
}

// Of copies between all three devices, and two pairs at the same time.
CopyPair pair_of(const std::string& from_1, const std::string& to_1, const std::string& from_2,
                 const std::string& to_2, double factor) {
  std::vector<CopySample> samples = all_pairs_of_three();
  append_pair(samples, from_1, to_1, from_2, to_2, factor);
  const CopyFit fit = fit_copies(samples);
  EXPECT_THAT(fit.pairs, SizeIs(1));
  return fit.pairs.at(0);
}

TEST(CopyFit, CopiesThatTakeAsLongTogetherAsAloneShareNothing) {
  const auto pair = pair_of("gpu:0", "gpu:1", "gpu:1", "gpu:0", 1.02);
  EXPECT_TRUE(pair.reverse);
  EXPECT_FALSE(pair.shared);
  EXPECT_NEAR(pair.delay, 0.02, 1e-6);
  EXPECT_THAT(pair.why, HasSubstr("do not disturb each other"));
}

TEST(CopyFit, ThereAndBackInTwiceTheTimeIsHalfDuplex) {
  const auto pair = pair_of("gpu:0", "gpu:1", "gpu:1", "gpu:0", 1.95);
  EXPECT_TRUE(pair.reverse);
  EXPECT_TRUE(pair.shared);
  EXPECT_NEAR(pair.delay, 0.95, 1e-6);
  EXPECT_THAT(pair.why, HasSubstr("half duplex"));
}

// 64 MiB twice in 1.9 times what one takes.
TEST(CopyFit, CopiesToTwoDevicesThatHinderEachOtherShareALink) {
  const auto pair = pair_of("cpu:0", "gpu:0", "cpu:0", "gpu:1", 1.9);
  EXPECT_FALSE(pair.reverse);
  EXPECT_TRUE(pair.shared);
  EXPECT_NEAR(pair.bytes_per_us, 2.0 * (1 << 26) / (1.9 * line_us(1 << 26)), 1);
}

// Small copies wait for each other in the launch, which says nothing of the link.
TEST(CopyFit, SmallCopiesDoNotDecideWhatIsShared) {
  std::vector<CopySample> samples = all_pairs_of_three();
  append_pair(samples, "gpu:0", "gpu:1", "gpu:1", "gpu:0", 1.0);
  for (std::int64_t bytes = 4; bytes <= 1 << 16; bytes *= 4) {
    samples.push_back(copy_of("gpu:0", "gpu:1", bytes, 2 * line_us(bytes), "gpu:1>gpu:0"));
    samples.push_back(copy_of("gpu:1", "gpu:0", bytes, 2 * line_us(bytes), "gpu:0>gpu:1"));
  }
  EXPECT_FALSE(fit_copies(samples).pairs.at(0).shared);
}

// One takes twice as long as the other alone; over one link both end when all has passed.
TEST(CopyFit, CopiesOfDifferentSpeedsShareALinkThatServesThemInTurn) {
  std::vector<CopySample> samples = copies_of("gpu:0", "cpu:0", plain_us);
  append(samples,
         copies_of("cpu:0", "gpu:0", [](std::int64_t bytes) { return line_us(bytes, 5, 12500); }));
  for (std::int64_t bytes = 1 << 20; bytes <= 1 << 26; bytes *= 4) {
    const double both_us = line_us(bytes) + line_us(bytes, 5, 12500);
    samples.push_back(copy_of("gpu:0", "cpu:0", bytes, both_us, "cpu:0>gpu:0"));
    samples.push_back(copy_of("cpu:0", "gpu:0", bytes, both_us, "gpu:0>cpu:0"));
  }
  const CopyFit fit = fit_copies(samples);
  EXPECT_NEAR(fit.pairs.at(0).delay, 1, 1e-6);
}

DeviceProfile profile_called(const std::string& name) {
  DeviceProfile profile = load_device_profile("k80");
  profile.name = name;
  return profile;
}

const Provenance kMeasured = {
    .kind = "measured", .source = "a test", .date = "2026-11-20", .notes = "Quiet machine."};

std::vector<MeasuredDevice> three_devices() {
  return {{.name = "gpu:0", .profile = profile_called("gpu")},
          {.name = "gpu:1", .profile = profile_called("gpu")},
          {.name = "cpu:0", .profile = profile_called("cpu"), .placeable = false}};
}

Cluster cluster_of(const std::vector<CopySample>& samples) {
  return fit_cluster("lab", "a machine", kMeasured, three_devices(), fit_copies(samples));
}

TEST(ClusterFit, GivesEachCopyALinkAndWhatSharesOneMore) {
  std::vector<CopySample> samples = all_pairs_of_three();
  append_pair(samples, "cpu:0", "gpu:0", "cpu:0", "gpu:1", 2);
  append_pair(samples, "gpu:0", "cpu:0", "gpu:1", "cpu:0", 1);
  append_pair(samples, "gpu:0", "gpu:1", "gpu:1", "gpu:0", 1);
  const Cluster cluster = cluster_of(samples);
  EXPECT_THAT(cluster.profiles, SizeIs(2));
  const Topology& topology = cluster.topology;
  // Six copies, and one link that two of them share.
  EXPECT_THAT(topology.links(), SizeIs(7));
  EXPECT_NEAR(topology.latency_us(0, 1), kAlphaUs, 1e-6);
  EXPECT_NEAR(topology.bytes_per_us(0, 1), kBytesPerUs, 1);
  ASSERT_THAT(topology.route(2, 0), SizeIs(2));
  ASSERT_THAT(topology.route(2, 1), SizeIs(2));
  EXPECT_EQ(topology.route(2, 0)[1], topology.route(2, 1)[1]);
  EXPECT_THAT(topology.route(0, 2), SizeIs(1));
  const Link& shared = topology.links()[static_cast<std::size_t>(topology.route(2, 0)[1])];
  EXPECT_EQ(shared.name, "shared:0");
  EXPECT_EQ(shared.latency_us, 0);
  EXPECT_NEAR(shared.bytes_per_us, kBytesPerUs, 0.01 * kBytesPerUs);
  EXPECT_THAT(cluster.provenance.notes, HasSubstr("Quiet machine."));
  EXPECT_THAT(cluster.provenance.notes, HasSubstr("cpu:0>gpu:0 and cpu:0>gpu:1 share a link"));
  EXPECT_EQ(read_cluster(write_cluster_json(cluster), "fit"), cluster);
}

TEST(ClusterFit, ThreeCopiesThatAllShareHaveOneLinkInCommon) {
  std::vector<CopySample> samples = all_pairs_of_three();
  append_pair(samples, "cpu:0", "gpu:0", "cpu:0", "gpu:1", 2);
  append_pair(samples, "cpu:0", "gpu:0", "gpu:0", "cpu:0", 2);
  append_pair(samples, "cpu:0", "gpu:1", "gpu:0", "cpu:0", 2);
  const Cluster cluster = cluster_of(samples);
  EXPECT_THAT(cluster.topology.links(), SizeIs(7));
  EXPECT_EQ(cluster.topology.route(2, 0)[1], 6);
  EXPECT_EQ(cluster.topology.route(2, 1)[1], 6);
  EXPECT_EQ(cluster.topology.route(0, 2)[1], 6);
}

// A chain of two that share is no set of three that do.
TEST(ClusterFit, CopiesThatWereNotSeenToShareHaveNoLinkInCommon) {
  std::vector<CopySample> samples = all_pairs_of_three();
  append_pair(samples, "cpu:0", "gpu:0", "cpu:0", "gpu:1", 2);
  append_pair(samples, "cpu:0", "gpu:0", "gpu:0", "cpu:0", 2);
  append_pair(samples, "cpu:0", "gpu:1", "gpu:0", "cpu:0", 1);
  const Cluster cluster = cluster_of(samples);
  EXPECT_THAT(cluster.topology.links(), SizeIs(8));
  EXPECT_THAT(cluster.topology.route(2, 0), SizeIs(3));
  EXPECT_THAT(cluster.topology.route(2, 1), SizeIs(2));
  EXPECT_THAT(cluster.topology.route(0, 2), SizeIs(2));
}

TEST(ClusterFit, CopyThatWasNotMeasuredGoesByWayOfAThirdDevice) {
  std::vector<CopySample> samples;
  for (const char* gpu : {"gpu:0", "gpu:1"}) {
    append(samples, copies_of(gpu, "cpu:0", plain_us, HostMemory::kPinned));
    append(samples, copies_of("cpu:0", gpu, plain_us, HostMemory::kPinned));
  }
  const Cluster cluster = cluster_of(samples);
  EXPECT_NEAR(cluster.topology.latency_us(0, 1), 2 * kAlphaUs, 1e-6);
  EXPECT_THAT(cluster.provenance.notes,
              HasSubstr("No copy from gpu:0 to gpu:1 was measured: it goes through cpu:0."));
}

TEST(ClusterFit, DevicesThatNoCopyReachesAreNoCluster) {
  const CopyFit fit = fit_copies(copies_of("gpu:0", "gpu:1", plain_us));
  EXPECT_THROW(fit_cluster("lab", "a machine", kMeasured, three_devices(), fit), Error);
  const std::string names[] = {"gpu:0", "gpu:1", "cpu:0"};
  EXPECT_THROW(expect_routes(names, fit), Error);
  expect_routes(names, fit_copies(all_pairs_of_three()));
}

TEST(ClusterFit, TakesTheMemoryOfTheHostThatIsAskedFor) {
  std::vector<CopySample> samples;
  for (const auto& [host, rate] :
       {std::pair(HostMemory::kPinned, 25000.0), std::pair(HostMemory::kPageable, 6000.0)}) {
    for (std::int64_t bytes = 4; bytes <= 1 << 30; bytes *= 4) {
      samples.push_back(copy_of("cpu:0", "gpu:0", bytes, line_us(bytes, 5, rate), "", host));
      samples.push_back(copy_of("gpu:0", "cpu:0", bytes, line_us(bytes, 5, rate), "", host));
    }
  }
  const std::vector<MeasuredDevice> devices = {{.name = "gpu:0", .profile = profile_called("gpu")},
                                               {.name = "cpu:0", .profile = profile_called("cpu")}};
  const CopyFit fit = fit_copies(samples);
  EXPECT_NEAR(fit_cluster("lab", "", kMeasured, devices, fit).topology.bytes_per_us(0, 1), 25000,
              1);
  EXPECT_NEAR(fit_cluster("lab", "", kMeasured, devices, fit, HostMemory::kPageable)
                  .topology.bytes_per_us(0, 1),
              6000, 1);
}

}  // namespace
}  // namespace emplace::calibrate::copy_fit_test
