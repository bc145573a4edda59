// One update of the recurrent agents: placements are drawn, simulated and learned from. The counter
// says how long one takes in all.

#include "agents/src/rnn/trainer.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/graphs/catalog.hpp>

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace emplace::micro {
namespace {

using agents::rnn::RecurrentPolicy;
using agents::rnn::RecurrentTrainer;

// Updates on Inception-V3's 128 groups and two devices; with `groups`, those of rnn-hdp.
void update(benchmark::State& state, std::size_t groups, std::size_t placements) {
  const tbb::global_control one_core(tbb::global_control::max_allowed_parallelism, 1);
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  const Problem problem(graph, std::move(grouping),
                        std::make_shared<const Cluster>(load_cluster("p2-8xlarge-2")));
  agents::Evaluator evaluator(
      problem, {.budget = {.max_evaluations = std::numeric_limits<std::int64_t>::max()}});
  agents::Evaluator* const evaluators[] = {&evaluator};
  RecurrentPolicy<float> policy(
      {.hidden = static_cast<std::size_t>(state.range(0)), .groups = groups},
      problem.placeable_devices().size());
  policy.parameters().initialize(evaluator.random());
  RecurrentTrainer training({.sampling = {.placements = placements}}, policy, evaluators);
  for (auto _ : state) {
    training.run([](const agents::TrainingUpdate&) { return false; });  // stops after one
  }
  state.counters["placement"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(placements),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_RnnColocrlUpdate(benchmark::State& state) { update(state, 0, 8); }
BENCHMARK(BM_RnnColocrlUpdate)->ArgName("hidden")->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

void BM_RnnHdpUpdate(benchmark::State& state) { update(state, 40, 4); }
BENCHMARK(BM_RnnHdpUpdate)->ArgName("hidden")->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace emplace::micro
