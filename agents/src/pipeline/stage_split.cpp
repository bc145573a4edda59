#include "stage_split.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace emplace::agents {
namespace {

// By how much sums of the same times may differ.
constexpr double kRounding = 1 + 1e-9;

// Ideals, by size: the first is empty, the last has all blocks.
struct Ideals {
  // Adds a block to an ideal.
  struct Step {
    BlockId block;
    std::size_t to;
  };

  std::vector<std::size_t> begin{0};  // of the steps from each ideal
  std::vector<Step> steps{};

  std::size_t size() const { return begin.size() - 1; }
  std::span<const Step> from(std::size_t ideal) const {
    return {steps.data() + begin[ideal], steps.data() + begin[ideal + 1]};
  }
};

Ideals prefixes(std::span<const BlockId> order) {
  Ideals ideals;
  for (const BlockId block : order) {
    ideals.steps.push_back({block, ideals.steps.size() + 1});
    ideals.begin.push_back(ideals.steps.size());
  }
  ideals.begin.push_back(ideals.steps.size());
  return ideals;
}

// Returns all ideals, or nothing if they are more than `max_ideals`.
std::optional<Ideals> all_ideals(const StageGraph& graph, std::size_t max_ideals) {
  const std::size_t num_blocks = graph.cost_us.size();
  if (num_blocks + 1 > max_ideals) {
    return std::nullopt;
  }
  const IdVector<BlockId, std::vector<BlockId>> producers = producers_of(graph);
  using Set = std::vector<bool>;
  const auto may_follow = [&](const Set& ideal, BlockId block) {
    return std::ranges::all_of(producers[block], [&](BlockId p) { return ideal[index_of(p)]; });
  };
  struct Ideal {
    Set blocks;
    std::vector<BlockId> next;  // those that may be added
  };
  std::vector<Ideal> level{{.blocks = Set(num_blocks), .next = {}}};
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    if (producers[block].empty()) {
      level.front().next.push_back(block);
    }
  }

  Ideals ideals;
  std::size_t known = 1;
  while (!level.empty()) {
    std::vector<Ideal> larger;
    std::map<Set, std::size_t> number;
    for (const Ideal& ideal : level) {
      for (const BlockId block : ideal.next) {
        Set blocks = ideal.blocks;
        blocks[index_of(block)] = true;
        const auto [found, is_new] = number.try_emplace(blocks, known);
        ideals.steps.push_back({block, found->second});
        if (!is_new) {
          continue;
        }
        if (++known > max_ideals) {
          return std::nullopt;
        }
        std::vector<BlockId> next = ideal.next;
        std::erase(next, block);
        for (const BlockId consumer : graph.consumers[block]) {
          if (may_follow(blocks, consumer)) {
            next.push_back(consumer);
          }
        }
        larger.push_back({.blocks = std::move(blocks), .next = std::move(next)});
      }
      ideals.begin.push_back(ideals.steps.size());
    }
    level = std::move(larger);
  }
  return ideals;
}

// The sets of devices that stages may have taken, and how they grow.
struct DeviceSets {
  struct Growth {
    std::size_t from;
    std::size_t to;  // larger than `from`
    std::size_t kind;
  };

  std::vector<std::size_t> num_devices{};  // of each set
  std::vector<Growth> growths{};           // by `to`
};

DeviceSets device_sets(const std::vector<StageDevices>& kinds) {
  std::size_t count = 1;
  for (const StageDevices& kind : kinds) {
    count = std::min(count * (kind.devices.size() + 1), kMaxDeviceSets + 1);
  }
  DeviceSets sets;
  if (count > kMaxDeviceSets) {
    sets.num_devices.push_back(0);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      for (std::size_t i = 0; i < kinds[kind].devices.size(); ++i) {
        const std::size_t from = sets.num_devices.size() - 1;
        sets.growths.push_back({from, from + 1, kind});
        sets.num_devices.push_back(from + 1);
      }
    }
    return sets;
  }
  // A set is a number whose digits are how many devices of each kind it has.
  for (std::size_t set = 0; set < count; ++set) {
    std::size_t digits = set;
    std::size_t place = 1;
    sets.num_devices.push_back(0);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const std::size_t base = kinds[kind].devices.size() + 1;
      if (digits % base > 0) {
        sets.growths.push_back({set - place, set, kind});
      }
      sets.num_devices.back() += digits % base;
      digits /= base;
      place *= base;
    }
  }
  return sets;
}

