// The groups of a problem.

#include <emplace/base/check.hpp>
#include <emplace/sim/problem.hpp>

#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace emplace {
namespace {

// Returns edges by one of their ends, and otherwise in the order that they have. Sets where those
// of each group begin.
std::vector<GroupEdge> sorted_by(GroupId GroupEdge::*end, std::span<const GroupEdge> edges,
                                 GroupId num_groups, IdVector<GroupId, std::size_t>& begin) {
  begin.assign(index_of(num_groups) + 1, 0);
  for (const GroupEdge& edge : edges) {
    ++begin[edge.*end + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  IdVector<GroupId, std::size_t> next = begin;
  std::vector<GroupEdge> sorted(edges.size());
  for (const GroupEdge& edge : edges) {
    sorted[next[edge.*end]++] = edge;
  }
  return sorted;
}

}  // namespace

std::vector<GroupId> topological_order(GroupId num_groups, std::span<const GroupEdge> edges) {
  IdVector<GroupId, std::size_t> begin;
  const std::vector<GroupEdge> sorted = sorted_by(&GroupEdge::producer, edges, num_groups, begin);
  IdVector<GroupId, std::int32_t> waiting(index_of(num_groups), 0);
  for (const GroupEdge& edge : edges) {
    ++waiting[edge.consumer];
  }
  std::priority_queue<GroupId, std::vector<GroupId>, std::greater<>> ready;
  for (GroupId group = 0; group < num_groups; ++group) {
    if (waiting[group] == 0) {
      ready.push(group);
    }
  }
  std::vector<GroupId> order;
  order.reserve(waiting.size());
  while (!ready.empty()) {
    const GroupId group = ready.top();
    ready.pop();
    order.push_back(group);
    for (std::size_t at = begin[group]; at < begin[group + 1]; ++at) {
      if (--waiting[sorted[at].consumer] == 0) {
        ready.push(sorted[at].consumer);
      }
    }
  }
  EMPLACE_CHECK(std::ssize(order) == num_groups, "groups form a cycle");
  return order;
}

Problem::Problem(std::shared_ptr<const OpGraph> graph, Grouping grouping,
                 std::shared_ptr<const Cluster> cluster)
    : Problem(OpProblem(std::move(graph), std::move(cluster)), std::move(grouping)) {}

Problem::Problem(OpProblem ops, Grouping grouping)
    : OpProblem(std::move(ops)), grouping_(std::move(grouping)) {
  EMPLACE_CHECK(grouping_.num_ops() == num_ops(), "the grouping is for another graph");
  add_up_members();
  find_edges();
  group_order_ = emplace::topological_order(num_groups(), group_edges_);
  constraints_ = GroupConstraints(*this, grouping_, group_order_);
}

void Problem::constrain(Placement& placement) const {
  if (constraints_.empty()) {
    return;
  }
  for (const GroupId group : group_order_) {
    if (const DeviceId pinned = constraints_.pinned_device(group); pinned != kNotPinned) {
      placement[group] = pinned;
    } else if (const auto tied = constraints_.tied_to(group); !tied.empty()) {
      placement[group] = placement[tied.front()];
    }
  }
}

void Problem::add_up_members() {
  const std::size_t count = index_of(num_groups());
  group_cost_us_.assign(index_of(num_devices()) * count, 0.0);
  for (DeviceId device = 0; device < num_devices(); ++device) {
    for (OpId op = 0; op < num_ops(); ++op) {
      group_cost_us_[group_cell(grouping_.group_of(op), device)] += busy_us(op, device);
    }
  }
  group_persistent_bytes_.assign(count, 0);
  group_output_bytes_.assign(count, 0);
  for (OpId op = 0; op < num_ops(); ++op) {
    const GroupId group = grouping_.group_of(op);
    group_persistent_bytes_[group] += this->op(op).persistent_bytes;
    group_output_bytes_[group] += allocated_bytes(op);
  }
}

// Each output that crosses counts once; the uses of an output are next to each other.
void Problem::find_edges() {
  std::vector<GroupEdge> edges;
  IdVector<GroupId, std::size_t> found(index_of(num_groups()), 0);  // after the edge to a consumer
  IdVector<GroupId, OutputId> counted(index_of(num_groups()), -1);  // last, of what it reads
  for (GroupId producer = 0; producer < num_groups(); ++producer) {
    const std::size_t before = edges.size();
    for (const OpId op : grouping_.members(producer)) {
      for (auto [use, end] = uses_of(op); use < end; ++use) {
        const OutputId output = uses()[use].output;
        const OpId reader = uses()[use].consumer;
        const GroupId consumer = grouping_.group_of(reader);
        if (consumer == producer || orders_micro_batches(output, this->op(op), this->op(reader))) {
          continue;
        }
        if (found[consumer] <= before) {
          edges.push_back({producer, consumer, 0});
          found[consumer] = edges.size();
        }
        if (output != Dependency::kControl && counted[consumer] != output) {
          edges[found[consumer] - 1].bytes += output_bytes(output);
          counted[consumer] = output;
        }
      }
    }
  }
  // By consumer, then by producer; and the other way around.
  group_in_edges_ = sorted_by(&GroupEdge::consumer, edges, num_groups(), group_in_begin_);
  group_edges_ = sorted_by(&GroupEdge::producer, group_in_edges_, num_groups(), group_out_begin_);
}

}  // namespace emplace
