// Evaluators on coarser levels of an evaluator's problem.

#include "coarsening/coarsening.hpp"
#include "coarsening/group_nesting.hpp"
#include "support/problems.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/move_evaluator.hpp>
#include <emplace/base/check.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::agents::coarse_evaluator_test {
namespace {

// Returns the placement of each group on the device in its place.
Placement on(std::vector<DeviceId> devices) { return Placement(std::move(devices)); }

// A chain of 10, 20, 30, 40 us; {a, b} and {c, d} are the groups of the coarser level.
class CoarseEvaluator : public testing::Test {
 protected:
  const Problem fine_ = test::make_problem(test::chain_graph({10, 20, 30, 40}, 5));
  const Problem level_ = fine_.regrouped(Grouping({0, 0, 1, 1}));
};

TEST_F(CoarseEvaluator, EvaluatesAsTheEvaluatorAboveDoesBitForBit) {
  const auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  const Problem fine(graph, find_grouping("colocation").group(*graph, 1),
                     std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
  const Problem level = fine.regrouped(Coarsening(fine).grouping(40));
  Evaluator evaluator(fine, {.budget = {.max_evaluations = 100}});
  Evaluator coarse(evaluator, level);
  Evaluator alone(level, {.budget = {.max_evaluations = 100}});
  RandomStream random(3);
  for (int i = 0; i < 20; ++i) {
    Placement placement(level.num_groups());
    for (GroupId group = 0; group < level.num_groups(); ++group) {
      placement[group] = level.placeable_devices()[random.below(4)];
    }
    const Evaluation evaluation = coarse.evaluate(placement);
    const Evaluation expected = alone.evaluate(placement);
    EXPECT_EQ(evaluation.status, expected.status);
    EXPECT_EQ(evaluation.step_time_us, expected.step_time_us);
    EXPECT_EQ(evaluation.bytes_over, expected.bytes_over);
  }
  EXPECT_EQ(coarse.incumbent().placement(), alone.incumbent().placement());
  EXPECT_EQ(coarse.incumbent().evaluations_to_best(), alone.incumbent().evaluations_to_best());
  EXPECT_EQ(evaluator.incumbent().evaluation().step_time_us,
            coarse.incumbent().evaluation().step_time_us);
  EXPECT_EQ(
      evaluator.incumbent().placement(),
      GroupNesting(fine.grouping(), level.grouping()).expand(*coarse.incumbent().placement()));
}

TEST_F(CoarseEvaluator, RunsSearchesSideBySideOnItsLevel) {
  Evaluator evaluator(fine_, {.budget = {.max_evaluations = 100}});
  Evaluator coarse(evaluator, level_);
  coarse.run_in_parallel(2, 0.5, [&](std::size_t index, Evaluator& child) {
    EXPECT_EQ(&child.problem(), &level_);
    child.evaluate(index == 0 ? on({0, 1}) : on({1, 1}));
  });
  EXPECT_EQ(evaluator.budget().evaluations(), 2);
  EXPECT_EQ(coarse.incumbent().placement(), on({1, 1}));  // 100 us; apart it is 105
  EXPECT_EQ(coarse.incumbent().evaluation().step_time_us, 100);
  EXPECT_EQ(evaluator.incumbent().placement(), on({1, 1, 1, 1}));
}

TEST_F(CoarseEvaluator, SpendsTheBudgetOfTheEvaluatorAbove) {
  std::vector<std::int64_t> progress;
  Evaluator evaluator(
      fine_, {.budget = {.max_evaluations = 130},
              .progress = [&](std::int64_t evaluations) { progress.push_back(evaluations); }});
  evaluator.evaluate(Placement(4));
  Evaluator coarse(evaluator, level_);
  EXPECT_EQ(coarse.budget().evaluations(), 1);
  EXPECT_EQ(coarse.budget().evaluations_left(), 129);
  const std::vector<Evaluation> evaluations =
      coarse.evaluate(std::vector<Placement>(140, Placement(2)));
  EXPECT_EQ(evaluations[128].status, EvaluationStatus::kOk);
  EXPECT_EQ(evaluations[129].status, EvaluationStatus::kBudgetSpent);
  EXPECT_EQ(evaluator.budget().evaluations(), 130);
  EXPECT_TRUE(coarse.budget().exhausted());
  EXPECT_EQ(coarse.evaluate(Placement(2)).status, EvaluationStatus::kBudgetSpent);
  EXPECT_THAT(progress, testing::ElementsAre(128));
}

TEST_F(CoarseEvaluator, EndsWhenTheEvaluatorAboveIsStopped) {
  std::atomic<bool> stop = false;
  Evaluator evaluator(fine_, {.budget = {.max_evaluations = 130, .stop = &stop}});
  Evaluator coarse(evaluator, level_);
  EXPECT_FALSE(coarse.budget().exhausted());
  stop = true;
  EXPECT_TRUE(coarse.budget().exhausted());
}

TEST_F(CoarseEvaluator, DrawsFromTheStreamOfTheEvaluatorAbove) {
  Evaluator evaluator(fine_, {.seed = 9});
  Evaluator coarse(evaluator, level_);
  RandomStream expected(9);
  EXPECT_EQ(coarse.random().below(1000), expected.below(1000));
  EXPECT_EQ(evaluator.random().below(1000), expected.below(1000));
  EXPECT_EQ(evaluator.state().random, expected.state());
}

// By hand: a and b on the first device until 30, 5 us for 5 bytes, c and d until 105.
TEST_F(CoarseEvaluator, OutlinesCoarseGroups) {
  Evaluator evaluator(fine_, {.budget = {.max_evaluations = 1}});
  Evaluator coarse(evaluator, level_);
  const std::vector<Placement> placements(2, on({0, 1}));
  std::vector<StepOutline> outlines(2);
  coarse.evaluate(placements, outlines);
  EXPECT_THAT(outlines[0].group_start_us, testing::ElementsAre(0, 35));
  EXPECT_THAT(outlines[0].peak_bytes, testing::SizeIs(2));
  EXPECT_THAT(outlines[1].group_start_us, testing::IsEmpty());  // beyond the budget
}

TEST_F(CoarseEvaluator, StartsWithTheBestAboveWhereItCanExpressIt) {
  Evaluator evaluator(fine_, {});
  evaluator.evaluate(on({1, 1, 0, 0}));
  const Evaluator coarse(evaluator, level_);
  EXPECT_EQ(coarse.incumbent().placement(), on({1, 0}));
  EXPECT_EQ(coarse.incumbent().evaluation().step_time_us, 105);
  EXPECT_EQ(coarse.incumbent().evaluations_to_best(), 1);

  Evaluator other(fine_, {});
  other.evaluate(on({1, 0, 0, 0}));
  EXPECT_FALSE(Evaluator(other, level_).incumbent().placement().has_value());
}

TEST_F(CoarseEvaluator, NeverTakesWhatWasCutOffForTheBest) {
  Evaluator evaluator(fine_, {});
  evaluator.evaluate(on({0, 1, 1, 1}));  // 105 us, which the level cannot express
  Evaluator coarse(evaluator, level_);
  ASSERT_FALSE(coarse.incumbent().placement().has_value());
  MoveEvaluator moves(coarse);
  moves.go_to(on({0, 0}));
  const Move move{1, 1};
  EXPECT_EQ(moves.evaluate({&move, 1}, 1.0).status, EvaluationStatus::kCutOff);
  EXPECT_FALSE(coarse.incumbent().placement().has_value());
  EXPECT_EQ(coarse.incumbent().evaluations_to_best(), 0);
}

// As whole placements: their evaluations, outlines, and what all evaluators know of them.
TEST_F(CoarseEvaluator, EvaluatesMovesOnStackedLevels) {
  const Problem one = fine_.regrouped(Grouping({0, 0, 0, 0}));
  Evaluator evaluator(fine_, {.budget = {.max_evaluations = 10}});
  Evaluator coarse(evaluator, level_);
  Evaluator coarsest(coarse, one);
  MoveEvaluator moves(coarse);
  EXPECT_EQ(moves.start(on({0, 1})).step_time_us, 105);
  StepOutline outline;
  moves.outline(outline);
  EXPECT_THAT(outline.group_start_us, testing::ElementsAre(0, 35));
  const Move back{1, 0};
  EXPECT_EQ(moves.evaluate({&back, 1}).step_time_us, 100);
  EXPECT_EQ(moves.base(), on({0, 1}));
  moves.accept();
  EXPECT_EQ(moves.base(), on({0, 0}));
  EXPECT_EQ(coarse.incumbent().placement(), on({0, 0}));
  EXPECT_EQ(evaluator.incumbent().placement(), on({0, 0, 0, 0}));

  MoveEvaluator all(coarsest);
  all.start(on({1}));
  const Move away{0, 0};
  EXPECT_EQ(all.evaluate({&away, 1}).step_time_us, 100);
  EXPECT_EQ(coarsest.incumbent().placement(), on({1}));
  EXPECT_EQ(evaluator.budget().evaluations(), 4);
}

TEST_F(CoarseEvaluator, StacksLevels) {
  const Problem one = fine_.regrouped(Grouping({0, 0, 0, 0}));
  Evaluator evaluator(fine_, {.budget = {.max_evaluations = 2}});
  Evaluator coarse(evaluator, level_);
  Evaluator coarsest(coarse, one);
  EXPECT_EQ(coarsest.evaluate(on({1})).step_time_us, 100);
  EXPECT_EQ(coarse.incumbent().placement(), on({1, 1}));
  EXPECT_EQ(evaluator.incumbent().placement(), on({1, 1, 1, 1}));
  EXPECT_EQ(coarsest.budget().evaluations_left(), 1);
}

TEST_F(CoarseEvaluator, RefusesWhatIsNotItsOwn) {
  Evaluator on_level(level_, {});
  EXPECT_THROW(Evaluator(on_level, fine_), InternalError);
  Evaluator evaluator(fine_, {});
  Evaluator coarse(evaluator, level_);
  EXPECT_THROW(coarse.restore({}), InternalError);
}

}  // namespace
}  // namespace emplace::agents::coarse_evaluator_test
