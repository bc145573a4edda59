// A file of a trained policy, which places a small graph if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/problem_set.hpp>

#include <string_view>

namespace {

using emplace::Problem;
namespace agents = emplace::agents;
namespace bench = emplace::bench;

}  // namespace

void emplace::fuzz::try_input(std::string_view text) {
  static const Problem problem =
      bench::load_problem("fork-join:width=2,stages=2", "p2-8xlarge-2", 6, "neighbours");
  const bench::PolicyFile file = bench::read_policy_file(text, "fuzz");
  const auto agent = bench::agent_of(file, true);
  agents::Evaluator evaluator(problem, {.budget = {.max_evaluations = 20}});
  const emplace::Placement placement = agent->place_with_policy(problem, evaluator);
  for (const emplace::DeviceId device : placement.devices()) {
    EMPLACE_CHECK(device >= 0 && device < problem.num_devices(), "device {}", device);
  }
}