// The blocks between two ideals, which grow and shrink by one block at a time.
class Difference {
 public:
  explicit Difference(const StageGraph& graph)
      : graph_(graph),
        nets_of_(graph.cost_us.size()),
        inside_(graph.nets.size(), 0),
        costs_us_(graph.kinds.size(), 0.0) {
    for (std::size_t net = 0; net < graph.nets.size(); ++net) {
      for (const BlockId block : graph.nets[net].blocks) {
        nets_of_[block].push_back(net);
      }
    }
  }

  void push(BlockId block) {
    // Sums are kept, so that taking a block away gives what was there, to the last bit.
    const std::size_t num_kinds = graph_.kinds.size();
    for (std::size_t kind = 0; kind < num_kinds; ++kind) {
      costs_us_.push_back(costs_us_[costs_us_.size() - num_kinds] + graph_.cost_us[block][kind]);
    }
    bytes_ += graph_.persistent_bytes[block];
    for (const std::size_t net : nets_of_[block]) {
      count(net, -1);
      ++inside_[net];
      count(net, 1);
    }
  }

  void pop(BlockId block) {
    costs_us_.resize(costs_us_.size() - graph_.kinds.size());
    bytes_ -= graph_.persistent_bytes[block];
    for (const std::size_t net : nets_of_[block]) {
      count(net, -1);
      --inside_[net];
      count(net, 1);
    }
  }

  bool fits(std::size_t kind) const { return bytes_ <= graph_.kinds[kind].capacity_bytes; }

  // Without transfers: no set with more blocks has less.
  double cost_us(std::size_t kind) const {
    return costs_us_[costs_us_.size() - graph_.kinds.size() + kind];
  }

  double load_us(std::size_t kind) const {
    const StageDevices& devices = graph_.kinds[kind];
    return cost_us(kind) + static_cast<double>(values_) * devices.latency_us +
           static_cast<double>(value_bytes_) * devices.us_per_byte;
  }

 private:
  // Adds the values of a net, `sign` times, if some but not all of its blocks are inside.
  void count(std::size_t net, std::int64_t sign) {
    if (inside_[net] > 0 && inside_[net] < graph_.nets[net].blocks.size()) {
      values_ += sign * graph_.nets[net].values;
      value_bytes_ += sign * graph_.nets[net].bytes;
    }
  }

  const StageGraph& graph_;
  IdVector<BlockId, std::vector<std::size_t>> nets_of_;
  std::vector<std::size_t> inside_;  // blocks of each net
  std::vector<double> costs_us_;     // by number of blocks, then by kind
  std::int64_t bytes_ = 0;
  std::int64_t values_ = 0;
  std::int64_t value_bytes_ = 0;
};

// D(U, I) of the head of stage_split.hpp, for all U and I, computed forwards from the empty ideal.
class LoadTable {
 public:
  // Stages of a larger load than `bound_us` are of no interest.
  LoadTable(const StageGraph& graph, const Ideals& ideals, double bound_us)
      : graph_(graph),
        ideals_(ideals),
        bound_us_(bound_us),
        sets_(device_sets(graph.kinds)),
        cells_(ideals.size() * sets_.num_devices.size()),
        added_(ideals.size()),
        seen_from_(ideals.size(), ideals.size()),
        difference_(graph),
        loads_us_(graph.kinds.size()) {
    for (std::size_t ideal = ideals.size(); ideal-- > 0;) {
      for (const Ideals::Step& step : ideals.from(ideal)) {
        added_[step.to] = {ideal, step.block};
      }
    }
    find_rests();
    cell(0, 0).max_load_us = 0;
    for (std::size_t ideal = 0; ideal < ideals.size(); ++ideal) {
      for (const DeviceSets::Growth& growth : sets_.growths) {
        improve(ideal, growth, ideal, 0);  // a device may stay empty
      }
      extend(ideal);
    }
  }

