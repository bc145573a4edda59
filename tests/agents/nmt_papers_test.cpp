// Does nmt show what the papers' tables show of it? Table 1 of Addanki et al. 2019: one K80 runs
// out of memory, and a search finds placements on two that do not. At 40 steps the expert's layers
// and Scotch's parts run out of memory on two as well.

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace emplace::agents::nmt_papers_test {
namespace {

class NmtOnTwoK80s : public ::testing::Test {
 protected:
  static Problem problem_of(const std::string& graph) {
    auto ops = std::make_shared<const OpGraph>(load_graph(graph));
    Grouping grouping = group_ops(*ops);
    return Problem(std::move(ops), std::move(grouping),
                   std::make_shared<const Cluster>(load_cluster("p2-8xlarge-2")));
  }

  static StepStatus status_of(const Problem& problem, const std::string& agent,
                              std::int64_t evaluations = 0) {
    Evaluator evaluator(problem, {.seed = 1, .budget = {.max_evaluations = evaluations}});
    Simulator simulator(problem);
    return simulator
        .run(AgentRegistry::global().make(Spec::parse(agent))->place(problem, evaluator))
        .status;
  }
};

TEST_F(NmtOnTwoK80s, OneIsTooSmallAndASearchFitsItOnBoth) {
  const Problem problem = problem_of("nmt");
  EXPECT_EQ(status_of(problem, "single-gpu"), StepStatus::kOutOfMemory);
  EXPECT_EQ(status_of(problem, "hill-climb", 1000), StepStatus::kOk);
}

TEST_F(NmtOnTwoK80s, LongerSentencesOverflowTheExpertsAndScotchsPlacementsToo) {
  const Problem problem = problem_of("nmt:steps=50");
  EXPECT_EQ(status_of(problem, "single-gpu"), StepStatus::kOutOfMemory);
  EXPECT_EQ(status_of(problem, "human-expert"), StepStatus::kOutOfMemory);
  EXPECT_EQ(status_of(problem, "scotch"), StepStatus::kOutOfMemory);
  EXPECT_EQ(status_of(problem, "hill-climb", 1000), StepStatus::kOk);
}

}  // namespace
}  // namespace emplace::agents::nmt_papers_test
