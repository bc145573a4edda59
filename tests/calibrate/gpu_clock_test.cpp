#include <gtest/gtest.h>
#include <profiles/calibrate/src/device_figures.hpp>

#include <vector>

namespace emplace::calibrate::gpu_clock_test {
namespace {

TEST(GpuClock, IsCyclesOverTime) {
  EXPECT_EQ(mhz_between({.cycles = 1000, .ns = 500}, {.cycles = 1'756'000, .ns = 1'000'500}), 1755);
  EXPECT_EQ(mhz_between({.cycles = 5, .ns = 5}, {.cycles = 5, .ns = 9}), 0);
  EXPECT_EQ(mhz_between({.cycles = 5, .ns = 9}, {.cycles = 9, .ns = 5}), 0);
  EXPECT_EQ(mhz_between({}, {}), 0);
}

TEST(GpuClock, BelowTheOneUnderLoadARunDoesNotCount) {
  EXPECT_EQ(quality_at(1800, 2000), RunQuality::kGood);
  EXPECT_EQ(quality_at(1799, 2000), RunQuality::kThrottled);
  EXPECT_EQ(quality_at(2100, 2000), RunQuality::kGood);
  EXPECT_EQ(quality_at(0, 2000), RunQuality::kGood) << "not known";
  EXPECT_EQ(quality_at(1800, 0), RunQuality::kGood) << "not known";
}

// A GPU whose kernels spin for `unit_us` each, after a pause; whatever comes once is left out.
double gap_found(double unit_us, double pause_us, double once_us) {
  return launch_gap_us(
      [=](int kernels, int units) { return once_us + kernels * (units * unit_us + pause_us); });
}

TEST(LaunchGap, IsWhatAGpuPausesBetweenKernels) {
  EXPECT_NEAR(gap_found(10, 1.8, 4.5), 1.8, 1e-9);
  EXPECT_NEAR(gap_found(3, 0.9, 100), 0.9, 1e-9);
  EXPECT_NEAR(gap_found(10, 0, 4.5), 0, 1e-9);
}

TEST(LaunchGap, IsNeverBelowNothing) { EXPECT_GE(gap_found(10, -0.1, 0), 0); }

TEST(LaunchGap, AsksForChainsOfTwoLengthsAndTwoSpins) {
  std::vector<std::pair<int, int>> asked;
  launch_gap_us([&](int kernels, int units) {
    asked.emplace_back(kernels, units);
    return 1.0 * kernels * units;
  });
  ASSERT_EQ(asked.size(), 4);
  EXPECT_EQ(asked[0].first, 2 * asked[1].first);
  EXPECT_EQ(asked[2].second, 2 * asked[0].second);
}

}  // namespace
}  // namespace emplace::calibrate::gpu_clock_test