  // Returns the best split on at most so many devices.
  StageSplit best(std::size_t num_devices) const {
    const std::size_t all = ideals_.size() - 1;
    std::size_t set = 0;
    for (std::size_t other = 1; other < sets_.num_devices.size(); ++other) {
      if (sets_.num_devices[other] <= num_devices &&
          cell(all, other).max_load_us < cell(all, set).max_load_us) {
        set = other;
      }
    }
    StageSplit split;
    if (cell(all, set).max_load_us == kInfinity) {
      return split;
    }
    split.max_load_us = 0;
    for (std::size_t ideal = all; ideal > 0 || set > 0;) {
      const Cell& last = cell(ideal, set);
      const DeviceSets::Growth& growth = sets_.growths[last.growth];
      if (last.from != ideal) {
        Stage stage{.kind = growth.kind, .blocks = blocks_between(last.from, ideal)};
        stage.load_us = emplace::agents::load_us(graph_, stage.kind, stage.blocks);
        split.max_load_us = std::max(split.max_load_us, stage.load_us);
        split.stages.push_back(std::move(stage));
      }
      ideal = last.from;
      set = growth.from;
    }
    std::ranges::reverse(split.stages);
    return split;
  }

 private:
  struct Cell {
    double max_load_us = kInfinity;
    std::size_t from = 0;    // the ideal of all stages but the last
    std::size_t growth = 0;  // the last stage's device
  };

  Cell& cell(std::size_t ideal, std::size_t set) {
    return cells_[ideal * sets_.num_devices.size() + set];
  }
  const Cell& cell(std::size_t ideal, std::size_t set) const {
    return cells_[ideal * sets_.num_devices.size() + set];
  }

  // No split within the bound has more left than what its devices can do within the bound.
  void find_rests() {
    rest_us_.assign(ideals_.size(), 0);
    for (const std::vector<double>& cost_us : graph_.cost_us) {
      rest_us_.front() += cost_us.front();
    }
    for (std::size_t ideal = 1; ideal < ideals_.size(); ++ideal) {
      const auto& [smaller, block] = added_[ideal];
      rest_us_[ideal] = rest_us_[smaller] - graph_.cost_us[block].front();
    }
    // A device does no more than this of what the first kind does in the same time.
    std::vector<double> speed(graph_.kinds.size(), 0);
    for (const std::vector<double>& cost_us : graph_.cost_us) {
      for (std::size_t kind = 0; kind < speed.size(); ++kind) {
        const double most = cost_us[kind] > 0 ? cost_us.front() / cost_us[kind] : kInfinity;
        speed[kind] = std::max(speed[kind], cost_us.front() > 0 ? most : 0);
      }
    }
    speed_left_.assign(sets_.num_devices.size(), 0);
    for (std::size_t growth = sets_.growths.size(); growth-- > 0;) {
      const auto& [from, to, kind] = sets_.growths[growth];
      speed_left_[from] = speed_left_[to] + speed[kind];
    }
  }

  bool may_lead_to_all(std::size_t ideal, std::size_t set) const {
    return !(rest_us_[ideal] > bound_us_ * kRounding * speed_left_[set]);
  }

  // Takes a last stage from `ideal` to `larger` if that is better.
  void improve(std::size_t ideal, const DeviceSets::Growth& growth, std::size_t larger,
               double load_us) {
    Cell& present = cell(larger, growth.to);
    const double max_load_us = std::max(cell(ideal, growth.from).max_load_us, load_us);
    if (max_load_us < present.max_load_us) {
      present = {max_load_us, ideal, static_cast<std::size_t>(&growth - sets_.growths.data())};
    }
  }

