// What a program of the agent `exec` may say: a hello, and then messages with placements.

#include "exec/messages.hpp"
#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/problem_set.hpp>

#include <string_view>
#include <variant>

void emplace::fuzz::try_input(std::string_view text) {
  namespace agents = emplace::agents;
  static const emplace::Problem problem =
      emplace::bench::load_problem("fork-join:width=2,stages=2", "p2-8xlarge-2", 6, "neighbours");
  try {
    agents::expect_hello(text);
    return;
  } catch (const emplace::Error&) {
  }
  const agents::AgentMessage message = agents::read_message(text, problem);
  if (const auto* const request = std::get_if<agents::EvaluateRequest>(&message)) {
    for (const emplace::Placement& placement : request->placements) {
      EMPLACE_CHECK(placement.size() == problem.num_groups(), "{} groups", placement.size());
    }
  }
}
