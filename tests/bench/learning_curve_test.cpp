#include <emplace/bench/learning_curve.hpp>
#include <emplace/graphs/check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace emplace::bench {
namespace {

using agents::TrainingUpdate;
using testing::HasSubstr;
using testing::Not;

TrainingUpdate update(std::int64_t number, std::size_t session, double last_us, double best_us) {
  return {.update = number,
          .episodes = 10 * number,
          .session = session,
          .last_us = last_us,
          .best_us = best_us,
          .entropy = 0.5,
          .gradient_norm = 0.1};
}

LearningCurve two_problems() {
  return LearningCurve({{"nmt:layers=2,steps=3", "p2-8xlarge-2"}, {"a \"b\".json", "small"}});
}

TEST(LearningCurve, IsATableWithFieldsInQuotesWhereTheyNeedThem) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 2500, 2000.125));
  curve.add(update(2, 1, 1.0 / 3, 0.25));
  EXPECT_EQ(curve.to_csv(),
            "update,episodes,graph,cluster,last_us,best_us,entropy,gradient_norm\n"
            "1,10,\"nmt:layers=2,steps=3\",p2-8xlarge-2,2500,2000.125,0.5,0.1\n"
            "2,20,\"a \"\"b\"\".json\",small,0.3333333333333333,0.25,0.5,0.1\n");
}

// A first placement is a gain; so is any better one, of whichever problem.
TEST(LearningCurve, CountsEpisodesSinceTheLastGain) {
  LearningCurve curve = two_problems();
  EXPECT_EQ(curve.episodes_without_gain(), 0);
  curve.add(update(1, 0, 300, 200));
  EXPECT_EQ(curve.episodes_without_gain(), 0);
  curve.add(update(2, 1, 50, 50));
  EXPECT_EQ(curve.episodes_without_gain(), 0);
  curve.add(update(3, 0, 400, 200));
  curve.add(update(4, 1, 60, 50));
  EXPECT_EQ(curve.episodes_without_gain(), 20);
  curve.add(update(5, 0, 190, 190));
  EXPECT_EQ(curve.episodes_without_gain(), 0);
  EXPECT_EQ(curve.episodes(), 50);
}

// The field is 560 by 360 pixels. Episodes 10 to 1000 are two decades, and 1 to 100 ms too, so that
// 100 episodes and 10 ms are the middle.
TEST(LearningCurve, IsDrawnOverEpisodesInMilliseconds) {
  LearningCurve curve(std::vector<ProblemName>{{"tiny", "pair"}});
  curve.add(update(1, 0, 100'000, 100'000));
  curve.add(update(10, 0, 10'000, 10'000));
  curve.add(update(100, 0, 10'000, 1'000));
  const std::string svg = curve.to_svg();
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 280,180 560,180\""));  // end of episodes
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 280,180 560,360\""));  // best so far
  EXPECT_THAT(svg, HasSubstr(">tiny on pair</text>"));
  EXPECT_THAT(svg, HasSubstr(">step time [ms]</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("All problems")));
}

// The mean begins where both were played: 4 and 1 times the best, whose geometric mean is 2, then 1
// and 1. On an axis from 1 to 2, and from 100 episodes to 1000, these are corners.
TEST(LearningCurve, BeginsWithTheMeanOfSeveralProblems) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 400, 400));
  curve.add(update(10, 1, 7, 7));
  curve.add(update(100, 0, 100, 100));
  const std::string svg = curve.to_svg();
  EXPECT_THAT(svg, HasSubstr(">All problems</text>"));
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 560,360\""));
  EXPECT_THAT(svg, HasSubstr("height=\"1380\""));  // three plots
}

TEST(LearningCurve, IsEmptyBeforeTheFirstUpdate) {
  const LearningCurve curve = two_problems();
  EXPECT_EQ(curve.episodes(), 0);
  EXPECT_THAT(curve.to_svg(), Not(HasSubstr("polyline")));
}

TEST(LearningCurve, RefusesAProblemThatItDoesNotHave) {
  LearningCurve curve = two_problems();
  EXPECT_THROW(curve.add(update(1, 2, 1, 1)), InternalError);
}

}  // namespace
}  // namespace emplace::bench
