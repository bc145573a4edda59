#include "agents/src/learned_search/observed_step.hpp"

#include "agents/src/learned_search/move_features.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace emplace::agents::learned_search::observed_step_test {
namespace {

using Devices = std::vector<DeviceId>;

// Groups: a(10) -> b(20), c(30) -> d(10), 5 bytes on each edge, a byte takes 1 us.
enum : std::int32_t { kA, kB, kC, kD };

Problem problem_of_four() {
  return test::make_problem(test::make_graph({
      {.name = "a", .cost_us = 10, .output_bytes = 5},
      {.name = "b", .cost_us = 20, .output_bytes = 5, .producers = {0}},
      {.name = "c", .cost_us = 30, .output_bytes = 5, .producers = {0}},
      {.name = "d", .cost_us = 10, .producers = {1, 2}},
  }));
}

// A step of c on device 1 and the others on device 0, by hand: a 0-10, b 10-30, c 15-45, d 50-60.
class StepOfFour : public testing::Test {
 protected:
  StepOfFour() {
    Evaluator evaluator(problem, {});
    const Placement placement(Devices{0, 0, 1, 0});
    StepOutline outline;
    const Evaluation evaluation = evaluator.evaluate({&placement, 1}, {&outline, 1}).front();
    EXPECT_EQ(evaluation.step_time_us, 60);
    step.observe(placement, outline, evaluation.step_time_us);
  }

  double step_us(const Devices& devices) const {
    Evaluator evaluator(problem, {});
    return evaluator.evaluate(Placement(devices)).step_time_us;
  }

