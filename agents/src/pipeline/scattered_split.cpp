#include "scattered_split.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace emplace::agents {
namespace {

// A block must make the larger load smaller by this share of it, so that rounding makes no move.
constexpr double kLeastGain = 1e-9;

// Blocks on devices, some of which may have none.
class Scattering {
 public:
  Scattering(const StageGraph& graph, const StageSplit& start)
      : graph_(&graph), stage_of_(graph.cost_us.size()), nets_of_(graph.cost_us.size()) {
    for (const Stage& stage : start.stages) {
      kinds_.push_back(stage.kind);
      for (const BlockId block : stage.blocks) {
        stage_of_[block] = kinds_.size() - 1;
      }
    }
    for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind) {
      const auto used = std::ranges::count(kinds_, kind);
      kinds_.insert(kinds_.end(), graph.kinds[kind].devices.size() - static_cast<std::size_t>(used),
                    kind);
    }
    for (std::size_t net = 0; net < graph.nets.size(); ++net) {
      for (const BlockId block : graph.nets[net].blocks) {
        nets_of_[block].push_back(net);
      }
    }
    count_again();
  }

  double max_load_us() const { return *std::ranges::max_element(loads_us_); }

  // Moves blocks as long as that helps, in the order of a random list.
  void descend(RandomStream& random) {
    std::vector<BlockId> blocks;
    for (BlockId block = 0; block < graph_->num_blocks(); ++block) {
      blocks.push_back(block);
    }
    random.shuffle(std::span(blocks));
    for (bool improves = true; improves;) {
      improves = false;
      for (const BlockId block : blocks) {
        improves = move_to_best(block) || improves;
      }
    }
    count_again();  // without what rounding has left
  }

  // Moves one to four blocks to devices on which they fit.
  void perturb(RandomStream& random) {
    const std::uint64_t moves = 1 + random.below(4);
    for (std::uint64_t i = 0; i < moves; ++i) {
      const auto block =
          static_cast<BlockId>(random.below(static_cast<std::uint64_t>(graph_->num_blocks())));
      const std::size_t to = random.below(kinds_.size());
      if (to != stage_of_[block] && fits(block, to)) {
        move(block, to);
      }
    }
  }

  StageSplit split() const {
    StageSplit split{.max_load_us = max_load_us()};
    std::vector<Stage> stages(kinds_.size());
    for (std::size_t at = 0; at < stages.size(); ++at) {
      stages[at].kind = kinds_[at];
      stages[at].load_us = loads_us_[at];
    }
    for (BlockId block = 0; block < graph_->num_blocks(); ++block) {
      stages[stage_of_[block]].blocks.push_back(block);
    }
    for (Stage& stage : stages) {
      if (!stage.blocks.empty()) {
        split.stages.push_back(std::move(stage));
      }
    }
    return split;
  }

 private:
  bool fits(BlockId block, std::size_t stage) const {
    return persistent_bytes_[stage] + graph_->persistent_bytes[block] <=
           graph_->kinds[kinds_[stage]].capacity_bytes;
  }

  double net_us(const Net& net, std::size_t stage) const {
    const StageDevices& devices = graph_->kinds[kinds_[stage]];
    return static_cast<double>(net.values) * devices.latency_us +
           static_cast<double>(net.bytes) * devices.us_per_byte;
  }

  // Returns what the load of `stage` grows by if it gets so many blocks of a net more.
  double growth_us(std::size_t net, std::size_t stage, int more) const {
    const auto all = static_cast<int>(graph_->nets[net].blocks.size());
    const auto crosses = [&](int inside) { return inside > 0 && inside < all; };
    const int inside = inside_[net][stage];
    return (crosses(inside + more) - crosses(inside)) * net_us(graph_->nets[net], stage);
  }

  double load_with(BlockId block, std::size_t stage, int more) const {
    double us = loads_us_[stage] + more * graph_->cost_us[block][kinds_[stage]];
    for (const std::size_t net : nets_of_[block]) {
      us += growth_us(net, stage, more);
    }
    return us;
  }

  bool move_to_best(BlockId block) {
    const std::size_t from = stage_of_[block];
    const double without_us = load_with(block, from, -1);
    std::size_t best = from;
    double gain_us = 0;
    for (std::size_t to = 0; to < kinds_.size(); ++to) {
      if (to == from || !fits(block, to)) {
        continue;
      }
      const double now_us = std::max(loads_us_[from], loads_us_[to]);
      const double then_us = std::max(without_us, load_with(block, to, 1));
      if (now_us - then_us > std::max(gain_us, kLeastGain * now_us)) {
        gain_us = now_us - then_us;
        best = to;
      }
    }
    if (best != from) {
      move(block, best);
    }
    return best != from;
  }

  void move(BlockId block, std::size_t to) {
    const std::size_t from = stage_of_[block];
    loads_us_[from] = load_with(block, from, -1);
    loads_us_[to] = load_with(block, to, 1);
    for (const std::size_t net : nets_of_[block]) {
      --inside_[net][from];
      ++inside_[net][to];
    }
    persistent_bytes_[from] -= graph_->persistent_bytes[block];
    persistent_bytes_[to] += graph_->persistent_bytes[block];
    stage_of_[block] = to;
  }

  void count_again() {
    inside_.assign(graph_->nets.size(), std::vector<int>(kinds_.size(), 0));
    loads_us_.assign(kinds_.size(), 0);
    persistent_bytes_.assign(kinds_.size(), 0);
    for (BlockId block = 0; block < graph_->num_blocks(); ++block) {
      const std::size_t stage = stage_of_[block];
      loads_us_[stage] += graph_->cost_us[block][kinds_[stage]];
      persistent_bytes_[stage] += graph_->persistent_bytes[block];
      for (const std::size_t net : nets_of_[block]) {
        ++inside_[net][stage];
      }
    }
    for (std::size_t net = 0; net < graph_->nets.size(); ++net) {
      for (std::size_t stage = 0; stage < kinds_.size(); ++stage) {
        const int inside = inside_[net][stage];
        if (inside > 0 && std::cmp_less(inside, graph_->nets[net].blocks.size())) {
          loads_us_[stage] += net_us(graph_->nets[net], stage);
        }
      }
    }
  }

  const StageGraph* graph_;
  std::vector<std::size_t> kinds_;  // by stage; one for each device
  IdVector<BlockId, std::size_t> stage_of_;
  IdVector<BlockId, std::vector<std::size_t>> nets_of_;
  std::vector<std::vector<int>> inside_;  // blocks of each net, by stage
  std::vector<double> loads_us_;
  std::vector<std::int64_t> persistent_bytes_;
};

}  // namespace

StageSplit scattered(const StageGraph& graph, const StageSplit& start, int rounds,
                     RandomStream& random) {
  Scattering best(graph, start);
  Scattering current = best;
  for (int round = 0; round < rounds; ++round) {
    current.descend(random);
    if (current.max_load_us() < best.max_load_us()) {
      best = current;
    } else {
      current = best;
    }
    current.perturb(random);
  }
  return best.split();
}

}  // namespace emplace::agents
