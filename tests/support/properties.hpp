#pragma once

// Properties of random steps, checked with rapidcheck, which looks for a smaller example when one
// fails. Seeds are fixed: a test passes or fails for everyone.

#include "support/machines.hpp"

#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <sstream>
#include <utility>

namespace emplace::test {

/// Expects that `property`, which draws what it needs and checks with RC_ASSERT, holds 1000 times.
template <class Property>
void expect_always(const Property& property) {
  const rc::detail::TestResult result = rc::detail::checkTestable(
      property, rc::detail::TestMetadata{}, rc::detail::TestParams{.seed = 20, .maxSuccess = 1000});
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << text.str();
}

/// Draws an integer in [0, bound); of use in a property only, as the others here.
inline std::uint64_t below(std::uint64_t bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, bound));
}

/// Draws a step without coincidences, or in half of all cases with many.
inline RandomStep draw_any_step() {
  return draw_step(below, below(2) == 0 ? Coincidences::kMany : Coincidences::kNone, 60);
}

/// Draws a device for each group.
inline Placement draw_placement(const Problem& problem) {
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < placement.size(); ++group) {
    placement[group] =
        static_cast<DeviceId>(below(static_cast<std::uint64_t>(problem.num_devices())));
  }
  return placement;
}

/// Holds a step, and how it went.
struct Trial {
  RandomStep step;
  Problem problem;
  StepRecord record;

  /// Runs the step.
  explicit Trial(RandomStep drawn)
      : step(std::move(drawn)),
        problem(make_problem(step.graph, step.cluster)),
        record(Simulator(problem).record(step.placement)) {}

  DeviceId device_of(OpId op) const { return step.placement[problem.grouping().group_of(op)]; }
};

}  // namespace emplace::test
