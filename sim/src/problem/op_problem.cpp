#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/graphs/scope.hpp>
#include <emplace/profiles/constraints.hpp>
#include <emplace/sim/op_problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace emplace {
namespace {

// Largest sum of microseconds or bytes for which doubles still count in whole units.
constexpr double kMaxSum = 9007199254740992.0;

}  // namespace

OpProblem::OpProblem(std::shared_ptr<const OpGraph> graph, std::shared_ptr<const Cluster> cluster) {
  const auto ops = std::make_shared<Compiled>();
  ops_ = ops;
  ops->num_ops = emplace::num_ops(*graph);
  ops->order = emplace::topological_order(*graph);
  ops->graph = std::move(graph);
  ops->cluster = std::move(cluster);
  compile_constraints(*ops);
  compile_devices(*ops);
  compile_costs(*ops);
  compile_ops(*ops);
  compile_uses(*ops);
  compile_storage(*ops);
  compile_transfers(*ops);
}

std::int64_t OpProblem::memory_bytes(DeviceId device) const {
  const std::int64_t limit = this->device(device).memory_limit_bytes;
  return limit == 0 ? profile(device).usable_bytes() : limit;
}

std::int32_t OpProblem::slots(DeviceId device) const {
  return ops_->cluster->transfer_model == TransferModel::kPhysical ? profile(device).slots : 1;
}

void OpProblem::compile_costs(Compiled& ops) const {
  ops.costs = {ops.num_ops, *ops.cluster};
  ops.cost_sources = {ops.num_ops, *ops.cluster};
  ops.cost_deviations = {ops.num_ops, *ops.cluster};
  const bool is_placeto = ops.cluster->transfer_model == TransferModel::kPlaceto;
  const bool is_physical = ops.cluster->transfer_model == TransferModel::kPhysical;
  const double gap_us = is_placeto ? ops.cluster->placeto.gap_after_op_us : 0.0;
  for (std::size_t row = 0; row < ops.cluster->profiles.size(); ++row) {
    const DeviceProfile& profile = ops.cluster->profiles[row];
    const double overhead_us = is_physical ? profile.launch_us : gap_us;
    double sum_us = 0;
    for (OpId op = 0; op < ops.num_ops; ++op) {
      const Cost cost = op_cost(profile, (*ops.graph)[op], ops.cluster->math);
      ops.costs.of_profile(row)[op] = cost.us;
      ops.cost_sources.of_profile(row)[op] = cost.source;
      ops.cost_deviations.of_profile(row)[op] = cost.relative_deviation;
      sum_us += cost.us + overhead_us;
    }
    if (!(sum_us < kMaxSum)) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("graph '{}': its ops add up to {:g} us on device '{}'; at most {:g} us "
                      "can be simulated exactly",
                      (*ops.graph)[boost::graph_bundle].name, sum_us, profile.name, kMaxSum));
    }
  }
  for (const Device& device : ops.cluster->devices) {
    const DeviceProfile& profile = ops.cluster->profiles[device.profile];
    ops.launch_us.push_back(is_physical ? profile.launch_us : 0.0);
    ops.is_launched_on.push_back(is_physical && !profile.device_class.starts_with("cpu"));
  }
  for (OpId op = 0; op < ops.num_ops; ++op) {
    const Op& each = (*ops.graph)[op];
    ops.kernels.push_back(launches(each.kind)
                              ? static_cast<double>(std::max(num_kernels(each), std::int64_t{1}))
                              : 0.0);
    ops.gap_us.push_back(ops.kernels.back() > 0 ? gap_us : 0.0);
  }
}

