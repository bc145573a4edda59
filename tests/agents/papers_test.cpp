// Do the agents keep the order that the papers print? Inception-V3 on K80s, Table 1 of Addanki et
// al. 2019: the two points to which the profiles were fitted, and what follows from them without a
// fit.

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace emplace::agents {
namespace {

Problem inception_on(const std::string& cluster) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster(cluster)));
}

double step_s(const Problem& problem, const std::string& agent, std::int64_t evaluations = 0) {
  Session session(problem, {.seed = 1, .max_evaluations = evaluations});
  Simulator simulator(problem);
  const SimResult& result =
      simulator.run(AgentRegistry::global().make(Spec::parse(agent))->place(problem, session));
  EXPECT_EQ(result.status, StepStatus::kOk) << agent;
  return result.makespan_us / 1e6;
}

class Papers : public ::testing::TestWithParam<const char*> {};

TEST_P(Papers, OneGpuAndTheCpuTakeTheTimesToWhichTheyWereFitted) {
  const Problem problem = inception_on(GetParam());
  EXPECT_NEAR(step_s(problem, "single-gpu"), 1.56, 0.1 * 1.56);
  EXPECT_NEAR(step_s(problem, "cpu-only"), 12.54, 0.25 * 12.54);
}

TEST_P(Papers, TheHumanExpertBeatsOneGpu) {
  const Problem problem = inception_on(GetParam());
  EXPECT_LT(step_s(problem, "human-expert"), step_s(problem, "single-gpu"));
}

TEST_P(Papers, ScotchIsAboutAsSlowAsOneGpu) {
  const Problem problem = inception_on(GetParam());
  EXPECT_GT(step_s(problem, "scotch"), 0.9 * step_s(problem, "single-gpu"));
}

TEST_P(Papers, SearchBeatsOrEqualsWhatDoesNotSearch) {
  const Problem problem = inception_on(GetParam());
  double best_s = step_s(problem, "single-gpu");
  for (const std::string& name : AgentRegistry::global().names()) {
    const AgentKind kind = AgentRegistry::global().info(name).kind;
    if (kind == AgentKind::kHeuristic || kind == AgentKind::kExpert) {
      best_s = std::min(best_s, step_s(problem, name));
    }
  }
  EXPECT_LE(step_s(problem, "simulated-annealing", 20'000), best_s);
  EXPECT_LE(step_s(problem, "hill-climb", 20'000), best_s);
}

INSTANTIATE_TEST_SUITE_P(Inception, Papers, ::testing::Values("p2-8xlarge-2", "p2-8xlarge-4"));

}  // namespace
}  // namespace emplace::agents
