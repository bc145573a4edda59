// Do the memory curve and the first overflow account for every byte, in all three models?

#include "support/properties.hpp"

#include <emplace/sim/memory_curve.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace emplace::memory_curve_test {
namespace {

using test::below;
using test::draw_any_step;
using test::expect_always;
using test::RandomStep;
using test::Trial;

// Runs a step in one of the three models.
Trial draw_run_of_any_model() {
  RandomStep step = draw_any_step();
  auto cluster = std::make_shared<Cluster>(*step.cluster);
  const TransferModel models[] = {TransferModel::kPhysical, TransferModel::kGrappler,
                                  TransferModel::kPlaceto};
  cluster->transfer_model = models[below(3)];
  cluster->grappler = {.latency_us = 3, .bytes_per_us = 10};
  step.cluster = std::move(cluster);
  return Trial(std::move(step));
}

TEST(MemoryCurve, PeaksAtThePeakAndNeverFallsBelowTheWeights) {
  expect_always([] {
    const Trial run = draw_run_of_any_model();
    for (DeviceId device = 0; device < run.problem.num_devices(); ++device) {
      std::int64_t weights = 0;
      for (GroupId group = 0; group < run.problem.num_groups(); ++group) {
        weights +=
            run.step.placement[group] == device ? run.problem.group_persistent_bytes(group) : 0;
      }
      std::int64_t peak = 0;
      const std::vector<MemoryPoint> curve = memory_curve(run.problem, run.record, device);
      RC_ASSERT(curve == memory_curves(run.problem, run.record)[device]);
      for (const MemoryPoint& point : curve) {
        RC_ASSERT(point.bytes >= weights);
        peak = std::max(peak, point.bytes);
      }
      RC_ASSERT(peak == run.record.peak_bytes[device]);
      const auto top = std::ranges::find(curve, peak, &MemoryPoint::bytes);
      std::int64_t live = weights;
      for (const Allocation& allocation :
           live_allocations(run.problem, run.record, device, top->at_us)) {
        live += allocation.bytes;
      }
      RC_ASSERT(live == peak);
    }
  });
}

TEST(FirstOverflow, AccountsForEveryByte) {
  expect_always([] {
    const Trial run = draw_run_of_any_model();
    const auto overflow = first_overflow(run.problem, run.record, below(5));
    RC_ASSERT(overflow.has_value() == (run.record.status == StepStatus::kOutOfMemory));
    if (overflow) {
      std::int64_t sum = overflow->persistent_bytes + overflow->other_bytes;
      for (const Allocation& allocation : overflow->largest) {
        sum += allocation.bytes;
      }
      RC_ASSERT(sum == run.problem.memory_bytes(overflow->device) + overflow->bytes_over);
    }
  });
}

}  // namespace
}  // namespace emplace::memory_curve_test
