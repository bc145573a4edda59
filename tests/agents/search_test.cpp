#include "agents/placing.hpp"
#include "support/problems.hpp"
#include "support/test_names.hpp"

#include <emplace/base/error.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <chrono>

namespace emplace::agents::search_test {
namespace {

double step_time_us(std::string_view agent, const Problem& problem,
                    const Evaluator::Options& options) {
  Evaluator evaluator(problem, options);
  return Simulator(problem).run(make(agent)->place(problem, evaluator)).makespan_us;
}

class Search : public testing::TestWithParam<std::string> {};

TEST_P(Search, FindsTheOptimumOfSmallProblems) {
  for (const std::int64_t bytes : {0, 30, 90, 300}) {
    SCOPED_TRACE(bytes);
    const Problem problem = test::make_problem(test::fork_join_graph(8, bytes));
    EXPECT_DOUBLE_EQ(
        step_time_us(GetParam(), problem, {.seed = 1, .budget = {.max_evaluations = 3000}}),
        test::optimum_us(problem));
  }
}

TEST_P(Search, IsNeverWorseThanOneDevice) {
  const Problem problem = test::make_problem(test::fork_join_graph(12, 5000), {.num_devices = 4});
  for (const std::int64_t budget : {1, 10, 100, 1000}) {
    EXPECT_LE(step_time_us(GetParam(), problem, {.seed = 2, .budget = {.max_evaluations = budget}}),
              1220);
  }
}

// Where ops take no time, only transfers tell placements apart.
TEST_P(Search, SpendsItsBudgetOnOpsThatTakeNoTime) {
  std::vector<test::OpSketch> ops = {{.name = "source", .cost_us = 0, .output_bytes = 10}};
  for (int op = 0; op < 20; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op),
                   .cost_us = 0,
                   .output_bytes = 10,
                   .producers = {op / 2},
                   .persistent_bytes = test::kGigabyte / 12});
  }
  const Problem problem = test::make_problem(test::make_graph(ops));
  Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = 500}});
  make(GetParam())->place(problem, evaluator);
  EXPECT_EQ(evaluator.budget().evaluations(), 500);
}

TEST(HillClimb, MayStartFromWhatHeftFinds) {
  // Twelve branches of 100 us behind one another take 1220 us on one device; HEFT spreads them.
  const Problem problem = test::make_problem(test::fork_join_graph(12, 1), {.num_devices = 4});
  const Evaluator::Options one_evaluation{.seed = 1, .budget = {.max_evaluations = 1}};
  EXPECT_EQ(step_time_us("hill-climb", problem, one_evaluation), 1220);
  const double heft_us = step_time_us("heft", problem, one_evaluation);
  EXPECT_LT(heft_us, 1220);
  EXPECT_EQ(step_time_us("hill-climb:start=heft", problem, one_evaluation), heft_us);
}

TEST_P(Search, FindsAPlacementThatFits) {
  const Problem problem = ten_weights();
  const Placement placement(
      place(GetParam(), problem, {.seed = 3, .budget = {.max_evaluations = 2000}}));
  EXPECT_EQ(Simulator(problem).run(placement).status, StepStatus::kOk);
}

// With 62 groups `auto` explores on several levels, and by annealing where there are more than 20
// evaluations for each group.
TEST_P(Search, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Problem problem = test::make_problem(test::fork_join_graph(60, 700), {.num_devices = 3});
  const auto run = [&](std::size_t threads) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    return place(GetParam(), problem, {.seed = 5, .budget = {.max_evaluations = 1500}});
  };
  EXPECT_EQ(run(4), run(1));
}

TEST_P(Search, EndsWithItsTime) {
  const Problem problem = test::make_problem(test::fork_join_graph(60, 700), {.num_devices = 3});
  Evaluator evaluator(problem, {.budget = {.max_evaluations = Budget::kUnlimited,
                                           .max_time = std::chrono::milliseconds(50)}});
  const Placement placement = make(GetParam())->place(problem, evaluator);
  EXPECT_TRUE(evaluator.budget().exhausted());
  EXPECT_EQ(Simulator(problem).run(placement).makespan_us,
            evaluator.incumbent().evaluation().step_time_us);
}

INSTANTIATE_TEST_SUITE_P(Agents, Search,
                         testing::Values("hill-climb", "hill-climb:moves=proposed",
                                         "simulated-annealing", "mcmc", "brkga", "multilevel",
                                         "auto"),
                         test::kNamedByParameter);

TEST(AnySearch, StartsFromTheBestOfItsEvaluator) {
  const Problem problem = test::make_problem(test::fork_join_graph(60, 700), {.num_devices = 3});
  const Placement good(
      place("simulated-annealing", problem, {.seed = 1, .budget = {.max_evaluations = 3000}}));
  const double good_us = Simulator(problem).run(good).makespan_us;
  for (const char* agent : {"simulated-annealing", "auto"}) {
    SCOPED_TRACE(agent);
    const Evaluator::Options few{.seed = 2, .budget = {.max_evaluations = 20}};
    Evaluator evaluator(problem, few);
    evaluator.evaluate(good);
    const Placement placement = make(agent)->place(problem, evaluator);
    EXPECT_LE(Simulator(problem).run(placement).makespan_us, good_us);
    EXPECT_GT(step_time_us(agent, problem, few), good_us);
  }
}

// A chain at a low temperature descends; one at a high temperature walks at random, and is worse.
TEST(Mcmc, PrefersShortStepsTheMoreTheHigherBetaIs) {
  const Problem problem = test::make_problem(test::fork_join_graph(200, 20), {.num_devices = 6});
  const Evaluator::Options options{.seed = 4, .budget = {.max_evaluations = 2000}};
  const std::string chain = "mcmc:chains=1,start=one-device,beta=";
  EXPECT_LT(step_time_us(chain + "30", problem, options),
            step_time_us(chain + "0.01", problem, options));
}

// The first individual has the ranks of HEFT as keys.
TEST(Brkga, OrdersAListScheduler) {
  const Problem problem = test::make_problem(test::crossing_graph());
  EXPECT_DOUBLE_EQ(step_time_us("brkga:decoder=priorities", problem,
                                {.seed = 1, .budget = {.max_evaluations = 2000}}),
                   test::optimum_us(problem));
  const Evaluator::Options one_evaluation{.seed = 1, .budget = {.max_evaluations = 1}};
  EXPECT_EQ(place("brkga:decoder=priorities", problem, one_evaluation),
            place("heft", problem, one_evaluation));
}

TEST(Multilevel, StartsFromEitherHeuristic) {
  const Problem problem = test::make_problem(test::fork_join_graph(60, 700), {.num_devices = 3});
  for (const char* start : {"etf", "heft"}) {
    SCOPED_TRACE(start);
    Evaluator evaluator(problem, {.seed = 5, .budget = {.max_evaluations = 2000}});
    const Placement placement =
        make(std::string("multilevel:start=") + start)->place(problem, evaluator);
    EXPECT_LE(evaluator.budget().evaluations(), 2000);
    EXPECT_LT(Simulator(problem).run(placement).makespan_us, 6020);  // of one device
  }
  EXPECT_THROW(make("multilevel:start=nobody"), Error);
}

}  // namespace
}  // namespace emplace::agents::search_test
