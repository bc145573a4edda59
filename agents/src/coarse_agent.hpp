#pragma once

// Lets an agent decide on fewer groups than its problems have: it gets the problem at a coarser
// level and an evaluator on that level, and what it decides is expanded. The agent knows nothing of
// it.

#include <emplace/agents/agent.hpp>

#include <memory>

namespace emplace::agents {

/// Returns an agent that does what `agent` does on at most `groups` groups, a TrainableAgent if
/// `agent` is one. Where a problem has no more groups, it does exactly what `agent` does. Requires:
/// `groups` >= 1.
std::unique_ptr<Agent> decide_on(GroupId groups, std::unique_ptr<Agent> agent);

}  // namespace emplace::agents
