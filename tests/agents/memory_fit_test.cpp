// Heuristics end with what fits, wherever that can be found, and with what was published, wherever
// that fits.

#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/memory_shortage.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace emplace::agents::memory_fit_test {
namespace {

// A graph at its finest valid grouping, on a shipped cluster whose devices keep a share of their
// memory.
Problem tight_problem(const std::string& graph_name, const std::string& cluster_name,
                      double share_of_memory) {
  auto graph = std::make_shared<const OpGraph>(load_graph(graph_name));
  auto cluster = std::make_shared<Cluster>(load_cluster(cluster_name));
  for (DeviceProfile& profile : cluster->profiles) {
    profile.memory_bytes =
        static_cast<std::int64_t>(static_cast<double>(profile.memory_bytes) * share_of_memory);
  }
  Grouping grouping = find_grouping("colocation").group(*graph, kDefaultGroups);
  return Problem(std::move(graph), std::move(grouping), std::move(cluster));
}

struct TightCase {
  std::string graph;
  std::string cluster;
  double share_of_memory;  // little more than what is proven to be too little
  double too_small_share;  // for which that is proven
};

class Tight : public testing::TestWithParam<TightCase> {};

TEST_P(Tight, EachHeuristicFits) {
  const TightCase& tight = GetParam();
  const Problem problem = tight_problem(tight.graph, tight.cluster, tight.share_of_memory);
  EXPECT_EQ(Simulator(problem).run(Placement(problem.num_groups())).status,
            StepStatus::kOutOfMemory);
  for (const char* agent :
       {"heft", "cpop", "peft", "etf", "dls", "min-min", "max-min", "m-etf", "m-topo"}) {
    Evaluator evaluator(problem, {});
    const Placement placement = make(agent)->place(problem, evaluator);
    EXPECT_EQ(Simulator(problem).run(placement).bytes_over, 0) << agent;
  }
  EXPECT_TRUE(
      find_memory_shortage(tight_problem(tight.graph, tight.cluster, tight.too_small_share)));
}

// Two chains of 80 bytes each, which take turns: the published algorithms balance time and put 100
// bytes more on one device than it has.
TEST(MemoryFit, KeepsWhatWasPublishedWhereThatFits) {
  for (const std::int64_t memory_bytes : {1'000'000, 130}) {
    const Problem problem =
        test::make_problem(test::crossing_graph(), {.memory_bytes = memory_bytes});
    const Problem unlimited = test::make_problem(test::crossing_graph());
    for (const char* agent : {"heft", "cpop", "peft", "etf", "dls", "min-min", "max-min"}) {
      const Placement published(place(agent, unlimited));
      const bool fits = Simulator(problem).run(published).bytes_over == 0;
      EXPECT_EQ(Placement(place(agent, problem)) == published, fits) << agent << memory_bytes;
    }
  }
}

// What is simulated to find what fits is counted, and ends with the budget.
TEST(MemoryFit, KeepsTheBudget) {
  const Problem problem = tight_problem("gpt2-small", "p2-8xlarge-4", 0.5);
  for (const std::int64_t budget : {0, 1, 3}) {
    Evaluator evaluator(problem, {.budget = {.max_evaluations = budget}});
    make("heft")->place(problem, evaluator);
    EXPECT_EQ(evaluator.budget().evaluations(), budget);
  }
}

INSTANTIATE_TEST_SUITE_P(MemoryFit, Tight,
                         testing::Values(TightCase{"gpt2-small", "p2-8xlarge-4", 0.5, 0.45},
                                         TightCase{"gpt2-small", "p2-8xlarge-4-grappler", 0.5,
                                                   0.45},
                                         TightCase{"nmt", "p2-8xlarge-2", 0.6, 0.4},
                                         TightCase{"bert-large", "p2-8xlarge-4", 0.8, 0.75},
                                         TightCase{"gpt2-xl:batch=1", "dgx-1-v100", 0.4, 0.25},
                                         TightCase{"llama-7b", "dgx-a100", 0.45, 0.35}),
                         [](const testing::TestParamInfo<TightCase>& tight) {
                           std::string name =
                               tight.param.graph.substr(0, tight.param.graph.find(':')) + "_on_" +
                               tight.param.cluster;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace emplace::agents::memory_fit_test
