#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/sim/problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace emplace {
namespace {

// Largest sum of microseconds or bytes for which doubles still count in whole units.
constexpr double kMaxSum = 9007199254740992.0;

// Returns the groups in topological order, the least id first where there is a choice.
std::vector<GroupId> order_groups(GroupId num_groups, std::span<const GroupEdge> edges,
                                  IdSpan<GroupId, const std::size_t> out_begin) {
  IdVector<GroupId, std::int32_t> waiting(num_groups, 0);
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
    for (std::size_t at = out_begin[group]; at < out_begin[group + 1]; ++at) {
      if (--waiting[edges[at].consumer] == 0) {
        ready.push(edges[at].consumer);
      }
    }
  }
  EMPLACE_CHECK(std::ssize(order) == num_groups, "groups form a cycle");
  return order;
}

}  // namespace

Problem::Problem(std::shared_ptr<const OpGraph> graph, Grouping grouping,
                 std::shared_ptr<const Cluster> cluster)
    : graph_(std::move(graph)),
      grouping_(std::move(grouping)),
      cluster_(std::move(cluster)),
      num_ops_(emplace::num_ops(*graph_)) {
  EMPLACE_CHECK(grouping_.num_ops() == num_ops_, "the grouping is for another graph");
  order_ = emplace::topological_order(*graph_);
  compile_devices();
  compile_costs();
  compile_ops();
  compile_uses();
  compile_storage();
  compile_transfers();
  compile_groups();
}

Problem Problem::regrouped(Grouping grouping) const {
  EMPLACE_CHECK(grouping.num_ops() == num_ops_, "the grouping is for another graph");
  Problem problem = *this;
  problem.grouping_ = std::move(grouping);
  problem.compile_groups();
  return problem;
}

std::int64_t Problem::memory_bytes(DeviceId device) const { return profile(device).usable_bytes(); }

std::int32_t Problem::slots(DeviceId device) const {
  return cluster_->transfer_model == TransferModel::kPhysical ? profile(device).slots : 1;
}

void Problem::replace_costs(DeviceId device, std::span<const double> costs_us) {
  EMPLACE_CHECK(std::ssize(costs_us) == num_ops_, "{} costs for {} ops", costs_us.size(), num_ops_);
  std::copy(costs_us.begin(), costs_us.end(),
            cost_us_.begin() + static_cast<std::ptrdiff_t>(cost_cell(0, device)));
}

void Problem::compile_costs() {
  cost_us_.reserve(cluster_->profiles.size() * boost::num_vertices(*graph_));
  cost_source_.reserve(cost_us_.capacity());
  const bool is_placeto = cluster_->transfer_model == TransferModel::kPlaceto;
  const bool is_physical = cluster_->transfer_model == TransferModel::kPhysical;
  const double gap_us = is_placeto ? cluster_->placeto.gap_after_op_us : 0.0;
  for (const DeviceProfile& profile : cluster_->profiles) {
    const double overhead_us = is_physical ? profile.launch_us : gap_us;
    double sum_us = 0;
    for (OpId op = 0; op < num_ops_; ++op) {
      const Cost cost = op_cost(profile, (*graph_)[op], cluster_->math);
      cost_us_.push_back(cost.us);
      cost_source_.push_back(cost.source);
      cost_deviation_.push_back(cost.relative_deviation);
      sum_us += cost.us + overhead_us;
    }
    if (!(sum_us < kMaxSum)) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("graph '{}': its ops add up to {:g} us on device '{}'; at most {:g} us "
                      "can be simulated exactly",
                      (*graph_)[boost::graph_bundle].name, sum_us, profile.name, kMaxSum));
    }
  }
  for (const Device& device : cluster_->devices) {
    launch_us_.push_back(is_physical ? cluster_->profiles[device.profile].launch_us : 0.0);
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    launches_.push_back(launches((*graph_)[op].kind));
    gap_us_.push_back(launches_.back() ? gap_us : 0.0);
  }
}

