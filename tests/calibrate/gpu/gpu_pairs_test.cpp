// Several GPUs: what arrives, who makes a copy, and what happens where two copies end.

#include "device_pair.hpp"

#include <emplace/base/quantiles.hpp>
#include <emplace/calibrate/activity.hpp>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

constexpr std::int64_t kPairBytes = std::int64_t{64} << 20;

// Passes on what CUPTI recorded, and keeps which GPU made each copy that was timed.
class Recorder : public ActivitySource {
 public:
  Recorder() : ActivitySource(cupti()->why_none()) {}
  void push(std::uint64_t id) override { cupti()->push(id); }
  void pop() override { cupti()->pop(); }
  ActivityLog take() override {
    ActivityLog log = cupti()->take();
    std::set<std::uint32_t> timed;
    for (const ExternalLink& link : log.links) {
      timed.insert(link.correlation);
    }
    for (const DeviceWork& work : log.work) {
      if (timed.contains(work.correlation)) {
        makers.push_back(work.device);
      }
    }
    return log;
  }

  std::vector<std::uint32_t> makers{};
};

class GpuPairs : public testing::Test {
 protected:
  void SetUp() override {
    found_ = gpus({.activities = recorder_});
    if (found_.devices.empty()) {
      GTEST_SKIP() << found_.missing;
    }
    if (found_.devices.size() < 2) {
      GTEST_SKIP() << "needs two GPUs, found one";
    }
  }

  ComputeDevice& gpu(std::size_t i) { return *found_.devices[i]; }

  // The median time of each of some copies at once, which `from` makes.
  static std::vector<double> copy_us(ComputeDevice& from, std::span<const Copy> copies) {
    std::vector<double> medians;
    for (const std::vector<TimedRun>& runs : from.time_copies(copies, 10)) {
      std::vector<double> times;
      std::ranges::transform(runs, std::back_inserter(times), &TimedRun::us);
      medians.push_back(upper_median(std::move(times)));
    }
    return medians;
  }

  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  CudaDevices found_;
};

// What one GPU sends, the other receives, in both directions.
TEST_F(GpuPairs, CopyToEachOtherWhatIsThere) {
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    const auto sent = gpu(from).allocate(kPairBytes, true);
    const auto received = gpu(to).allocate(kPairBytes, false);
    const auto sender = gpu(from).make_queue();
    std::vector<char> expected(kPairBytes);
    std::vector<char> arrived(kPairBytes);
    sender->copy(received->data(), sent->data(), kPairBytes);
    sender->copy(expected.data(), sent->data(), kPairBytes);
    sender->finish();
    const auto receiver = gpu(to).make_queue();
    receiver->copy(arrived.data(), received->data(), kPairBytes);
    receiver->finish();
    EXPECT_TRUE(arrived == expected) << from << " to " << to;
  }
}

// CUPTI names the GPU whose engine made each copy: the one that it comes from, whoever times it.
TEST_F(GpuPairs, MakeTheirOwnCopies) {
  if (!cupti()->why_none().empty()) {
    GTEST_SKIP() << cupti()->why_none();
  }
  const auto here = gpu(0).allocate(kPairBytes, true);
  const auto there = gpu(1).allocate(kPairBytes, true);
  const std::vector<Copy> back = {{here->data(), there->data(), kPairBytes}};
  recorder_->makers.clear();
  const double by_other = copy_us(gpu(0), back)[0];
  EXPECT_THAT(recorder_->makers, testing::Each(1U));
  EXPECT_FALSE(recorder_->makers.empty());
  const double by_maker = copy_us(gpu(1), back)[0];
  RecordProperty("copy_us", std::to_string(by_maker));
  EXPECT_NEAR(by_other, by_maker, 0.1 * by_maker + 5);
}

// Those that can read each other do so, without the host.
TEST_F(GpuPairs, ArePeersOfOneAnother) {
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    int possible = 0;
    ASSERT_EQ(cudaDeviceCanAccessPeer(&possible, from, to), cudaSuccess);
    if (possible == 0) {
      GTEST_SKIP() << "GPU " << from << " cannot read GPU " << to << ": copies go through the host";
    }
    ASSERT_EQ(cudaSetDevice(from), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(to, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
  }
}

// Two that send to one at once share its link, or not: between as fast as alone and half as fast.
TEST_F(GpuPairs, FanIn) {
  if (found_.devices.size() < 3) {
    GTEST_SKIP() << "needs three GPUs, found " << found_.devices.size();
  }
  const auto one = gpu(0).allocate(kPairBytes, true);
  const auto other = gpu(1).allocate(kPairBytes, true);
  const auto first = gpu(2).allocate(kPairBytes, false);
  const auto second = gpu(2).allocate(kPairBytes, false);
  const std::vector<Copy> copies = {{first->data(), one->data(), kPairBytes},
                                    {second->data(), other->data(), kPairBytes}};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const double alone = copy_us(gpu(i), std::span(copies).subspan(i, 1))[0];
    const double together = copy_us(gpu(2), copies)[i];
    EXPECT_GT(together, 0.8 * alone);
    EXPECT_LT(together, 2.5 * alone);
  }
}

}  // namespace
}  // namespace emplace::calibrate
