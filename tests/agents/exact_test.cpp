#include "agents/placing.hpp"
#include "support/small_problems.hpp"

#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace emplace::agents::exact_test {
namespace {

// Returns the least step time of all placements that fit; infinity if none does.
double optimum_us(const Problem& problem) {
  Simulator simulator(problem);
  double best_us = std::numeric_limits<double>::infinity();
  test::for_each_placement(problem, [&](const Placement& placement) {
    if (const SimResult& step = simulator.run(placement); step.status == StepStatus::kOk) {
      best_us = std::min(best_us, step.makespan_us);
    }
  });
  return best_us;
}

class Exact : public testing::TestWithParam<TransferModel> {};

TEST_P(Exact, FindsTheOptimumAndProvesIt) {
  RandomStream random(11);
  int num_fitting = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    const double best_us = optimum_us(problem);
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 100'000}});
    make("exact")->place(problem, evaluator);
    if (best_us == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(evaluator.incumbent().evaluation().status, EvaluationStatus::kOutOfMemory);
      continue;
    }
    ++num_fitting;
    ASSERT_EQ(evaluator.incumbent().evaluation().status, EvaluationStatus::kOk);
    EXPECT_NEAR(evaluator.incumbent().evaluation().step_time_us, best_us, 1e-9 * best_us);
    EXPECT_NEAR(evaluator.incumbent().proven_bound_us(), best_us, 2e-9 * best_us);
  }
  EXPECT_GT(num_fitting, 100);
}

TEST_P(Exact, ProvesNoMoreThanIsTrueWhenItsBudgetEnds) {
  RandomStream random(12);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 1 + round % 20}});
    make("exact:nodes=3")->place(problem, evaluator);
    EXPECT_LE(evaluator.incumbent().proven_bound_us(), optimum_us(problem));
  }
}

// Each draw pins one group, or ties two.
TEST_P(Exact, FindsTheOptimumUnderConstraints) {
  RandomStream random(13);
  int num_raised = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const Problem free = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    auto cluster = std::make_shared<Cluster>(free.cluster());
    const auto draw_op = [&] {
      return free.op(OpId(random.below(static_cast<std::uint64_t>(free.num_ops())))).name;
    };
    const auto placeable = free.placeable_devices();
    const std::string device = free.device(placeable[random.below(placeable.size())]).name;
    if (round % 2 == 0) {
      cluster->pins = {{.pattern = draw_op(), .device = device}};
    } else {
      cluster->together = {draw_op(), draw_op()};
      cluster->pins = {{.pattern = cluster->together.front(), .device = device}};
    }
    const Problem problem(std::make_shared<const OpGraph>(free.graph()), free.grouping(), cluster);
    Simulator simulator(problem);
    double best_us = std::numeric_limits<double>::infinity();
    test::for_each_placement(problem, [&](const Placement& placement) {
      Placement kept = placement;
      problem.constrain(kept);
      if (kept == placement) {
        const SimResult& step = simulator.run(placement);
        best_us = std::min(best_us, step.status == StepStatus::kOk ? step.makespan_us : best_us);
      }
    });
    num_raised += best_us > optimum_us(free) ? 1 : 0;
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 100'000}});
    make("exact")->place(problem, evaluator);
    if (best_us == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(evaluator.incumbent().evaluation().status, EvaluationStatus::kOutOfMemory);
    } else {
      EXPECT_NEAR(evaluator.incumbent().evaluation().step_time_us, best_us, 1e-9 * best_us);
      EXPECT_NEAR(evaluator.incumbent().proven_bound_us(), best_us, 2e-9 * best_us);
    }
  }
  EXPECT_GT(num_raised, 10);
}

INSTANTIATE_TEST_SUITE_P(Models, Exact,
                         testing::Values(TransferModel::kPlaceto, TransferModel::kPhysical,
                                         TransferModel::kGrappler),
                         [](const testing::TestParamInfo<TransferModel>& model) {
                           return std::string(to_string(model.param));
                         });

}  // namespace
}  // namespace emplace::agents::exact_test
