#include "support/errors.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/learning_curve.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace emplace::bench::learning_curve_test {
namespace {

using testing::HasSubstr;
using testing::Not;

CurveRow update(std::int64_t number, std::size_t problem, double last_us, double best_us) {
  return {{.update = number,
           .episodes = 10 * number,
           .problem = problem,
           .last_us = last_us,
           .best_us = best_us,
           .entropy = 0.5,
           .gradient_norm = 0.1},
          100 * number};
}

LearningCurve two_problems() {
  return LearningCurve({{"nmt:layers=2,steps=3", "p2-8xlarge-2"}, {"a \"b\".json", "small"}});
}

TEST(LearningCurve, IsATableWithFieldsInQuotesWhereTheyNeedThem) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 2500, 2000.125));
  curve.add(update(2, 1, 1.0 / 3, 0.25));
  EXPECT_EQ(curve.to_csv(),
            "update,episodes,evaluations,graph,cluster,last_us,best_us,entropy,gradient_norm\r\n"
            "1,10,100,\"nmt:layers=2,steps=3\",p2-8xlarge-2,2500,2000.125,0.5,0.1\r\n"
            "2,20,200,\"a \"\"b\"\".json\",small,0.3333333333333333,0.25,0.5,0.1\r\n");
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

// The field is 560 by 360 pixels. 100 to 10,000 evaluations are two decades, and 1 to 100 ms too,
// so that 1,000 evaluations and 10 ms are the middle.
TEST(LearningCurve, IsDrawnOverEvaluationsInMilliseconds) {
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
  EXPECT_THAT(svg, HasSubstr(">entropy of a decision [nats]</text>"));
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 280,0 560,0\""));  // 0.5 all the time
}

TEST(LearningCurve, IsDrawnInSecondsWhereAllTimesAreThatLong) {
  LearningCurve curve(std::vector<ProblemName>{{"tiny", "pair"}});
  curve.add(update(1, 0, 2'000'000, 2'000'000));
  curve.add(update(100, 0, 2'000'000, 1'000'000));
  const std::string svg = curve.to_svg();
  EXPECT_THAT(svg, HasSubstr(">step time [s]</text>"));
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 560,360\""));  // from 2 to 1
}

// 10,000 and 10,100 evaluations are within 2 %: 4 and 1 ms have a mean of 2.5, on an axis from 1 to
// 10 ms. That is drawn at the second.
TEST(LearningCurve, DrawsTheMeanOfUpdatesThatAreNear) {
  LearningCurve curve(std::vector<ProblemName>{{"tiny", "pair"}});
  curve.add(update(1, 0, 10'000, 10'000));
  curve.add(update(100, 0, 4'000, 2'000));
  curve.add(update(101, 0, 1'000, 1'000));
  const double down = 360 * (1 - std::log10(2.5));
  EXPECT_THAT(curve.to_svg(),
              testing::ContainsRegex(fmt::format("points=\"0,0 [0-9.]+,{:.1f}", down)));
}

TEST(LearningCurve, IsDrawnForAllTogetherWhereProblemsAreMany) {
  LearningCurve curve(std::vector<ProblemName>(13, {"tiny", "pair"}));
  for (std::int64_t i = 0; i < 13; ++i) {
    curve.add(update(i + 1, static_cast<std::size_t>(i), 200, 100));
  }
  const std::string svg = curve.to_svg();
  EXPECT_THAT(svg, HasSubstr(">All problems</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("tiny")));
  EXPECT_THAT(svg, HasSubstr("height=\"920\""));  // with the entropy
}

// The mean begins where both were played: 4 and 1 times the best, whose geometric mean is 2, then 1
// and 1. On an axis from 1 to 2, and from 1,000 evaluations to 10,000, these are corners.
TEST(LearningCurve, BeginsWithTheMeanOfSeveralProblems) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 400, 400));
  curve.add(update(10, 1, 7, 7));
  curve.add(update(100, 0, 100, 100));
  const std::string svg = curve.to_svg();
  EXPECT_THAT(svg, HasSubstr(">All problems</text>"));
  EXPECT_THAT(svg, HasSubstr("points=\"0,0 560,360\""));
  EXPECT_THAT(svg, HasSubstr("height=\"1840\""));  // three plots and the entropy
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

