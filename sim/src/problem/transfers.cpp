// The parts of a problem that say what moves between devices, and how fast.

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/sim/op_problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace emplace {
namespace {

// Largest sum of microseconds for which doubles still count in whole units.
constexpr double kMaxTransferSum = 9007199254740992.0;

// Returns the channels of the `grappler` model: one for each ordered pair of devices, which
// transfers pass one after the other.
Topology channels_of_pairs(const Cluster& cluster) {
  const auto num_devices = static_cast<DeviceId>(cluster.devices.size());
  std::vector<Link> links;
  for (const Device& from : cluster.devices) {
    for (const Device& to : cluster.devices) {
      if (&from != &to) {
        links.push_back({.name = fmt::format("{}>{}", from.name, to.name),
                         .bytes_per_us = cluster.grappler.bytes_per_us,
                         .sharing = LinkSharing::kFifo});
      }
    }
  }
  Topology topology(num_devices, std::move(links));
  std::int32_t link = 0;
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        topology.set_route(from, to, {link++});
      }
    }
  }
  return topology;
}

void check_routes(const Topology& topology, DeviceId num_devices) {
  EMPLACE_CHECK(topology.num_devices() == num_devices, "routes of {} devices in a cluster of {}",
                topology.num_devices(), num_devices);
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      EMPLACE_CHECK(from == to || !topology.route(from, to).empty(),
                    "no route from device {} to device {}", from, to);
    }
  }
}

}  // namespace

void OpProblem::compile_uses(Compiled& ops) const {
  const OpGraph& graph = *ops.graph;
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const std::size_t producer = boost::source(*edge, graph);
    const std::int32_t output = graph[*edge].output;
    ops.uses.push_back(
        {static_cast<OpId>(producer), static_cast<OpId>(boost::target(*edge, graph)),
         output == Dependency::kControl ? output : ops.output_begin[producer] + output});
  }
  const auto key = [](const Use& use) {
    return std::tuple(use.producer, use.output == Dependency::kControl, use.output, use.consumer);
  };
  std::sort(ops.uses.begin(), ops.uses.end(),
            [&](const Use& a, const Use& b) { return key(a) < key(b); });
  ops.uses.erase(std::unique(ops.uses.begin(), ops.uses.end(),
                             [&](const Use& a, const Use& b) { return key(a) == key(b); }),
                 ops.uses.end());

  const std::size_t n = boost::num_vertices(graph);
  ops.use_begin.assign(n + 1, 0);
  ops.input_begin.assign(n + 1, 0);
  for (const Use& use : ops.uses) {
    ++ops.use_begin[use.producer + 1];
    ++ops.input_begin[use.consumer + 1];
  }
  std::partial_sum(ops.use_begin.begin(), ops.use_begin.end(), ops.use_begin.begin());
  std::partial_sum(ops.input_begin.begin(), ops.input_begin.end(), ops.input_begin.begin());
  ops.inputs.resize(ops.uses.size());
  IdVector<OpId, std::size_t> next(ops.input_begin.begin(), ops.input_begin.end() - 1);
  for (UseId use = 0; use < ops.uses.end_id(); ++use) {
    ops.inputs[next[ops.uses[use].consumer]++] = use;
  }

  if (std::ranges::any_of(ops.order, [&](OpId op) { return graph[index_of(op)].priority > 0; })) {
    for (OpId op = 0; op < ops.num_ops; ++op) {
      ops.priorities.push_back(graph[index_of(op)].priority);
    }
  }

  ops.priority_us.assign(n, 0.0);
  for (auto op = ops.order.rbegin(); op != ops.order.rend(); ++op) {
    double after_us = 0;
    for (auto [use, end] = uses_of(*op); use < end; ++use) {
      after_us = std::max(after_us, ops.priority_us[ops.uses[use].consumer]);
    }
    double least_us = busy_us(*op, 0);
    for (DeviceId device = 1; device < num_devices(); ++device) {
      least_us = std::min(least_us, busy_us(*op, device));
    }
    ops.priority_us[*op] = least_us + after_us;
  }
}

void OpProblem::compile_transfers(Compiled& ops) const {
  if (ops.cluster->transfer_model == TransferModel::kPhysical) {
    ops.topology = ops.cluster->topology;
    check_routes(ops.topology, num_devices());
  } else if (ops.cluster->transfer_model == TransferModel::kGrappler) {
    ops.topology = channels_of_pairs(*ops.cluster);
  }
  double count = 0;
  double slowest_us = 0;
  double bytes_sum = 0;
  for (const std::int64_t bytes : ops.output_bytes) {
    bytes_sum += static_cast<double>(bytes);
  }
  for (const DeviceId from : ops.placeable) {
    for (const DeviceId to : ops.placeable) {
      if (from != to) {
        ++count;
        ops.mean_latency_us += latency_us(from, to);
        ops.mean_us_per_byte += 1 / bytes_per_us(from, to);
      }
    }
  }
  if (count > 0) {
    ops.mean_latency_us /= count;
    ops.mean_us_per_byte /= count;
  }
  for (DeviceId from = 0; from < num_devices(); ++from) {
    for (DeviceId to = 0; to < num_devices(); ++to) {
      if (from != to) {
        slowest_us = std::max(
            slowest_us, latency_us(from, to) * num_outputs() + bytes_sum / bytes_per_us(from, to));
      }
    }
  }
  if (!(slowest_us < kMaxTransferSum)) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("graph '{}': its tensors take {:g} us to send on cluster '{}'; at most {:g} us "
                    "can be simulated exactly",
                    (*ops.graph)[boost::graph_bundle].name, slowest_us, ops.cluster->name,
                    kMaxTransferSum));
  }
}

double OpProblem::bytes_per_us(DeviceId from, DeviceId to) const {
  switch (ops_->cluster->transfer_model) {
    case TransferModel::kPlaceto:
      return ops_->cluster->placeto.bytes_per_us;
    case TransferModel::kGrappler:
      return ops_->cluster->grappler.bytes_per_us;
    case TransferModel::kPhysical:
      return ops_->topology.bytes_per_us(from, to);
  }
  EMPLACE_CHECK(false, "no such transfer model");
}

double OpProblem::latency_us(DeviceId from, DeviceId to) const {
  switch (ops_->cluster->transfer_model) {
    case TransferModel::kPlaceto:
      return 0;
    case TransferModel::kGrappler:
      return ops_->cluster->grappler.latency_us;
    case TransferModel::kPhysical:
      return ops_->topology.latency_us(from, to);
  }
  EMPLACE_CHECK(false, "no such transfer model");
}

double OpProblem::transfer_us(std::int64_t bytes, DeviceId from, DeviceId to) const {
  return from == to ? 0
                    : latency_us(from, to) + static_cast<double>(bytes) / bytes_per_us(from, to);
}

double OpProblem::mean_transfer_us(std::int64_t bytes) const {
  return ops_->cluster->transfer_model == TransferModel::kPlaceto
             ? static_cast<double>(bytes) / ops_->cluster->placeto.bytes_per_us
             : ops_->mean_latency_us + static_cast<double>(bytes) * ops_->mean_us_per_byte;
}

}  // namespace emplace
