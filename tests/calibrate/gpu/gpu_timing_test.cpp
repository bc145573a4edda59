// What timers say of work whose time is known, roughly, from the GPU's own figures.

#include "device_pair.hpp"

#include <emplace/base/quantiles.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

double median_us(const std::vector<TimedRun>& runs) {
  std::vector<double> times_us;
  std::ranges::transform(runs, std::back_inserter(times_us), &TimedRun::us);
  return upper_median(std::move(times_us));
}

OpSite gemm_site_of(std::int64_t size, DataType type) {
  const Output matrix{.shape = {size, size}, .type = type, .bytes = size * size * size_of(type)};
  return {.op = {.name = "c",
                 .kind = "matmul",
                 .shape = {size, size, size},
                 .flops = 2 * size * size * size,
                 .outputs = {matrix}},
          .inputs = {matrix, matrix}};
}

// The median time of a product, by the device's timer.
double gemm_us(ComputeDevice& gpu, const OpSite& site) {
  const auto program = gpu.compile(site);
  Tensors tensors(gpu, site, *program);
  const auto queue = gpu.make_queue();
  tensors.fill(*queue, random_inputs(site));
  return median_us(gpu.time_runs(*program, tensors.buffers(), 20, Caches::kWarm));
}

class GpuTiming : public testing::Test {
 protected:
  void SetUp() override {
    by_events_ = gpus();
    if (by_events_.devices.empty()) {
      GTEST_SKIP() << by_events_.missing;
    }
    by_cupti_ = gpus({.activities = cupti()});
  }

  CudaDevices by_events_;
  CudaDevices by_cupti_;
};

TEST_F(GpuTiming, IsTheSameByCuptiAndByEvents) {
  if (!cupti()->why_none().empty()) {
    GTEST_SKIP() << cupti()->why_none();
  }
  const OpSite site = gemm_site_of(4096, DataType::kBfloat16);
  const double events = gemm_us(*by_events_.devices[0], site);
  const double profiled = gemm_us(*by_cupti_.devices[0], site);
  RecordProperty("events_us", std::to_string(events));
  RecordProperty("cupti_us", std::to_string(profiled));
  EXPECT_NEAR(events, profiled, 0.1 * profiled + 5);
}

// Between a tenth of the peak and the peak: a wrong unit or an unsynchronized clock is outside.
TEST_F(GpuTiming, OfALargeProductIsWithinThePeak) {
  ComputeDevice& gpu = *by_events_.devices[0];
  const OpSite site = gemm_site_of(8192, DataType::kFloat32);
  const double rate = static_cast<double>(site.op.flops) / gemm_us(gpu, site);
  RecordProperty("tflops", std::to_string(rate / 1e6));
  EXPECT_LT(rate, 1.05 * gpu.facts().peak_flops_per_us);
  EXPECT_GT(rate, 0.1 * gpu.facts().peak_flops_per_us);
}

TEST_F(GpuTiming, OfCopiesWithinTheGpuIsWithinItsBandwidth) {
  ComputeDevice& gpu = *by_events_.devices[0];
  constexpr std::int64_t kBytes = 1 << 30;
  const auto from = gpu.allocate(kBytes, true);
  const auto to = gpu.allocate(kBytes, false);
  const std::array copies = {Copy{to->data(), from->data(), kBytes}};
  const double rate = 2.0 * kBytes / median_us(gpu.time_copies(copies, 10)[0]);
  RecordProperty("gb_per_s", std::to_string(rate / 1e3));
  EXPECT_LT(rate, 1.05 * gpu.facts().memory_bytes_per_us);
  EXPECT_GT(rate, 0.5 * gpu.facts().memory_bytes_per_us);
}

TEST_F(GpuTiming, TellsTimesOfCopiesThatRunTogether) {
  ComputeDevice& gpu = *by_events_.devices[0];
  constexpr std::int64_t kBytes = 64 << 20;
  const auto a = gpu.allocate(kBytes, true);
  const auto b = gpu.allocate(kBytes, true);
  for (const bool pinned : {true, false}) {
    const auto in = gpu.allocate_on_host(kBytes, pinned);
    const auto out = gpu.allocate_on_host(kBytes, pinned);
    const std::array copies = {Copy{a->data(), in->data(), kBytes},
                               Copy{out->data(), b->data(), kBytes}};
    const auto timed = gpu.time_copies(copies, 5);
    ASSERT_EQ(timed.size(), 2);
    for (const auto& runs : timed) {
      ASSERT_EQ(runs.size(), 5);
      // No link to a host moves a terabyte in a second.
      EXPECT_GT(median_us(runs), static_cast<double>(kBytes) / 1e6);
    }
  }
}

// Published: a tiny kernel takes 1.84 us in a row of them on an RTX 3060 Laptop, 4.46 us alone.
TEST_F(GpuTiming, FindsAPauseBetweenKernels) {
  const Launch launch = by_events_.devices[0]->launches();
  RecordProperty("gap_us", std::to_string(launch.gap_us));
  RecordProperty("host_us", std::to_string(launch.host_us));
  EXPECT_GT(launch.gap_us, 0.3);
  EXPECT_LT(launch.gap_us, 5);
  EXPECT_GT(launch.host_us, 0.5);
  EXPECT_LT(launch.host_us, 20);
}

TEST_F(GpuTiming, TellsTheClockAndHoldsIt) {
  ComputeDevice& gpu = *by_events_.devices[0];
  const OpSite site = gemm_site_of(4096, DataType::kBfloat16);
  const auto program = gpu.compile(site);
  Tensors tensors(gpu, site, *program);
  for (const TimedRun& run : gpu.time_runs(*program, tensors.buffers(), 20, Caches::kCold)) {
    EXPECT_GT(run.mhz, 200);
    EXPECT_LT(run.mhz, 4000);
  }
}

TEST_F(GpuTiming, IsNoLongerWithDataInTheCaches) {
  ComputeDevice& gpu = *by_events_.devices[0];
  const Output vector{.shape = {1 << 20}, .bytes = 4 << 20};
  const OpSite site{.op = {.name = "y", .kind = "relu", .shape = {1 << 20}, .outputs = {vector}},
                    .inputs = {vector}};
  const auto program = gpu.compile(site);
  Tensors tensors(gpu, site, *program);
  const double cold = median_us(gpu.time_runs(*program, tensors.buffers(), 20, Caches::kCold));
  const double warm = median_us(gpu.time_runs(*program, tensors.buffers(), 20, Caches::kWarm));
  RecordProperty("cold_us", std::to_string(cold));
  RecordProperty("warm_us", std::to_string(warm));
  EXPECT_LT(warm, 1.1 * cold);
}

TEST_F(GpuTiming, TellsHowLongMessagesBetweenGpusTake) {
  if (by_events_.devices.size() < 2) {
    GTEST_SKIP() << "one GPU only";
  }
  const auto us = by_events_.devices[0]->message_us(*by_events_.devices[1]);
  ASSERT_TRUE(us.has_value());
  RecordProperty("message_us", std::to_string(*us));
  EXPECT_GT(*us, 1);
  EXPECT_LT(*us, 200);
}

}  // namespace
}  // namespace emplace::calibrate
