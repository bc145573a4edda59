#include "agents/placing.hpp"
#include "support/small_problems.hpp"

#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace emplace::agents::exact_test {
namespace {

// Returns the least step time of `placement` in any order of the groups, or in that of the queues;
// infinity if it does not fit.
double best_order_us(Simulator& simulator, Placement placement) {
  double best_us = std::numeric_limits<double>::infinity();
  const auto run = [&] {
    const SimResult& step = simulator.run(placement);
    best_us = std::min(best_us, step.status == StepStatus::kOk ? step.makespan_us : best_us);
  };
  run();
  std::vector<Priority> order(index_of(placement.size()));
  std::iota(order.begin(), order.end(), 0);
  do {
    placement.set_priorities(IdVector<GroupId, Priority>(order));
    run();
  } while (std::ranges::next_permutation(order).found);
  return best_us;
}

// Returns the same of all placements.
double optimum_us(const Problem& problem) {
  Simulator simulator(problem);
  double best_us = std::numeric_limits<double>::infinity();
  test::for_each_placement(problem, [&](const Placement& placement) {
    Placement kept = placement;
    problem.constrain(kept);
    if (kept == placement) {
      best_us = std::min(best_us, best_order_us(simulator, placement));
    }
  });
  return best_us;
}

// Expects that `exact` found and proved what is true of a problem; returns whether it proved that
// its placement is optimal.
bool is_proven(const Problem& problem) {
  const double best_us = optimum_us(problem);
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 20'000}});
  make("exact")->place(problem, evaluator);
  const Evaluation& found = evaluator.incumbent().evaluation();
  EXPECT_LE(evaluator.incumbent().proven_bound_us(), best_us * (1 + 1e-9));
  if (found.status != EvaluationStatus::kOk) {
    return false;
  }
  EXPECT_GE(found.step_time_us, best_us * (1 - 1e-9));
  return evaluator.incumbent().proven_bound_us() >= found.step_time_us * (1 - 1e-8);
}

// Draws a problem whose placements and orders can all be tried.
Problem draw_tiny_problem(RandomStream& random, TransferModel model) {
  for (;;) {
    Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, model, 32);
    if (problem.num_groups() <= 5) {
      return problem;
    }
  }
}

class Exact : public testing::TestWithParam<TransferModel> {};

TEST_P(Exact, FindsTheOptimumAndProvesIt) {
  RandomStream random(11);
  int num_proven = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    num_proven += is_proven(draw_tiny_problem(random, GetParam()));
  }
  EXPECT_GT(num_proven, 60);
}

// All placements whose devices keep the order of their queues are tried, or cannot be better.
TEST_P(Exact, IsAsGoodAsAnyPlacementWithoutAnOrder) {
  RandomStream random(11);
  int num_fitting = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    Simulator simulator(problem);
    double best_us = std::numeric_limits<double>::infinity();
    test::for_each_placement(problem, [&](const Placement& placement) {
      if (const SimResult& step = simulator.run(placement); step.status == StepStatus::kOk) {
        best_us = std::min(best_us, step.makespan_us);
      }
    });
    if (best_us == std::numeric_limits<double>::infinity()) {
      continue;
    }
    ++num_fitting;
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 100'000}});
    make("exact")->place(problem, evaluator);
    ASSERT_EQ(evaluator.incumbent().evaluation().status, EvaluationStatus::kOk);
    EXPECT_LE(evaluator.incumbent().evaluation().step_time_us, best_us * (1 + 1e-9));
  }
  EXPECT_GT(num_fitting, 100);
}

TEST_P(Exact, ProvesNoMoreThanIsTrueWhenItsBudgetEnds) {
  RandomStream random(12);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = draw_tiny_problem(random, GetParam());
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 1 + round % 20}});
    make("exact:nodes=3")->place(problem, evaluator);
    EXPECT_LE(evaluator.incumbent().proven_bound_us(), optimum_us(problem));
  }
}

// Each draw pins one group, or ties two.
TEST_P(Exact, FindsTheOptimumUnderConstraints) {
  RandomStream random(13);
  int num_raised = 0;
  int num_proven = 0;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const Problem free = draw_tiny_problem(random, GetParam());
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
    num_raised += optimum_us(problem) > optimum_us(free) ? 1 : 0;
    num_proven += is_proven(problem);
  }
  EXPECT_GT(num_raised, 10);
  EXPECT_GT(num_proven, 40);
}

INSTANTIATE_TEST_SUITE_P(Models, Exact,
                         testing::Values(TransferModel::kPlaceto, TransferModel::kPhysical,
                                         TransferModel::kGrappler),
                         [](const testing::TestParamInfo<TransferModel>& model) {
                           return std::string(to_string(model.param));
                         });

}  // namespace
}  // namespace emplace::agents::exact_test
