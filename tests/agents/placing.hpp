#pragma once

// How the tests of single agents run one.

#include "support/problems.hpp"

#include <emplace/agents/registry.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Makes the agent `spec`.
inline std::unique_ptr<Agent> make(std::string_view spec) {
  return AgentRegistry::global().make(Spec::parse(spec));
}

/// Returns `agent` as one that trains. Requires: it does.
inline TrainableAgent& trainable(Agent& agent) { return dynamic_cast<TrainableAgent&>(agent); }

/// Returns a problem of ten ops with 100 bytes of weights each; a device has room for five.
inline Problem ten_weights() {
  std::vector<test::OpSketch> ops;
  ops.reserve(10);
  for (int op = 0; op < 10; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op), .cost_us = 10, .persistent_bytes = 100});
  }
  return test::make_problem(test::make_graph(ops), {.memory_bytes = 500});
}

/// Returns the devices that agent `spec` chooses.
inline std::vector<DeviceId> place(std::string_view spec, const Problem& problem,
                                   const Evaluator::Options& options = {}) {
  Evaluator evaluator(problem, options);
  const Placement placement = make(spec)->place(problem, evaluator);
  return {placement.devices().begin(), placement.devices().end()};
}

}  // namespace emplace::agents
