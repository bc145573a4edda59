#include "stage_graph.hpp"

#include <boost/range/adaptor/reversed.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace emplace::agents {
namespace {

bool has_forward_op(const Problem& problem, GroupId group) {
  return std::ranges::any_of(problem.grouping().members(group),
                             [&](OpId op) { return problem.op(op).phase == Phase::kForward; });
}

// Returns the scope of the op that takes most of a group's time, of its forward ops if it has any.
std::string_view scope_of(const Problem& problem, GroupId group) {
  const DeviceId device = problem.placeable_devices().front();
  const bool only_forward = has_forward_op(problem, group);
  std::optional<OpId> longest;
  for (const OpId op : problem.grouping().members(group)) {
    if ((!only_forward || problem.op(op).phase == Phase::kForward) &&
        (!longest || problem.cost_us(op, device) > problem.cost_us(*longest, device))) {
      longest = op;
    }
  }
  return longest ? std::string_view(problem.op(*longest).scope) : std::string_view();
}

// Sorts and removes what is there twice.
template <class T>
void make_set(std::vector<T>& elements) {
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

// Finds the forward group to which each group belongs.
class HomeFinder {
 public:
  explicit HomeFinder(const Problem& problem)
      : problem_(problem), home_(index_of(problem.num_groups()), kNone) {
    std::vector<GroupId> backward;
    for (const GroupId group : problem.group_order()) {
      (has_forward_op(problem, group) ? forward_ : backward).push_back(group);
    }
    if (forward_.empty()) {
      forward_.swap(backward);
    }
    for (std::size_t at = 0; at < forward_.size(); ++at) {
      home_[forward_[at]] = static_cast<Position>(at);
      by_scope_[scope_of(problem, forward_[at])].push_back(static_cast<Position>(at));
    }
    for (const GroupId group : backward) {
      home_[group] = find(group);
    }
    // Those that read nothing go with what reads them.
    for (const GroupId group : boost::adaptors::reverse(backward)) {
      Position last_reader = 0;
      for (const GroupEdge& edge : problem.group_out_edges(group)) {
        last_reader = std::max(last_reader, home_[edge.consumer]);
      }
      if (home_[group] == kNone) {
        home_[group] = last_reader;
      }
    }
  }

  // Returns the forward groups in topological order.
  const std::vector<GroupId>& forward() const { return forward_; }

  // Returns the position there of the one to which `group` belongs.
  std::int32_t home(GroupId group) const { return home_[group]; }

 private:
  using Position = std::int32_t;
  static constexpr Position kNone = -1;

  Position find(GroupId group) const {
    const std::string_view scope = scope_of(problem_, group);
    const auto found = scope.empty() ? by_scope_.end() : by_scope_.find(scope);
    Position last_read = kNone;
    Position last_read_in_scope = kNone;
    Position first_producer = kNone;
    for (const GroupEdge& edge : problem_.group_in_edges(group)) {
      const Position home = home_[edge.producer];
      if (home == kNone) {
        continue;
      }
      if (forward_[index_of(home)] != edge.producer) {
        first_producer = first_producer == kNone ? home : std::min(first_producer, home);
      } else {
        last_read = std::max(last_read, home);
        if (found != by_scope_.end() && std::ranges::binary_search(found->second, home)) {
          last_read_in_scope = std::max(last_read_in_scope, home);
        }
      }
    }
    if (last_read_in_scope != kNone) {
      return last_read_in_scope;
    }
    if (found != by_scope_.end()) {
      const std::vector<Position>& layer = found->second;
      const auto after = std::ranges::upper_bound(layer, first_producer);
      return after == layer.begin() ? layer.front() : *std::prev(after);
    }
    return last_read != kNone ? last_read : first_producer;
  }

  const Problem& problem_;
  std::vector<GroupId> forward_;
  std::map<std::string_view, std::vector<Position>> by_scope_;
  IdVector<GroupId, Position> home_;
};

// Parts devices by profile, in the order of the first of each.
std::vector<StageDevices> kinds_of(const Problem& problem, std::span<const DeviceId> devices) {
  std::vector<StageDevices> kinds;
  for (const DeviceId device : devices) {
    const auto is_alike = [&](const StageDevices& kind) {
      return problem.device(kind.devices.front()).profile == problem.device(device).profile;
    };
    auto kind = std::ranges::find_if(kinds, is_alike);
    if (kind == kinds.end()) {
      kind = kinds.insert(kinds.end(), {.capacity_bytes = problem.memory_bytes(device)});
    }
    kind->devices.push_back(device);
  }
  // A time is a latency plus bytes over a bandwidth, so two amounts tell both.
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (StageDevices& kind : kinds) {
    double pairs = 0;
    double many_us = 0;
    for (const DeviceId device : kind.devices) {
      for (const DeviceId other : devices) {
        if (other != device) {
          pairs += 2;
          kind.latency_us +=
              problem.transfer_us(0, device, other) + problem.transfer_us(0, other, device);
          many_us +=
              problem.transfer_us(kMany, device, other) + problem.transfer_us(kMany, other, device);
        }
      }
    }
    if (pairs > 0) {
      kind.us_per_byte = (many_us - kind.latency_us) / pairs / static_cast<double>(kMany);
      kind.latency_us /= pairs;
    }
  }
  return kinds;
}

// Joins nets of the same blocks; drops those within one block.
std::vector<Net> joined(std::vector<Net> nets) {
  std::map<std::vector<BlockId>, Net> by_blocks;
  for (Net& net : nets) {
    make_set(net.blocks);
    if (net.blocks.size() > 1) {
      Net& all = by_blocks[net.blocks];
      all.values += net.values;
      all.bytes += net.bytes;
    }
  }
  std::vector<Net> result;
  for (auto& [blocks, net] : by_blocks) {
    net.blocks = blocks;
    result.push_back(std::move(net));
  }
  return result;
}

// Adds what passes between the ops of a problem to a graph that has its blocks.
void add_uses(const Problem& problem, StageGraph& graph) {
  const auto block_of = [&](OpId op) { return graph.block_of[problem.grouping().group_of(op)]; };
  const auto is_forward = [&](OpId op) { return problem.op(op).phase == Phase::kForward; };
  const bool has_phases = std::ranges::any_of(problem.topological_order(), is_forward);
  std::vector<Net> nets;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto [begin, end] = problem.uses_of(op);
    OutputId last = Dependency::kControl;
    for (UseId at = begin; at < end; ++at) {
      const OpProblem::Use& use = problem.uses()[at];
      const bool is_control = use.output == OutputId(Dependency::kControl);
      if (!is_control && use.output != last) {
        last = use.output;
        nets.push_back(
            {.values = 1, .bytes = problem.output_bytes(last), .blocks = {block_of(op)}});
      }
      if (!is_control) {
        nets.back().blocks.push_back(block_of(use.consumer));
      }
      if (!orders_micro_batches(use.output, problem.op(op), problem.op(use.consumer)) &&
          block_of(op) != block_of(use.consumer) &&
          (!has_phases || (is_forward(op) && is_forward(use.consumer)))) {
        graph.consumers[block_of(op)].push_back(block_of(use.consumer));
      }
    }
  }
  std::ranges::for_each(graph.consumers, make_set<BlockId>);
  graph.nets = joined(std::move(nets));
}

}  // namespace

