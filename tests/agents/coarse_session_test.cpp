// Sessions on coarser levels of a session's problem.

#include "agents/src/move_evaluator.hpp"
#include "coarsening/coarsening.hpp"
#include "coarsening/group_nesting.hpp"
#include "support/problems.hpp"

#include <emplace/agents/session.hpp>
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

namespace emplace::agents::coarse_session_test {
namespace {

// Returns the placement of each group on the device in its place.
Placement on(std::vector<DeviceId> devices) { return Placement(std::move(devices)); }

// A chain of 10, 20, 30, 40 us; {a, b} and {c, d} are the groups of the coarser level.
class CoarseSession : public testing::Test {
 protected:
  const Problem fine_ = test::make_problem(test::chain_graph({10, 20, 30, 40}, 5));
  const Problem level_ = fine_.regrouped(Grouping({0, 0, 1, 1}));
};

TEST_F(CoarseSession, EvaluatesAsTheSessionAboveDoesBitForBit) {
  const auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  const Problem fine(graph, find_grouping("colocation").group(*graph, 1),
                     std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
  const Problem level = fine.regrouped(Coarsening(fine).grouping(40));
  Session session(fine, {.max_evaluations = 100});
  Session coarse(session, level);
  Session alone(level, {.max_evaluations = 100});
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
  EXPECT_EQ(coarse.best_placement(), alone.best_placement());
  EXPECT_EQ(coarse.evaluations_to_best(), alone.evaluations_to_best());
  EXPECT_EQ(session.best_evaluation().step_time_us, coarse.best_evaluation().step_time_us);
  EXPECT_EQ(session.best_placement(),
            GroupNesting(fine.grouping(), level.grouping()).expand(*coarse.best_placement()));
}

TEST_F(CoarseSession, RunsSearchesSideBySideOnItsLevel) {
  Session session(fine_, {.max_evaluations = 100});
  Session coarse(session, level_);
  coarse.run_in_parallel(2, 0.5, [&](std::size_t index, Session& child) {
    EXPECT_EQ(&child.problem(), &level_);
    child.evaluate(index == 0 ? on({0, 1}) : on({1, 1}));
  });
  EXPECT_EQ(session.evaluations(), 2);
  EXPECT_EQ(coarse.best_placement(), on({1, 1}));  // 100 us; apart it is 105
  EXPECT_EQ(coarse.best_evaluation().step_time_us, 100);
  EXPECT_EQ(session.best_placement(), on({1, 1, 1, 1}));
}

TEST_F(CoarseSession, SpendsTheBudgetOfTheSessionAbove) {
  std::vector<std::int64_t> progress;
  Session session(fine_, {.max_evaluations = 130, .progress = [&](std::int64_t evaluations) {
                            progress.push_back(evaluations);
                          }});
  session.evaluate(Placement(4));
  Session coarse(session, level_);
  EXPECT_EQ(coarse.evaluations(), 1);
  EXPECT_EQ(coarse.evaluations_left(), 129);
  const std::vector<Evaluation> evaluations =
      coarse.evaluate(std::vector<Placement>(140, Placement(2)));
  EXPECT_EQ(evaluations[128].status, EvaluationStatus::kOk);
  EXPECT_EQ(evaluations[129].status, EvaluationStatus::kBudgetSpent);
  EXPECT_EQ(session.evaluations(), 130);
  EXPECT_TRUE(coarse.exhausted());
  EXPECT_EQ(coarse.evaluate(Placement(2)).status, EvaluationStatus::kBudgetSpent);
  EXPECT_THAT(progress, testing::ElementsAre(128));
}

TEST_F(CoarseSession, EndsWhenTheSessionAboveIsStopped) {
  std::atomic<bool> stop = false;
  Session session(fine_, {.max_evaluations = 130, .stop = &stop});
  Session coarse(session, level_);
  EXPECT_FALSE(coarse.exhausted());
  stop = true;
  EXPECT_TRUE(coarse.exhausted());
}

TEST_F(CoarseSession, DrawsFromTheStreamOfTheSessionAbove) {
  Session session(fine_, {.seed = 9});
  Session coarse(session, level_);
  RandomStream expected(9);
  EXPECT_EQ(coarse.random().below(1000), expected.below(1000));
  EXPECT_EQ(session.random().below(1000), expected.below(1000));
  EXPECT_EQ(coarse.state().random, expected.state());
}

// By hand: a and b on the first device until 30, 5 us for 5 bytes, c and d until 105.
TEST_F(CoarseSession, OutlinesCoarseGroups) {
  Session session(fine_, {.max_evaluations = 1});
  Session coarse(session, level_);
  const std::vector<Placement> placements(2, on({0, 1}));
  std::vector<StepOutline> outlines(2);
  coarse.evaluate(placements, outlines);
  EXPECT_THAT(outlines[0].group_start_us, testing::ElementsAre(0, 35));
  EXPECT_THAT(outlines[0].peak_bytes, testing::SizeIs(2));
  EXPECT_THAT(outlines[1].group_start_us, testing::IsEmpty());  // beyond the budget
}

TEST_F(CoarseSession, StartsWithTheBestAboveWhereItCanExpressIt) {
  Session session(fine_, {});
  session.evaluate(on({1, 1, 0, 0}));
  const Session coarse(session, level_);
  EXPECT_EQ(coarse.best_placement(), on({1, 0}));
  EXPECT_EQ(coarse.best_evaluation().step_time_us, 105);
  EXPECT_EQ(coarse.evaluations_to_best(), 1);

  Session other(fine_, {});
  other.evaluate(on({1, 0, 0, 0}));
  EXPECT_FALSE(Session(other, level_).best_placement().has_value());
}

TEST_F(CoarseSession, NeverTakesWhatWasCutOffForTheBest) {
  Session session(fine_, {});
  session.evaluate(on({0, 1, 1, 1}));  // 105 us, which the level cannot express
  Session coarse(session, level_);
  ASSERT_FALSE(coarse.best_placement().has_value());
  MoveEvaluator evaluator(coarse);
  evaluator.go_to(on({0, 0}));
  const Move move{1, 1};
  EXPECT_EQ(evaluator.evaluate({&move, 1}, 1.0).status, EvaluationStatus::kCutOff);
  EXPECT_FALSE(coarse.best_placement().has_value());
  EXPECT_EQ(coarse.evaluations_to_best(), 0);
}

// As whole placements: their evaluations, outlines, and what all sessions know of them.
TEST_F(CoarseSession, EvaluatesMovesOnStackedLevels) {
  const Problem one = fine_.regrouped(Grouping({0, 0, 0, 0}));
  Session session(fine_, {.max_evaluations = 10});
  Session coarse(session, level_);
  Session coarsest(coarse, one);
  MoveEvaluator evaluator(coarse);
  EXPECT_EQ(evaluator.start(on({0, 1})).step_time_us, 105);
  StepOutline outline;
  evaluator.outline(outline);
  EXPECT_THAT(outline.group_start_us, testing::ElementsAre(0, 35));
  const Move back{1, 0};
  EXPECT_EQ(evaluator.evaluate({&back, 1}).step_time_us, 100);
  EXPECT_EQ(evaluator.base(), on({0, 1}));
  evaluator.accept();
  EXPECT_EQ(evaluator.base(), on({0, 0}));
  EXPECT_EQ(coarse.best_placement(), on({0, 0}));
  EXPECT_EQ(session.best_placement(), on({0, 0, 0, 0}));

  MoveEvaluator all(coarsest);
  all.start(on({1}));
  const Move away{0, 0};
  EXPECT_EQ(all.evaluate({&away, 1}).step_time_us, 100);
  EXPECT_EQ(coarsest.best_placement(), on({1}));
  EXPECT_EQ(session.evaluations(), 4);
}

TEST_F(CoarseSession, StacksLevels) {
  const Problem one = fine_.regrouped(Grouping({0, 0, 0, 0}));
  Session session(fine_, {.max_evaluations = 2});
  Session coarse(session, level_);
  Session coarsest(coarse, one);
  EXPECT_EQ(coarsest.evaluate(on({1})).step_time_us, 100);
  EXPECT_EQ(coarse.best_placement(), on({1, 1}));
  EXPECT_EQ(session.best_placement(), on({1, 1, 1, 1}));
  EXPECT_EQ(coarsest.evaluations_left(), 1);
}

TEST_F(CoarseSession, RefusesWhatIsNotItsOwn) {
  Session on_level(level_, {});
  EXPECT_THROW(Session(on_level, fine_), InternalError);
  Session session(fine_, {});
  Session coarse(session, level_);
  EXPECT_THROW(coarse.restore({}), InternalError);
}

}  // namespace
}  // namespace emplace::agents::coarse_session_test