// One problem that ends at 20 ms; the field is 560 by 360 pixels, from 10 to 50 ms. The second
// reference knows nothing of the problem.
TEST(LearningCurve, HasLevelLinesOfReferences) {
  LearningCurve curve(std::vector<ProblemName>{{"g", "c"}});
  curve.add(update(1, 0, 50'000, 50'000));
  curve.add(update(2, 0, 20'000, 20'000));
  const std::vector<CurveReference> references = {{"lower bound", {10'000}}, {"HEFT", {0}}};
  const std::string svg = curve.to_svg(references);
  EXPECT_THAT(svg, HasSubstr("\"0,360 560,360\""));
  EXPECT_THAT(svg, HasSubstr("lower bound"));
  EXPECT_THAT(svg, Not(HasSubstr("HEFT")));
}

// Over both problems, the bound is at the geometric mean of 1/2 and 1/8 of the best.
TEST(LearningCurve, ReferencesOfSeveralProblemsAreMeans) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 20'000, 20'000));
  curve.add(update(2, 1, 80'000, 80'000));
  curve.add(update(3, 1, 80'000, 80'000));
  const std::string svg = curve.to_svg(std::vector<CurveReference>{{"bound", {10'000, 10'000}}});
  EXPECT_THAT(svg.substr(0, svg.find("nmt:layers")), HasSubstr("\"0,310.1 560,310.1\""))
      << "a quarter, on an axis from 0.2 to 1: ln 1.25 / ln 5 of 360 pixels from below";
}

TEST(LearningCurve, ReadsBackItsMeans) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 800, 400));
  curve.add(update(2, 1, 100, 50));
  curve.add(update(3, 0, 200, 200));
  const std::vector<CurveMean> read = read_curve_means(curve.means_json(), "net.curve.json");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].at, 200);
  EXPECT_NEAR(read[0].last, std::sqrt(4.0 * 2.0), 1e-12);
  EXPECT_NEAR(read[0].best, std::sqrt(2.0 * 1.0), 1e-12);
  EXPECT_EQ(read[1].entropy, 0.5);
  EXPECT_TRUE(read_curve_means(two_problems().means_json(), "none").empty());
}

// A graph whose ops cost nothing, the least and the largest numbers, and weights that have grown
// beyond all numbers are drawn too.
TEST(LearningCurve, IsDrawnWhateverTheTimes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double us : {0.0, 5e-324, 1e-9, 1.0, 1e307}) {
    for (const double best_us : {0.0, 5e-324, 1.0, 1e307}) {
      LearningCurve curve = two_problems();
      curve.add(update(1, 0, us, best_us));
      CurveRow row = update(2, 1, us, std::min(us, best_us));
      row.entropy = kNan;
      curve.add(row);
      const std::vector<CurveReference> references = {{.name = "bound", .us = {us, best_us}}};
      EXPECT_THAT(curve.to_svg(references), HasSubstr("</svg>")) << us << " " << best_us;
      EXPECT_EQ(read_curve_means(curve.means_json(), "means").size(), 1U) << us << " " << best_us;
    }
  }
}

TEST(LearningCurve, AnEntropyRoundedBelowZeroIsZero) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 100, 100));
  CurveRow row = update(2, 1, 100, 100);
  row.entropy = -0.0006;
  curve.add(row);
  EXPECT_THAT(curve.means_json(), Not(HasSubstr("-0.0006")));
}

TEST(LearningCurve, NoticesThatItsMeansAreDamaged) {
  LearningCurve curve = two_problems();
  curve.add(update(1, 0, 800, 400));
  curve.add(update(2, 1, 100, 50));
  std::string json = curve.means_json();
  char& digit = json[json.find("\"last\":[") + 8];
  digit = digit == '1' ? '2' : '1';
  EXPECT_THAT([&] { read_curve_means(json, "net.curve.json"); },
              testing::ThrowsMessage<Error>(HasSubstr("net.curve.json: the checksum")));
}

TEST(LearningCurve, NamesWhatIsWrongWithItsMeans) {
  EXPECT_THAT(
      test::error_of([&] {
        read_curve_means(
            R"({"schema_version": 1, "evaluations": [1, 2], "last": [1], "best": [], "entropy": []})",
            "net.curve.json");
      }),
      HasSubstr("net.curve.json: /last: expected 2 numbers, found 1"));
}

}  // namespace
}  // namespace emplace::bench::learning_curve_test