StageGraph stage_graph(const Problem& problem, std::span<const DeviceId> devices) {
  const HomeFinder homes(problem);
  const std::size_t num_blocks = homes.forward().size();
  StageGraph graph{.kinds = kinds_of(problem, devices)};
  graph.cost_us.assign(num_blocks, std::vector<double>(graph.kinds.size(), 0.0));
  graph.persistent_bytes.assign(num_blocks, 0);
  graph.consumers.resize(num_blocks);
  for (const GroupId group : homes.forward()) {
    graph.scopes.push_back(scope_of(problem, group));
  }
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const BlockId block = homes.home(group);
    graph.block_of.push_back(block);
    graph.persistent_bytes[block] += problem.group_persistent_bytes(group);
    for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind) {
      graph.cost_us[block][kind] += problem.group_cost_us(group, graph.kinds[kind].devices.front());
    }
  }
  add_uses(problem, graph);
  return graph;
}

void keep_free(StageGraph& graph, const MemoryReserve& reserve) {
  for (StageDevices& kind : graph.kinds) {
    std::int64_t most = 0;
    for (const DeviceId device : kind.devices) {
      most = std::max(most, reserve[device]);
    }
    kind.capacity_bytes -= most;
  }
}

StageGraph without_limits(StageGraph graph) {
  for (StageDevices& kind : graph.kinds) {
    kind.capacity_bytes = std::numeric_limits<std::int64_t>::max();
  }
  return graph;
}

StageGraph merged(const StageGraph& graph, const IdVector<BlockId, BlockId>& into, BlockId count) {
  StageGraph result{.kinds = graph.kinds};
  result.cost_us.assign(index_of(count), std::vector<double>(graph.kinds.size(), 0.0));
  result.persistent_bytes.assign(index_of(count), 0);
  result.consumers.resize(index_of(count));
  result.scopes.resize(index_of(count));
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    const BlockId whole = into[block];
    std::ranges::transform(result.cost_us[whole], graph.cost_us[block],
                           result.cost_us[whole].begin(), std::plus<>());
    result.persistent_bytes[whole] += graph.persistent_bytes[block];
    result.scopes[whole] = graph.scopes[block];
    for (const BlockId consumer : graph.consumers[block]) {
      if (into[consumer] != whole) {
        result.consumers[whole].push_back(into[consumer]);
      }
    }
  }
  std::ranges::for_each(result.consumers, make_set<BlockId>);
  for (const BlockId block : graph.block_of) {
    result.block_of.push_back(into[block]);
  }
  std::vector<Net> nets = graph.nets;
  for (Net& net : nets) {
    std::ranges::transform(net.blocks, net.blocks.begin(), [&](BlockId b) { return into[b]; });
  }
  result.nets = joined(std::move(nets));
  return result;
}

