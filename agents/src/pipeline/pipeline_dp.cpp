#include "heuristic/memory_fit.hpp"
#include "scattered_split.hpp"
#include "stage_graph.hpp"
#include "stage_split.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/sim/simulator.hpp>

#include <boost/range/adaptor/reversed.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

constexpr int kRounds = 300;  // of the local search

// The best contiguous stages for each number of devices, with transfers in the load and without, of
// which the fastest is taken.
class PipelineDp final : public Agent {
 public:
  explicit PipelineDp(const Params& params)
      : max_ideals_(static_cast<std::size_t>(params.get<std::int64_t>("ideals"))),
        contiguous_(params.get<bool>("contiguous")) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const StageGraph graph = without_idle_leaves(stage_graph(problem, problem.placeable_devices()));
    const MemoryReserve nothing(problem.num_devices(), 0);
    std::vector<Placement> candidates = placements(problem, graph, nothing);
    Placement all_devices = candidates.front();
    // Where transfers overlap with work, they are no load.
    StageGraph without_transfers = graph;
    without_transfers.nets.clear();
    std::ranges::move(placements(problem, without_transfers, nothing),
                      std::back_inserter(candidates));
    evaluator.evaluate(candidates);
    const Incumbent& incumbent = evaluator.incumbent();
    const std::optional<Placement>& best = incumbent.placement();
    if (!best) {
      return all_devices;
    }
    if (incumbent.evaluation().status != EvaluationStatus::kOk) {
      Placement fitted = fit_into_memory(problem, evaluator.budget(), all_devices,
                                         [&](const MemoryReserve& reserve) {
                                           return placements(problem, graph, reserve).front();
                                         });
      if (evaluation_of(Simulator(problem).run(fitted)).better_than(incumbent.evaluation())) {
        return fitted;
      }
    }
    return *best;
  }

 private:
  // Returns the placements of the best splits, each once, for all devices, one fewer, ...
  std::vector<Placement> placements(const Problem& problem, StageGraph graph,
                                    const MemoryReserve& reserve) const {
    keep_free(graph, reserve);
    const std::vector<BlockId> order = depth_first_order(graph);
    std::vector<StageSplit> splits = splits_in_order(graph, order);
    splits.back() = split_over_ideals(graph, max_ideals_, std::move(splits.back()));
    if (splits.back().stages.empty()) {
      splits = splits_in_order(without_limits(graph), order);
    } else if (!contiguous_) {
      RandomStream random(0);
      splits.push_back(scattered(graph, splits.back(), kRounds, random));
    }
    std::vector<Placement> placements;
    for (const StageSplit& split : boost::adaptors::reverse(splits)) {
      if (split.stages.empty()) {
        continue;
      }
      Placement placement = placement_of(problem, graph, split);
      if (placements.empty() || placements.back() != placement) {
        placements.push_back(std::move(placement));
      }
    }
    return placements;
  }

  std::size_t max_ideals_;
  bool contiguous_;
};

EMPLACE_REGISTER_AGENT(
    PipelineDp,
    {.name = "pipeline-dp",
     .kind = AgentKind::kSearch,
     .summary = "a pipeline: contiguous stages of the least largest load, by dynamic programming",
     .description =
         "Finds contiguous stages of the forward pass that make the largest load of a device "
         "least: its time for ops and for transfers in and out of its stage, each value once, with "
         "weights and optimizer slots within its memory. Backward ops and updates go with their "
         "forward ops. It is exact where the forward pass has few ideals, and otherwise along one "
         "topological order. It evaluates the best splits for each number of devices, also those "
         "for loads without transfers, and keeps the fastest step. Use it for graphs in "
         "micro-batches.",
     .reference = "Tarnawski et al., NeurIPS 2020; Narayanan et al., SOSP 2019 (PipeDream)",
     .parameters = {{.name = "ideals",
                     .default_value = std::int64_t{20000},
                     .min = 1,
                     .max = 1'000'000,
                     .summary = "most ideals (sets of groups with all their producers) for all "
                                "contiguous stages; with more, stages are along one order"},
                    {.name = "contiguous",
                     .default_value = true,
                     .summary = "false: a local search also looks for stages with gaps, whose "
                                "largest load may be smaller"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
