// Lets the agent of this project and two of the library place Inception-V3, and prints what a step
// takes.

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <memory>

int main() {
  const auto graph = std::make_shared<const emplace::OpGraph>(
      emplace::GraphCatalog::global().build(emplace::Spec::parse("inception-v3")));
  const auto cluster =
      std::make_shared<const emplace::Cluster>(emplace::load_cluster("p2-8xlarge-2"));
  const emplace::Problem problem(graph, emplace::ungrouped(*graph), cluster);
  for (const char* name : {"single-gpu", "heft", "earliest-finish"}) {
    const auto agent = emplace::agents::AgentRegistry::global().make(emplace::Spec::parse(name));
    emplace::agents::Evaluator evaluator(problem, {});
    const emplace::Placement placement = agent->place(problem, evaluator);
    const double step_us = emplace::Simulator(problem).run(placement).makespan_us;
    fmt::print("{:<16} {:8.1f} ms\n", name, step_us / 1e3);
  }
}