StageGraph without_idle_leaves(const StageGraph& graph) {
  const IdVector<BlockId, std::vector<BlockId>> producers = producers_of(graph);
  IdVector<BlockId, std::vector<const Net*>> nets(graph.cost_us.size());
  for (const Net& net : graph.nets) {
    for (const BlockId block : net.blocks) {
      nets[block].push_back(&net);
    }
  }
  IdVector<BlockId, BlockId> into(graph.cost_us.size());
  std::iota(into.begin(), into.end(), 0);
  const auto whole = [&](BlockId block) {
    while (into[block] != block) {
      block = into[block] = into[into[block]];
    }
    return block;
  };
  // Merges a block into its only neighbour on one side if there is none on the other.
  const auto merge_if_idle_leaf = [&](BlockId block, const std::vector<BlockId>& none,
                                      const std::vector<BlockId>& one) {
    const auto is_inside = [&](BlockId other) { return whole(other) == block; };
    const auto takes_time = [](double us) { return us > 0; };
    if (one.empty() || std::ranges::any_of(graph.cost_us[block], takes_time) ||
        !std::ranges::all_of(none, is_inside)) {
      return;
    }
    const BlockId neighbour = whole(one.front());
    const bool is_leaf =
        std::ranges::all_of(one, [&](BlockId b) { return whole(b) == neighbour; }) &&
        std::ranges::all_of(nets[block], [&](const Net* net) {
          return std::ranges::binary_search(net->blocks, neighbour) ||
                 std::ranges::all_of(net->blocks, is_inside);
        });
    if (is_leaf) {
      into[block] = neighbour;
    }
  };
  const std::vector<BlockId> order = depth_first_order(graph);
  for (const BlockId block : order) {
    merge_if_idle_leaf(block, producers[block], graph.consumers[block]);
  }
  for (const BlockId block : boost::adaptors::reverse(order)) {
    if (into[block] == block) {
      merge_if_idle_leaf(block, graph.consumers[block], producers[block]);
    }
  }
  IdVector<BlockId, BlockId> number(into.size());
  BlockId count = 0;
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    if (into[block] == block) {
      number[block] = count++;
    }
  }
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    number[block] = number[whole(block)];
  }
  return merged(graph, number, count);
}

IdVector<BlockId, std::vector<BlockId>> producers_of(const StageGraph& graph) {
  IdVector<BlockId, std::vector<BlockId>> producers(graph.cost_us.size());
  for (BlockId block = 0; block < graph.num_blocks(); ++block) {
    for (const BlockId consumer : graph.consumers[block]) {
      producers[consumer].push_back(block);
    }
  }
  return producers;
}

std::vector<BlockId> depth_first_order(const StageGraph& graph) {
  IdVector<BlockId, std::int32_t> missing(graph.cost_us.size(), 0);
  for (const std::vector<BlockId>& consumers : graph.consumers) {
    for (const BlockId consumer : consumers) {
      ++missing[consumer];
    }
  }
  std::vector<BlockId> ready;
  for (BlockId block = graph.num_blocks(); block-- > 0;) {
    if (missing[block] == 0) {
      ready.push_back(block);
    }
  }
  std::vector<BlockId> order;
  while (!ready.empty()) {
    const BlockId block = ready.back();
    ready.pop_back();
    order.push_back(block);
    for (const BlockId consumer : boost::adaptors::reverse(graph.consumers[block])) {
      if (--missing[consumer] == 0) {
        ready.push_back(consumer);
      }
    }
  }
  return order;
}

double load_us(const StageGraph& graph, std::size_t kind, std::span<const BlockId> blocks) {
  IdVector<BlockId, bool> is_inside(graph.cost_us.size(), false);
  double us = 0;
  for (const BlockId block : blocks) {
    is_inside[block] = true;
    us += graph.cost_us[block][kind];
  }
  std::int64_t values = 0;
  std::int64_t bytes = 0;
  for (const Net& net : graph.nets) {
    const auto inside = std::ranges::count_if(net.blocks, [&](BlockId b) { return is_inside[b]; });
    if (inside > 0 && std::cmp_less(inside, net.blocks.size())) {
      values += net.values;
      bytes += net.bytes;
    }
  }
  const StageDevices& devices = graph.kinds[kind];
  return us + static_cast<double>(values) * devices.latency_us +
         static_cast<double>(bytes) * devices.us_per_byte;
}

}  // namespace emplace::agents
