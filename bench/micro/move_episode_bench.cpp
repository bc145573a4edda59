// An episode of learned-search, from the best start: 256 evaluations, each of the most
// promising move of a pool, with what it learns from them. The counter says how many times as long
// as the simulations of the same placements all else takes.

#include "agents/src/learned_search/move_episode.hpp"
#include "agents/src/learned_search/policy.hpp"
#include "agents/src/search/starts.hpp"
#include "cpu_time.hpp"

#include <emplace/agents/move_evaluator.hpp>
#include <emplace/bench/problem_set.hpp>

#include <benchmark/benchmark.h>

#include <limits>
#include <vector>

namespace emplace::micro {
namespace {

using agents::learned_search::MoveContext;
using agents::learned_search::MoveEpisode;
using agents::learned_search::SearchPolicy;
using agents::learned_search::Transitions;

// Evaluates the moves of an episode again, without the network.
void evaluate_again(agents::Evaluator& evaluator, const Placement& start,
                    const std::vector<Transitions>& transitions) {
  agents::MoveEvaluator steps(evaluator);
  agents::StepOutline outline;
  steps.start(start);
  std::vector<Move> moves;
  for (const Transitions& here : transitions) {
    for (std::size_t move = 0; move < here.moves.size(); ++move) {
      moves.clear();
      for (const auto entry : here.moves.groups.of_row(move)) {
        moves.push_back({entry.row, here.moves.targets.of_row(move).front().row});
      }
      benchmark::DoNotOptimize(steps.evaluate(moves));
      if (here.kept[move]) {
        steps.accept();
        steps.outline(outline);
      }
    }
  }
}

void BM_LearnedSearch(benchmark::State& state, const char* graph, GroupId groups) {
  const Problem problem =
      bench::load_problem(graph, "p2-8xlarge-4", groups, groups == 0 ? "colocation" : "neighbours");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  agents::Evaluator evaluator(problem, {.budget = {.max_evaluations = kMost}});
  agents::Evaluator simulations(problem, {.budget = {.max_evaluations = kMost}});
  SearchPolicy policy({});
  policy.initialize(evaluator.random());
  const MoveContext context(problem, agents::learned_search::Levels::kLearned);
  const Placement start =
      agents::start_of_search(agents::kBestOfLevels, context.coarsening, simulations);
  double episodes = 0;
  double simulating = 0;
  for (auto _ : state) {
    std::vector<Transitions> transitions;
    const double begin = cpu_seconds();
    MoveEpisode(evaluator, context, policy.network(), {}, start, 256).run(&transitions);
    episodes += cpu_seconds() - begin;
    state.PauseTiming();
    const double again = cpu_seconds();
    evaluate_again(simulations, start, transitions);
    simulating += cpu_seconds() - again;
    state.ResumeTiming();
  }
  state.counters["groups"] = static_cast<double>(problem.num_groups());
  state.counters["network_over_simulations"] = (episodes - simulating) / simulating;
}
BENCHMARK_CAPTURE(BM_LearnedSearch, inception_128, "inception-v3", 128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_LearnedSearch, inception, "inception-v3", 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_LearnedSearch, nasnet, "nasnet-a-large", 0)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace emplace::micro
