#include "repair/memory_estimate.hpp"

#include "support/reused_memory.hpp"
#include "support/tight_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace emplace::agents::memory_estimate_test {
namespace {

constexpr TransferModel kModels[] = {TransferModel::kPlaceto, TransferModel::kPhysical,
                                     TransferModel::kGrappler};

TEST(PeakTree, EqualsAPlainCurve) {
  RandomStream random(1);
  for (std::size_t positions = 1; positions < 40; ++positions) {
    PeakTree tree(positions);
    std::vector<std::int64_t> curve(positions, 0);
    for (int change = 0; change < 50; ++change) {
      const std::size_t begin = random.below(positions);
      const std::size_t end = begin + random.below(positions - begin + 1);
      const auto bytes = static_cast<std::int64_t>(random.below(1000));
      tree.add(begin, end, bytes);
      for (std::size_t at = begin; at < end; ++at) {
        curve[at] += bytes;
      }
      const auto peak = std::max_element(curve.begin(), curve.end());
      ASSERT_EQ(tree.peak(), *peak);
      ASSERT_EQ(tree.position_of_peak(), static_cast<std::size_t>(peak - curve.begin()));
    }
  }
}

TEST(MemoryEstimate, OfTheRecordedPlacementIsExactInThePlacetoModel) {
  RandomStream random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const test::RandomStep step = test::draw_small_step(random);
    const Problem problem = test::with_memory(step, TransferModel::kPlaceto, test::kGigabyte);
    const StepRecord record = Simulator(problem).record(step.placement);
    MemoryEstimate estimate(problem);
    estimate.start(record);
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      ASSERT_EQ(estimate.peak_bytes(device), record.peak_bytes[device]);
    }
  }
}

// Views and ops in place included; transfers alone end at other times than in the record.
TEST(MemoryEstimate, OfOneDeviceIsExactInAllModels) {
  RandomStream random(5);
  for (const TransferModel model : kModels) {
    for (int trial = 0; trial < 100; ++trial) {
      test::RandomStep step = test::draw_small_step(random);
      test::reuse_memory(step.graph, [&](std::uint64_t bound) { return random.below(bound); });
      const Problem problem = test::with_memory(step, model, test::kGigabyte);
      const StepRecord record = Simulator(problem).record(Placement(problem.num_groups()));
      MemoryEstimate estimate(problem);
      estimate.start(record);
      ASSERT_EQ(estimate.peak_bytes(0), record.peak_bytes[0]) << trial;
    }
  }
}

// A part of the peak for each group, all together what is there.
TEST(MemoryEstimate, SharesThePeakAmongGroups) {
  RandomStream random(3);
  for (const TransferModel model : kModels) {
    for (int trial = 0; trial < 100; ++trial) {
      const test::RandomStep step = test::draw_small_step(random);
      const Problem problem = test::with_memory(step, model, test::kGigabyte);
      MemoryEstimate estimate(problem);
      estimate.start(Simulator(problem).record(step.placement));
      for (DeviceId device = 0; device < problem.num_devices(); ++device) {
        double sum = 0;
        for (const double part : estimate.parts_of_peak(device)) {
          sum += part;
        }
        // What waits for a transfer only is nobody's.
        ASSERT_LE(sum, static_cast<double>(estimate.peak_bytes(device)) * (1 + 1e-12));
      }
    }
  }
}

TEST(MemoryEstimate, MovedGroupByGroupEqualsThatOfTheWholePlacement) {
  RandomStream random(4);
  for (const TransferModel model : kModels) {
    for (int trial = 0; trial < 100; ++trial) {
      const test::RandomStep step = test::draw_small_step(random);
      const Problem problem = test::with_memory(step, model, test::kGigabyte);
      StepRecord record = Simulator(problem).record(step.placement);
      MemoryEstimate moved(problem);
      moved.start(record);
      for (int move = 0; move < 10; ++move) {
        const auto group = static_cast<GroupId>(random.below(index_of(problem.num_groups())));
        const auto device = static_cast<DeviceId>(random.below(index_of(problem.num_devices())));
        const double transfers_us = moved.added_transfer_us(group, device);
        const DeviceId before = moved.placement()[group];
        moved.move(group, device);
        EXPECT_NEAR(moved.added_transfer_us(group, before), -transfers_us, 1e-9);
        record.placement[group] = device;
        MemoryEstimate whole(problem);
        whole.start(record);
        for (DeviceId each = 0; each < problem.num_devices(); ++each) {
          ASSERT_EQ(moved.peak_bytes(each), whole.peak_bytes(each));
        }
      }
    }
  }
}

}  // namespace
}  // namespace emplace::agents::memory_estimate_test
