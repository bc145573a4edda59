// Parts of suites.

#include "support/errors.hpp"

#include <emplace/bench/suite_filter.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace emplace::bench::suite_filter_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SuiteFilter, KeepsWhatItNames) {
  const Suite suite = narrowed(load_suite("paper-table-1"), {.graphs = {"nmt"},
                                                             .clusters = {"p2-8xlarge-4"},
                                                             .agents = {"single-gpu,metis"},
                                                             .max_evaluations = 10});
  EXPECT_THAT(suite.clusters, ElementsAre("p2-8xlarge-4"));
  EXPECT_EQ(suite.max_evaluations, 10);
  EXPECT_THAT(suite.graphs, Each(testing::Field(&SuiteGraph::graph, "nmt")));
  EXPECT_TRUE(suite.published.has_value());
  if (suite.published) {
    EXPECT_THAT(suite.published->figures,
                Each(testing::Field(&PublishedFigure::cluster, "p2-8xlarge-4")));
  }
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(SuiteFilter, LeavesAllWithoutNames) {
  const Suite suite = load_suite("paper-table-1");
  EXPECT_EQ(narrowed(suite, {}), suite);
}

TEST(SuiteFilter, DropsPoliciesOfNoAgentAndFamiliesWithoutTests) {
  const Suite full = load_suite("paper-generalization-quick");
  const std::string family = full.families.front().name;
  const Suite suite = narrowed(full, {.graphs = {family}, .agents = {"random, 257"}});
  EXPECT_THAT(suite.policies, testing::IsEmpty());
  EXPECT_THAT(suite.families, ElementsAre(testing::Field(&SuiteFamily::name, family)));
  EXPECT_THAT(suite.graphs, Each(testing::Field(&SuiteGraph::family, family)));
  ASSERT_EQ(suite.agents.size(), 1U);
  EXPECT_EQ(suite.agents.front().max_evaluations, 257);
}

TEST(SuiteFilter, RefusesNamesThatTheSuiteLacksAndAgentsThatBecomeTheSame) {
  const Suite suite = load_suite("quickstart");
  EXPECT_THAT(
      test::error_of(ErrorCode::kUnknownName, [&] { narrowed(suite, {.agents = {"heft,hefty"}}); }),
      HasSubstr("the suite 'quickstart' has no agent 'hefty'; did you mean 'heft'"));
  EXPECT_THAT(
      test::error_of(ErrorCode::kUnknownName, [&] { narrowed(suite, {.graphs = {"vgg-16"}}); }),
      HasSubstr("has no graph 'vgg-16'"));
  const Suite same = read_suite(R"({"schema": "emplace-suite", "version": 1, "name": "s",
      "graphs": ["vgg-16"], "clusters": ["p2-8xlarge-2"],
      "agents": ["random", {"agent": "random", "max_evaluations": 5}]})",
                                "s.json");
  EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { narrowed(same, {.max_evaluations = 7}); }),
              HasSubstr("'random' and 'random, 5' are the same with 7 evaluations"));
}

}  // namespace
}  // namespace emplace::bench::suite_filter_test
