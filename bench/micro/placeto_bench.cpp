// One episode of the agent placeto: each group is placed once, each placement simulated, and the
// policy updated. Counters say which shares the simulations, the network's decisions and the update
// take, and how many floating-point operations of layers a second that is.

#include "agents/src/placeto/episode.hpp"
#include "agents/src/placeto/learner.hpp"
#include "cpu_time.hpp"
#include "random_problem.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/move_evaluator.hpp>
#include <emplace/graphs/catalog.hpp>

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::micro {
namespace {

using agents::placeto::Environment;
using agents::placeto::Experience;
using agents::placeto::Graph;
using agents::placeto::Learner;
using agents::placeto::Options;
using agents::placeto::PolicyNetwork;
using agents::placeto::RolloutCollector;

// Multiplications and additions of the layers in one decision.
double flops_of_decision(const PolicyNetwork<float>& network, const Graph& graph, int rounds) {
  double flops = 0;
  const auto num_groups = static_cast<double>(graph.size());
  for (const agents::nn::Layer& layer : network.parameters().layers()) {
    double rows = 1;  // the head and what follows the pools
    if (layer.name.starts_with("transform")) {
      rows = num_groups;
    } else if (layer.name.starts_with("forward/message") ||
               layer.name.starts_with("backward/message")) {
      rows = num_groups * rounds;
    } else if (layer.name.starts_with("forward/update")) {
      rows = static_cast<double>(graph.forward().aggregate.rows()) * rounds;
    } else if (layer.name.starts_with("backward/update")) {
      rows = static_cast<double>(graph.backward().aggregate.rows()) * rounds;
    } else if (layer.name.find("/message") != std::string::npos) {
      rows = (num_groups - 1) / 3;  // the three pools share all others
    }
    flops += 2 * rows * static_cast<double>(layer.inputs * layer.outputs);
  }
  return flops;
}

void run_episode(benchmark::State& state, const Problem& problem) {
  const tbb::global_control one_core(tbb::global_control::max_allowed_parallelism, 1);
  const Options options;
  agents::Evaluator evaluator(
      problem, {.budget = {.max_evaluations = std::numeric_limits<std::int64_t>::max()}});
  Environment environment(evaluator, options);
  PolicyNetwork<float> network(options.network, problem.placeable_devices().size());
  network.parameters().initialize(evaluator.random());
  RolloutCollector collector(network);
  agents::Evaluator* const evaluators[] = {&evaluator};
  Learner learner(options, network, evaluators);
  agents::Evaluator simulations(
      problem, {.budget = {.max_evaluations = std::numeric_limits<std::int64_t>::max()}});

  double collecting = 0;
  double learning = 0;
  double simulating = 0;
  for (auto _ : state) {
    const double begin = cpu_seconds();
    learner.begin_update();
    collector.collect(environment, 1, false);
    const double collected = cpu_seconds();
    Experience experience{&environment.graph, &environment.rollout,
                          environment.rollout.returns(options.episode)};
    environment.baseline.subtract_from(experience.advantages, 1);
    learner.update({&experience, 1});
    const double learned = cpu_seconds();
    collecting += collected - begin;
    learning += learned - collected;

    state.PauseTiming();  // the same placements again, without the network
    const auto first = environment.rollout.observation(0);
    Placement start(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      start[group] = problem.placeable_devices()[first.devices[index_of(group)]];
    }
    agents::StepOutline outline;
    const double again = cpu_seconds();
    agents::MoveEvaluator moves(simulations);
    moves.start(start);
    for (std::size_t i = 0; i < environment.rollout.num_decisions(); ++i) {
      const Move move{environment.order[i],
                      problem.placeable_devices()[environment.rollout.actions()[i]]};
      benchmark::DoNotOptimize(moves.evaluate({&move, 1}));
      moves.accept();
      moves.outline(outline);
    }
    simulating += cpu_seconds() - again;
    state.ResumeTiming();
  }
  const double total = collecting + learning;
  state.counters["simulation"] = simulating / total;
  state.counters["decisions"] = (collecting - simulating) / total;
  state.counters["update"] = learning / total;
  // Forward once to decide; forward again and twice as much backward to learn.
  const double flops = 4 * static_cast<double>(environment.graph.size()) *
                       flops_of_decision(network, environment.graph, options.network.rounds);
  state.counters["MFLOP"] = flops / 1e6;
  state.counters["GFLOP/s"] = flops * static_cast<double>(state.iterations()) / total / 1e9;
}

void BM_PlacetoEpisode(benchmark::State& state) {
  run_episode(state, random_problem(static_cast<OpId>(state.range(0)),
                                    static_cast<DeviceId>(state.range(1))));
}
BENCHMARK(BM_PlacetoEpisode)
    ->ArgNames({"groups", "devices"})
    ->Args({102, 2})
    ->Args({102, 4})
    ->Unit(benchmark::kMillisecond);

void BM_PlacetoEpisodeInception(benchmark::State& state, const char* cluster) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  run_episode(state, Problem(graph, std::move(grouping),
                             std::make_shared<const Cluster>(load_cluster(cluster))));
}
BENCHMARK_CAPTURE(BM_PlacetoEpisodeInception, two, "p2-8xlarge-2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_PlacetoEpisodeInception, four, "p2-8xlarge-4")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace emplace::micro
