#pragma once

// The messages between emplace and a program that places (docs/reference/agent-protocol.md): one
// JSON object in a line each. Functions that write return a line without the line feed.

#include <emplace/agents/evaluator.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace::agents {

/// Asks to evaluate placements.
struct EvaluateRequest {
  std::vector<Placement> placements{};
};

/// Asks for the best placement so far.
struct BestRequest {};

/// Gives the placement, and ends the talk.
struct FinalPlacement {
  Placement placement{};
};

/// Holds one of the messages that a program may send behind its hello.
using AgentMessage = std::variant<EvaluateRequest, BestRequest, FinalPlacement>;

/// Checks the first line of a program. Throws kFormat where it is no hello or of another version.
void expect_hello(std::string_view line);

/// Reads any other line of a program. Throws kFormat where it is no message, or has a placement of
/// other groups or devices than those of `problem`.
AgentMessage read_message(std::string_view line, const Problem& problem);

/// Writes the problem, the seed and the budget.
std::string write_problem(const Problem& problem, std::uint64_t seed, const Evaluator& evaluator);

/// Writes the answer to an EvaluateRequest.
std::string write_evaluations(std::span<const Evaluation> evaluations, const Evaluator& evaluator);

/// Writes the answer to a BestRequest.
std::string write_best(const Evaluator& evaluator);

}  // namespace emplace::agents
