#include "expert/accelerators.hpp"
#include "heuristic/heuristics.hpp"
#include "heuristic/memory_fit.hpp"
#include "stage_graph.hpp"
#include "stage_split.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace emplace::agents {
namespace {

std::vector<BlockId> all_blocks(BlockId count) {
  std::vector<BlockId> blocks(index_of(count));
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

// Merges blocks that follow one another in `order` and have the same scope: a layer.
StageGraph layers_of(const StageGraph& graph, const std::vector<BlockId>& order) {
  IdVector<BlockId, BlockId> layer(order.size());
  BlockId current = 0;
  for (std::size_t at = 1; at < order.size(); ++at) {
    const auto scope = graph.scopes[order[at]];
    current += scope.empty() || scope != graph.scopes[order[at - 1]] ? 1 : 0;
    layer[order[at]] = current;
  }
  return merged(graph, layer, current + 1);
}

constexpr std::array<const char*, 2> kBalances = {"time", "weights"};

// Lets the load of a block be its weights, with their optimizer slots.
void weigh(StageGraph& graph) {
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    std::ranges::fill(graph.cost_us[block], static_cast<double>(graph.persistent_bytes[block]));
  }
}

// Contiguous stages of equal load, whole layers if they fit: a stage for each accelerator.
Placement equal_stages(const Problem& problem, bool by_weights, Budget& budget) {
  StageGraph graph = stage_graph(problem, accelerators(problem));
  graph.nets.clear();  // transfers do not count
  if (by_weights) {
    weigh(graph);
  }
  const std::vector<BlockId> order = depth_first_order(graph);
  const auto stages = [&](const MemoryReserve& reserve) {
    StageGraph groups = graph;
    keep_free(groups, reserve);
    const StageGraph layers = layers_of(groups, order);
    StageSplit split = splits_in_order(layers, all_blocks(layers.num_blocks())).back();
    if (!split.stages.empty()) {
      return placement_of(problem, layers, split);
    }
    split = splits_in_order(groups, order).back();
    if (split.stages.empty()) {
      split = splits_in_order(without_limits(groups), order).back();
    }
    return placement_of(problem, groups, split);
  };
  return fit_into_memory(problem, budget, stages(MemoryReserve(problem.num_devices(), 0)), stages);
}

class PipelineExpert final : public Agent {
 public:
  explicit PipelineExpert(const Params& params)
      : by_weights_(params.get<std::string>("balance") == kBalances[1]) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    return equal_stages(problem, by_weights_, evaluator.budget());
  }

 private:
  bool by_weights_;
};

EMPLACE_REGISTER_AGENT(
    PipelineExpert,
    {.name = "pipeline-expert",
     .kind = AgentKind::kExpert,
     .summary = "a pipeline: contiguous stages of equal time, one for each accelerator",
     .description = "Cuts the forward pass, in topological order, into contiguous stages whose "
                    "longest time is least, one for each accelerator. Cuts are between layers, "
                    "which are runs of ops with one scope, and within layers where only that "
                    "fits into memory. Backward ops and updates go with their forward ops. "
                    "Use it as the baseline for graphs in micro-batches. With balance=weights, "
                    "stages have equal weights instead, as frameworks place models by default "
                    "(device_map=\"auto\" of Accelerate).",
     .reference = "Huang et al. 2019, arXiv 1811.06965 (GPipe)",
     .parameters = {{.name = "balance",
                     .default_value = std::string(kBalances[0]),
                     .choices = {kBalances.begin(), kBalances.end()},
                     .summary = "what is equal in all stages: their time, or their weights"}}});

}  // namespace

Placement pipeline_expert(const Problem& problem, Budget& budget) {
  return equal_stages(problem, false, budget);
}

}  // namespace emplace::agents