  // Tries all last stages that begin after `ideal`, depth first.
  void extend(std::size_t ideal) {
    live_.clear();
    for (const DeviceSets::Growth& growth : sets_.growths) {
      const double load_us = cell(ideal, growth.from).max_load_us;
      if (load_us < kInfinity && load_us <= bound_us_ && may_lead_to_all(ideal, growth.from)) {
        live_.push_back(&growth);
      }
    }
    if (live_.empty()) {
      return;
    }
    struct Visit {
      std::span<const Ideals::Step> left;
      BlockId block;
    };
    std::vector<Visit> path{{ideals_.from(ideal), 0}};
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.left.empty()) {
        if (path.size() > 1) {
          difference_.pop(visit.block);
        }
        path.pop_back();
        continue;
      }
      const Ideals::Step step = visit.left.front();
      visit.left = visit.left.subspan(1);
      if (std::exchange(seen_from_[step.to], ideal) == ideal) {
        continue;
      }
      difference_.push(step.block);
      if (try_last_stage(ideal, step.to)) {
        path.push_back({ideals_.from(step.to), step.block});
      } else {
        difference_.pop(step.block);
      }
    }
  }

  // Tries the present difference as last stage; false if no larger one can be within the bound.
  bool try_last_stage(std::size_t ideal, std::size_t larger) {
    bool may_grow = false;
    for (std::size_t kind = 0; kind < graph_.kinds.size(); ++kind) {
      const bool may_hold = difference_.fits(kind) && difference_.cost_us(kind) <= bound_us_;
      may_grow = may_grow || may_hold;
      loads_us_[kind] = may_hold ? difference_.load_us(kind) : kInfinity;
    }
    for (const DeviceSets::Growth* const growth : live_) {
      if (const double load_us = loads_us_[growth->kind]; load_us <= bound_us_) {
        improve(ideal, *growth, larger, load_us);
      }
    }
    return may_grow;
  }

  std::vector<BlockId> blocks_between(std::size_t smaller, std::size_t larger) const {
    std::vector<bool> is_before(graph_.cost_us.size(), false);
    for (; smaller > 0; smaller = added_[smaller].first) {
      is_before[index_of(added_[smaller].second)] = true;
    }
    std::vector<BlockId> blocks;
    for (; larger > 0; larger = added_[larger].first) {
      if (!is_before[index_of(added_[larger].second)]) {
        blocks.push_back(added_[larger].second);
      }
    }
    std::ranges::reverse(blocks);
    return blocks;
  }

  const StageGraph& graph_;
  const Ideals& ideals_;
  double bound_us_;
  DeviceSets sets_;
  std::vector<Cell> cells_;                             // by ideal, then by set
  std::vector<std::pair<std::size_t, BlockId>> added_;  // to which ideal which block, for each
  std::vector<double> rest_us_;         // of the blocks that each ideal has not, on the first kind
  std::vector<double> speed_left_;      // of the devices that each set has not, in devices of it
  std::vector<std::size_t> seen_from_;  // for each ideal
  Difference difference_;

  // Scratch.
  std::vector<const DeviceSets::Growth*> live_;  // those from sets that have the present ideal
  std::vector<double> loads_us_;                 // of the present difference, by kind
};

