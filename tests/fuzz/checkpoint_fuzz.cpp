// A checkpoint of a training behind a line that names its agent, from which the training goes on by
// one update if it is one.

#include "fuzz_target.hpp"

#include <emplace/bench/training.hpp>

#include <string>
#include <string_view>

namespace {

namespace bench = emplace::bench;

// The agents of the corpus; others cost time.
constexpr std::string_view kAgents[] = {
    "learned-search",
    "placeto:preset=released,pooling=all,rounds=1,workers=2,start=best",
    "rnn-colocrl:hidden=8,adjacency=8",
};

}  // namespace

void emplace::fuzz::try_input(std::string_view input) {
  const std::size_t line = input.find('\n');
  for (const std::string_view agent : kAgents) {
    if (input.substr(0, line) != agent) {
      continue;
    }
    bench::Training training({.agent = emplace::agents::AgentSpec(std::string(agent)),
                              .graphs = {"fork-join:width=2,stages=1"},
                              .clusters = {"p2-8xlarge-2"},
                              .groups = 4,
                              .grouping = "neighbours",
                              .root_seed = 3,
                              .episodes = 1'000'000});
    training.resume(input.substr(line + 1), "fuzz");
    training.run(1, [] { return false; });
    training.checkpoint();
  }
}