void OpProblem::compile_ops(Compiled& ops) const {
  const OpGraph& graph = *ops.graph;
  const std::size_t n = boost::num_vertices(graph);

  // Outputs. A control edge reads output 0 (rule 1), so an op that has one needs at least one
  // output.
  ops.output_begin.assign(1, 0);
  double bytes_sum = 0;
  for (OpId op = 0; op < ops.num_ops; ++op) {
    std::int64_t allocated = 0;
    for (const Output& output : graph[op].outputs) {
      ops.output_bytes.push_back(output.bytes);
      ops.output_allocated_bytes.push_back(output.persistent ? 0 : output.bytes);
      bytes_sum += static_cast<double>(output.bytes);
      allocated += ops.output_allocated_bytes.back();
    }
    if (graph[op].outputs.empty() && boost::out_degree(op, graph) > 0) {
      ops.output_bytes.push_back(0);
      ops.output_allocated_bytes.push_back(0);
    }
    bytes_sum += static_cast<double>(graph[op].persistent_bytes);
    bytes_sum += static_cast<double>(graph[op].workspace_bytes);
    ops.allocated_bytes.push_back(allocated);
    ops.output_begin.push_back(static_cast<std::int32_t>(ops.output_bytes.size()));
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
  ops.num_parents.assign(n, 0);
  for (OpId op = 0; op < ops.num_ops; ++op) {
    for (auto [edge, end] = boost::in_edges(op, graph); edge != end; ++edge) {
      const std::size_t producer = boost::source(*edge, graph);
      const std::int32_t output = ops.output_begin[producer] + std::max(graph[*edge].output, 0);
      std::vector<Child>& siblings = children[producer];
      // Consumers are visited one after the other, so an earlier mention is the last entry.
      if (!siblings.empty() && siblings.back().op == op) {
        siblings.back().output = output;
      } else {
        siblings.push_back({op, output});
        ++ops.num_parents[op];
      }
    }
  }
  ops.child_begin.assign(1, 0);
  for (const std::vector<Child>& siblings : children) {
    ops.children.insert(ops.children.end(), siblings.begin(), siblings.end());
    ops.child_begin.push_back(ops.children.size());
  }

  std::vector<OpId> by_name(n);
  std::iota(by_name.begin(), by_name.end(), 0);
  std::sort(by_name.begin(), by_name.end(), [&](OpId a, OpId b) {
    return std::tie(graph[a].name, a) < std::tie(graph[b].name, b);
  });
  ops.name_rank.resize(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    ops.name_rank[by_name[rank]] = static_cast<std::int32_t>(rank);
  }
  if (!std::is_sorted(ops.name_rank.begin(), ops.name_rank.end())) {
    ops.children_by_name = ops.children;
    for (std::size_t op = 0; op < n; ++op) {
      std::sort(ops.children_by_name.begin() + static_cast<std::ptrdiff_t>(ops.child_begin[op]),
                ops.children_by_name.begin() + static_cast<std::ptrdiff_t>(ops.child_begin[op + 1]),
                [&](const Child& a, const Child& b) { return name_rank(a.op) < name_rank(b.op); });
    }
  }
}

namespace {

// Returns the ops that a pattern selects; there is at least one.
std::vector<OpId> selected(const OpGraph& graph, std::string_view what,
                           const std::string& pattern) {
  std::vector<OpId> ops;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const Op& facts = graph[index_of(op)];
    if (selects(pattern, facts.name, facts.scope)) {
      ops.push_back(op);
    }
  }
  if (ops.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} '{}': the graph '{}' has no op and no scope of this name", what,
                            excerpt(pattern), graph[boost::graph_bundle].name));
  }
  return ops;
}

}  // namespace

void OpProblem::compile_constraints(Compiled& ops) const {
  const Cluster& cluster = *ops.cluster;
  for (const Pin& pin : cluster.pins) {
    const auto device = static_cast<DeviceId>(
        std::ranges::find(cluster.devices, pin.device, &Device::name) - cluster.devices.begin());
    ops.pinned.resize(index_of(ops.num_ops), kNotPinned);
    for (const OpId op : selected(*ops.graph, "pin", pin.pattern)) {
      if (ops.pinned[op] != kNotPinned && ops.pinned[op] != device) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("constraints contradict each other: '{}' pins '{}' to {}, another "
                                "pin to {}",
                                pin.pattern, (*ops.graph)[index_of(op)].name, pin.device,
                                cluster.devices[index_of(ops.pinned[op])].name));
      }
      ops.pinned[op] = device;
    }
  }
  for (const std::string& pattern : cluster.together) {
    ops.together.push_back(selected(*ops.graph, "together", pattern));
  }
  if (cluster.granularity > 0) {
    std::map<std::string_view, std::vector<OpId>> layers;
    for (OpId op = 0; op < ops.num_ops; ++op) {
      const std::string& scope = (*ops.graph)[index_of(op)].scope;
      if (!scope.empty()) {
        layers[outer_scope(scope, cluster.granularity)].push_back(op);
      }
    }
    for (auto& [layer, members] : layers) {
      ops.together.push_back(std::move(members));
    }
  }
}

void OpProblem::compile_devices(Compiled& ops) const {
  const std::vector<Device>& devices = ops.cluster->devices;
  for (DeviceId device = 0; device < num_devices(); ++device) {
    ops.devices_by_name.push_back(device);
    if (devices[device].placeable) {
      ops.placeable.push_back(device);
    }
    if (devices[device].placeable || std::ranges::count(ops.pinned, device) > 0) {
      ops.used.push_back(device);
    }
  }
  std::sort(ops.devices_by_name.begin(), ops.devices_by_name.end(),
            [&](DeviceId a, DeviceId b) { return devices[a].name < devices[b].name; });
  EMPLACE_CHECK(!ops.placeable.empty(), "cluster '{}' has no placeable device", ops.cluster->name);
}

}  // namespace emplace