void Problem::compile_ops() {
  const OpGraph& graph = *graph_;
  const std::size_t n = boost::num_vertices(graph);

  // Outputs. A control edge reads output 0 (rule 1), so an op that has one needs at least one
  // output.
  output_begin_.assign(1, 0);
  double bytes_sum = 0;
  for (OpId op = 0; op < num_ops_; ++op) {
    std::int64_t allocated = 0;
    for (const Output& output : graph[op].outputs) {
      output_bytes_.push_back(output.bytes);
      output_allocated_bytes_.push_back(output.persistent ? 0 : output.bytes);
      bytes_sum += static_cast<double>(output.bytes);
      allocated += output_allocated_bytes_.back();
    }
    if (graph[op].outputs.empty() && boost::out_degree(op, graph) > 0) {
      output_bytes_.push_back(0);
      output_allocated_bytes_.push_back(0);
    }
    bytes_sum += static_cast<double>(graph[op].persistent_bytes);
    bytes_sum += static_cast<double>(graph[op].workspace_bytes);
    allocated_bytes_.push_back(allocated);
    output_begin_.push_back(static_cast<std::int32_t>(output_bytes_.size()));
  }
  if (!(bytes_sum < kMaxSum)) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("graph '{}': its tensors add up to {:g} bytes; at most {:g} can be counted",
                    graph[boost::graph_bundle].name, bytes_sum, kMaxSum));
  }

  // Children: consumers in graph order. Where a consumer reads several outputs of one producer, its
  // place is that of its first mention and the last output listed counts (rule 2).
  std::vector<std::vector<Child>> children(n);
  num_parents_.assign(n, 0);
  for (OpId op = 0; op < num_ops_; ++op) {
    for (auto [edge, end] = boost::in_edges(op, graph); edge != end; ++edge) {
      const std::size_t producer = boost::source(*edge, graph);
      const std::int32_t output = output_begin_[producer] + std::max(graph[*edge].output, 0);
      std::vector<Child>& siblings = children[producer];
      // Consumers are visited one after the other, so an earlier mention is the last entry.
      if (!siblings.empty() && siblings.back().op == op) {
        siblings.back().output = output;
      } else {
        siblings.push_back({op, output});
        ++num_parents_[op];
      }
    }
  }
  child_begin_.assign(1, 0);
  for (const std::vector<Child>& siblings : children) {
    children_.insert(children_.end(), siblings.begin(), siblings.end());
    child_begin_.push_back(children_.size());
  }

  std::vector<OpId> by_name(n);
  std::iota(by_name.begin(), by_name.end(), 0);
  std::sort(by_name.begin(), by_name.end(), [&](OpId a, OpId b) {
    return std::tie(graph[a].name, a) < std::tie(graph[b].name, b);
  });
  name_rank_.resize(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    name_rank_[by_name[rank]] = static_cast<std::int32_t>(rank);
  }
  if (!std::is_sorted(name_rank_.begin(), name_rank_.end())) {
    children_by_name_ = children_;
    for (std::size_t op = 0; op < n; ++op) {
      std::sort(children_by_name_.begin() + static_cast<std::ptrdiff_t>(child_begin_[op]),
                children_by_name_.begin() + static_cast<std::ptrdiff_t>(child_begin_[op + 1]),
                [&](const Child& a, const Child& b) { return name_rank(a.op) < name_rank(b.op); });
    }
  }
}

void Problem::compile_groups() {
  const OpGraph& graph = *graph_;
  const auto num_groups = static_cast<std::size_t>(grouping_.size());

  group_cost_us_.assign(static_cast<std::size_t>(num_devices()) * num_groups, 0.0);
  for (DeviceId device = 0; device < num_devices(); ++device) {
    for (OpId op = 0; op < num_ops_; ++op) {
      group_cost_us_[group_cell(grouping_.group_of(op), device)] += busy_us(op, device);
    }
  }
  group_persistent_bytes_.assign(num_groups, 0);
  group_output_bytes_.assign(num_groups, 0);
  for (OpId op = 0; op < num_ops_; ++op) {
    const GroupId group = grouping_.group_of(op);
    group_persistent_bytes_[group] += graph[op].persistent_bytes;
    group_output_bytes_[group] += allocated_bytes(op);
  }

  // One entry for each output that crosses; a control edge crosses as an output of no bytes.
  std::vector<std::tuple<GroupId, GroupId, std::int32_t, std::int64_t>> crossings;
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const std::size_t producer = boost::source(*edge, graph);
    const GroupId from = grouping_.group_of(static_cast<OpId>(producer));
    const GroupId to = grouping_.group_of(static_cast<OpId>(boost::target(*edge, graph)));
    if (from == to) {
      continue;
    }
    if (graph[*edge].output == Dependency::kControl) {
      crossings.emplace_back(from, to, -1, 0);
    } else {
      const std::int32_t output = output_begin_[producer] + graph[*edge].output;
      crossings.emplace_back(from, to, output, output_bytes(output));
    }
  }
  std::sort(crossings.begin(), crossings.end());
  crossings.erase(std::unique(crossings.begin(), crossings.end()), crossings.end());
  group_edges_.clear();
  for (const auto& [from, to, output, bytes] : crossings) {
    if (group_edges_.empty() || group_edges_.back().producer != from ||
        group_edges_.back().consumer != to) {
      group_edges_.push_back({from, to, 0});
    }
    group_edges_.back().bytes += bytes;
  }

  group_in_edges_ = group_edges_;
  std::stable_sort(group_in_edges_.begin(), group_in_edges_.end(),
                   [](const GroupEdge& a, const GroupEdge& b) { return a.consumer < b.consumer; });
  group_out_begin_.assign(num_groups + 1, 0);
  group_in_begin_.assign(num_groups + 1, 0);
  for (const GroupEdge& edge : group_edges_) {
    ++group_out_begin_[edge.producer + 1];
    ++group_in_begin_[edge.consumer + 1];
  }
  std::partial_sum(group_out_begin_.begin(), group_out_begin_.end(), group_out_begin_.begin());
  std::partial_sum(group_in_begin_.begin(), group_in_begin_.end(), group_in_begin_.begin());
  group_order_ = order_groups(grouping_.size(), group_edges_, group_out_begin_);
}

void Problem::compile_devices() {
  const std::vector<Device>& devices = cluster_->devices;
  for (DeviceId device = 0; device < num_devices(); ++device) {
    devices_by_name_.push_back(device);
    is_placeable_.push_back(devices[device].placeable ? 1 : 0);
    if (devices[device].placeable) {
      placeable_.push_back(device);
    }
  }
  std::sort(devices_by_name_.begin(), devices_by_name_.end(),
            [&](DeviceId a, DeviceId b) { return devices[a].name < devices[b].name; });
  EMPLACE_CHECK(!placeable_.empty(), "cluster '{}' has no placeable device", cluster_->name);
}

}  // namespace emplace