// Cuts `order` into at most kMaxOrderedBlocks pieces: one end in each equal part of the time, where
// the fewest bytes cross. Returns the piece of each block.
IdVector<BlockId, BlockId> pieces_of(const StageGraph& graph, std::span<const BlockId> order) {
  IdVector<BlockId, std::size_t> position(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    position[order[at]] = at;
  }
  // Bytes that cross the end of each position.
  std::vector<std::int64_t> crossing(order.size() + 1, 0);
  for (const Net& net : graph.nets) {
    const auto [first, last] =
        std::ranges::minmax(net.blocks, {}, [&](BlockId block) { return position[block]; });
    crossing[position[first]] += net.bytes;
    crossing[position[last]] -= net.bytes;
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  // Blocks weigh their time and the mean time, so that those without any count, too.
  double total_us = 0;
  for (const BlockId block : order) {
    total_us += graph.cost_us[block].front();
  }
  const double mean_us = total_us > 0 ? total_us / static_cast<double>(order.size()) : 1;
  const double weight_of_part = (total_us + mean_us * static_cast<double>(order.size())) /
                                static_cast<double>(kMaxOrderedBlocks - 1);
  std::vector<bool> ends_piece(order.size(), false);
  double weight = 0;
  for (std::size_t end = 0; end < order.size();) {
    const double until = (std::floor(weight / weight_of_part) + 1) * weight_of_part;
    std::size_t best = end;
    do {
      best = crossing[end] < crossing[best] ? end : best;
      weight += graph.cost_us[order[end]].front() + mean_us;
      ++end;
    } while (end < order.size() && weight < until);
    ends_piece[best] = true;
  }
  IdVector<BlockId, BlockId> piece(order.size());
  BlockId current = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    piece[order[at]] = current;
    current += ends_piece[at] && at + 1 < order.size() ? 1 : 0;
  }
  return piece;
}

std::size_t num_devices(const StageGraph& graph) {
  std::size_t count = 0;
  for (const StageDevices& kind : graph.kinds) {
    count += kind.devices.size();
  }
  return count;
}

}  // namespace

std::vector<StageSplit> splits_in_order(const StageGraph& graph, std::span<const BlockId> order) {
  std::vector<StageSplit> splits;
  if (order.size() <= kMaxOrderedBlocks) {
    const Ideals ideals = prefixes(order);
    const LoadTable table(graph, ideals, kInfinity);
    for (std::size_t devices = 1; devices <= num_devices(graph); ++devices) {
      splits.push_back(table.best(devices));
    }
    return splits;
  }
  const IdVector<BlockId, BlockId> piece_of = pieces_of(graph, order);
  const BlockId num_pieces = piece_of[order.back()] + 1;
  std::vector<BlockId> pieces(index_of(num_pieces));
  std::iota(pieces.begin(), pieces.end(), 0);
  splits = splits_in_order(merged(graph, piece_of, num_pieces), pieces);
  IdVector<BlockId, std::vector<BlockId>> blocks_of(pieces.size());
  for (const BlockId block : order) {
    blocks_of[piece_of[block]].push_back(block);
  }
  for (StageSplit& split : splits) {
    for (Stage& stage : split.stages) {
      std::vector<BlockId> blocks;
      for (const BlockId piece : stage.blocks) {
        blocks.insert(blocks.end(), blocks_of[piece].begin(), blocks_of[piece].end());
      }
      stage.blocks = std::move(blocks);
    }
  }
  return splits;
}

StageSplit split_over_ideals(const StageGraph& graph, std::size_t max_ideals, StageSplit known) {
  const std::optional<Ideals> ideals = all_ideals(graph, max_ideals);
  if (!ideals) {
    return known;
  }
  const LoadTable table(graph, *ideals, known.max_load_us * kRounding);
  StageSplit best = table.best(num_devices(graph));
  best.is_over_all_ideals = true;
  return best;
}

Placement placement_of(const Problem& problem, const StageGraph& graph, const StageSplit& split) {
  std::vector<std::size_t> taken(graph.kinds.size(), 0);
  IdVector<BlockId, DeviceId> device_of(graph.cost_us.size(), 0);
  for (const Stage& stage : split.stages) {
    const DeviceId device = graph.kinds[stage.kind].devices[taken[stage.kind]++];
    for (const BlockId block : stage.blocks) {
      device_of[block] = device;
    }
  }
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < placement.size(); ++group) {
    placement[group] = device_of[graph.block_of[group]];
  }
  return placement;
}

}  // namespace emplace::agents
