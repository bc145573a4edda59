#pragma once

// Parts of policy files and checkpoints as JSON.

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/policy_file.hpp>

#include <cstddef>

namespace emplace::bench {

/// Returns a plan as JSON.
Json to_json(const TrainingPlan& plan);

/// Reads a plan; throws kFormat. This program need not know its graphs, clusters and agent.
TrainingPlan plan_from_json(const JsonCursor& json);

/// Returns the state of an evaluator as JSON; reading it restores every bit.
Json to_json(const agents::Evaluator::State& state);

/// Reads the state of an evaluator of `problem`; throws kFormat.
agents::Evaluator::State evaluator_state_from_json(const JsonCursor& json, const Problem& problem);

/// Returns an update as a JSON array; reading it restores every bit.
Json to_json(const CurveRow& row);

/// Reads an update on one of `num_problems` problems; throws kFormat.
CurveRow row_from_json(const JsonCursor& json, std::size_t num_problems);

}  // namespace emplace::bench
