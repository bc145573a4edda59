// Queues and parts of a GPU.

#include "device_pair.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace emplace::calibrate {
namespace {

// Programs of ops of one input copy it.
OpSite unary_site(const char* kind, std::int64_t elements) {
  const Output value{.shape = {elements}, .bytes = 4 * elements};
  return {.op = {.name = "y", .kind = kind, .shape = {elements}, .outputs = {value}},
          .inputs = {value}};
}

class GpuQueues : public testing::Test {
 protected:
  void SetUp() override {
    CudaDevices found = gpus();
    if (found.devices.empty()) {
      GTEST_SKIP() << found.missing;
    }
    gpu_ = std::move(found.devices[0]);
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      numbers_[i] = static_cast<float>(i) - 500;
    }
  }

  std::unique_ptr<Memory> on_gpu() { return gpu_->allocate(kBytes, true); }

  static constexpr std::int64_t kElements = 1000;
  static constexpr std::int64_t kBytes = 4 * kElements;
  std::unique_ptr<ComputeDevice> gpu_;
  std::vector<float> numbers_ = std::vector<float>(kElements);
};

TEST_F(GpuQueues, CopyBetweenHostAndGpuAndWithinIt) {
  const auto a = on_gpu();
  const auto b = on_gpu();
  const auto pinned = gpu_->allocate_on_host(kBytes, true);
  const auto queue = gpu_->make_queue();
  queue->copy(a->data(), numbers_.data(), kBytes);
  queue->copy(b->data(), a->data(), kBytes);
  queue->copy(pinned->data(), b->data(), kBytes);
  queue->finish();
  EXPECT_EQ(std::memcmp(pinned->data(), numbers_.data(), kBytes), 0);
}

TEST_F(GpuQueues, FillMemoryWithNumbersFromMinusOneToOne) {
  const auto memory = gpu_->allocate(1 << 20, true);
  std::vector<float> numbers(1 << 18);
  const auto queue = gpu_->make_queue();
  queue->copy(numbers.data(), memory->data(), 1 << 20);
  queue->finish();
  const auto [least, most] = std::ranges::minmax(numbers);
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.99F);
  EXPECT_LT(most, 1);
  EXPECT_GT(most, 0.98F);
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / (1 << 18);
  EXPECT_NEAR(mean, 0, 0.01);
}

TEST_F(GpuQueues, RunOnPartsOfAGpuAsOnTheWhole) {
  const CudaDevices parts = gpus({.parts = 2});
  ASSERT_EQ(parts.devices.size() % 2, 0);
  const std::int32_t whole = gpu_->facts().compute_units;
  const OpSite site = unary_site("relu", kElements);
  const auto inputs = random_inputs(site);
  for (const auto& part : parts.devices) {
    EXPECT_LE(2 * part->facts().compute_units, whole);
    EXPECT_GE(part->facts().compute_units, whole / 4);
    EXPECT_EQ(run_once(*part, site, inputs), run_once(*gpu_, site, inputs));
  }
}

}  // namespace
}  // namespace emplace::calibrate