  const Problem problem = problem_of_four();
  ObservedStep step{problem};
};

TEST_F(StepOfFour, HasTailsAndSlacks) {
  EXPECT_EQ(step.group(kD).tail_us, 10);
  EXPECT_EQ(step.group(kC).tail_us, 30 + 5 + 10);
  EXPECT_EQ(step.group(kB).tail_us, 20 + 10);
  EXPECT_EQ(step.group(kA).tail_us, 10 + 5 + 45);
  EXPECT_EQ(step.slack_us(kA), 0);
  EXPECT_EQ(step.slack_us(kB), 20);
  EXPECT_EQ(step.slack_us(kC), 0);
  EXPECT_EQ(step.slack_us(kD), 0);
}

TEST_F(StepOfFour, KnowsWhatIsCritical) {
  EXPECT_TRUE(step.group(kA).is_critical);
  EXPECT_FALSE(step.group(kB).is_critical);
  EXPECT_TRUE(step.group(kC).is_critical);
  EXPECT_TRUE(step.group(kD).is_critical);
}

TEST_F(StepOfFour, KnowsTheOrderAndTheLoadOfDevices) {
  EXPECT_THAT(step.on_device(0).groups(), testing::ElementsAre(kA, kB, kD));
  EXPECT_THAT(step.on_device(1).groups(), testing::ElementsAre(kC));
  EXPECT_EQ(step.group(kB).before, kA);
  EXPECT_EQ(step.group(kB).after, kD);
  EXPECT_EQ(step.group(kC).before, ObservedStep::kNone);
  EXPECT_EQ(step.device(0).busy_us, 40);
  EXPECT_EQ(step.device(0).sent_us, 5);
  EXPECT_EQ(step.device(0).received_us, 5);
  EXPECT_EQ(step.device(1).busy_us, 30);
  EXPECT_EQ(step.transfers_us(), 10);
  EXPECT_EQ(step.group(kD).arrival_us, 50);
  EXPECT_EQ(step.group(kD).wait_us, 0);
}

TEST(Sequence, KnowsForHowLongGroupsRunBetweenTwoTimes) {
  Sequence sequence;
  EXPECT_EQ(sequence.busy_us(0, 100), 0);
  sequence.add(7, 10, 20);
  sequence.add(3, 20, 25);
  sequence.add(5, 40, 60);
  // Every whole time by itself.
  const auto runs = [](int us) { return (us >= 10 && us < 25) || (us >= 40 && us < 60); };
  for (int begin = 0; begin < 70; ++begin) {
    int sum = 0;
    for (int end = begin; end < 70; ++end) {
      EXPECT_EQ(sequence.busy_us(begin, end), sum) << begin << " to " << end;
      sum += runs(end) ? 1 : 0;
    }
  }
  sequence.clear();
  EXPECT_EQ(sequence.busy_us(0, 100), 0);
}

// The outputs of p and q leave device 0 one after the other, at 10 and at 60: s waits until 110,
// though its input would be there at 61 and r before it ends at 65.
TEST(ObservedStep, FindsQueuesAsWaits) {
  const Problem problem = test::make_problem(test::make_graph({
      {.name = "p", .cost_us = 10, .output_bytes = 50},
      {.name = "q", .cost_us = 1, .output_bytes = 50},
      {.name = "r", .cost_us = 5, .producers = {0}},
      {.name = "s", .cost_us = 5, .producers = {1}},
  }));
  const Placement placement(Devices{0, 0, 1, 1});
  Evaluator evaluator(problem, {});
  StepOutline outline;
  const Evaluation evaluation = evaluator.evaluate({&placement, 1}, {&outline, 1}).front();
  ASSERT_EQ(evaluation.step_time_us, 115);
  ObservedStep step(problem);
  step.observe(placement, outline, evaluation.step_time_us);
  EXPECT_EQ(step.group(3).arrival_us, 61);
  EXPECT_EQ(step.group(3).wait_us, 110 - 65);
  EXPECT_EQ(step.group(2).wait_us, 0);
}

constexpr double kMeanTimeUs = 17.5;

std::array<float, MoveFeatures::kCount> features_of(const ObservedStep& step,
                                                    const std::vector<Move>& moves) {
  MoveFeatures features(step, kMeanTimeUs);
  std::array<float, MoveFeatures::kCount> values{};
  features.compute(moves, values);
  return values;
}

// c joins the others: it runs after b, from 30 to 60, and d is pushed from 50 to 60, as in truth.
TEST_F(StepOfFour, EstimatesAMoveAsTheSimulatorDoes) {
  ASSERT_EQ(step_us({0, 0, 0, 0}), 70);
  const auto features = features_of(step, {{kC, 0}});
  const float longer = signed_log2(10 / kMeanTimeUs) / 4;
  EXPECT_EQ(features[0], longer);                              // path
  EXPECT_EQ(features[2], longer);                              // push
  EXPECT_EQ(features[4], signed_log2(10 / kMeanTimeUs) / 4);   // by which d is delayed
  EXPECT_EQ(features[14], signed_log2(10 / kMeanTimeUs) / 4);  // both transfers are saved
  EXPECT_EQ(features[35], 1);                                  // both edges are closed
}

// b goes to device 1: its inputs are there at 15, when c starts, so it runs after c, from 45 to 65.
TEST_F(StepOfFour, EstimatesThatAGroupWaitsForADevice) {
  const auto features = features_of(step, {{kB, 1}});
  EXPECT_EQ(features[0], signed_log2((65 + 5 + 10 - 60) / kMeanTimeUs) / 4);
  EXPECT_EQ(features[35], -1);  // both edges are cut
}

// Four mean times around b, from -60 to 100, device 0 runs a and d for 20 besides b, and device 1
// runs c for 30.
TEST_F(StepOfFour, SeesWhoIsBusyAround) {
  const auto features = features_of(step, {{kB, 1}});
  const double more_busy_us = 20 * (20 - 30) / 160.0;
  EXPECT_FLOAT_EQ(features[24], signed_log2(more_busy_us / kMeanTimeUs) / 4);
}

// All on one device: nothing is sent any more.
TEST_F(StepOfFour, SeesWhatMovesTogether) {
  const auto features = features_of(step, {{kD, 1}, {kB, 1}, {kA, 1}});
  EXPECT_EQ(features[13], 0);                                 // transfers after
  EXPECT_EQ(features[9], signed_log2(40 / kMeanTimeUs) / 4);  // work that moves
}

TEST(SignedLog2, IsExactAtPowersOfTwoAndMonotonic) {
  EXPECT_EQ(signed_log2(0), 0);
  EXPECT_EQ(signed_log2(1), 1);
  EXPECT_EQ(signed_log2(3), 2);
  EXPECT_EQ(signed_log2(-7), -3);
  EXPECT_EQ(signed_log2(2), 1.5);  // linear between
  for (double x = -20; x < 20; x += 0.01) {
    EXPECT_LT(signed_log2(x), signed_log2(x + 0.01));
  }
}

}  // namespace
}  // namespace emplace::agents::learned_search::observed_step_test
