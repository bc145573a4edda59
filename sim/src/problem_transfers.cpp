// The parts of a problem that say what moves between devices, and how fast.

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/sim/problem.hpp>

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

void Problem::compile_uses() {
  const OpGraph& graph = *graph_;
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const std::size_t producer = boost::source(*edge, graph);
    const std::int32_t output = graph[*edge].output;
    uses_.push_back({static_cast<OpId>(producer), static_cast<OpId>(boost::target(*edge, graph)),
                     output == Dependency::kControl ? output : output_begin_[producer] + output});
  }
  const auto key = [](const Use& use) {
    return std::tuple(use.producer, use.output == Dependency::kControl, use.output, use.consumer);
  };
  std::sort(uses_.begin(), uses_.end(),
            [&](const Use& a, const Use& b) { return key(a) < key(b); });
  uses_.erase(std::unique(uses_.begin(), uses_.end(),
                          [&](const Use& a, const Use& b) { return key(a) == key(b); }),
              uses_.end());

  const std::size_t n = boost::num_vertices(graph);
  use_begin_.assign(n + 1, 0);
  input_begin_.assign(n + 1, 0);
  for (const Use& use : uses_) {
    ++use_begin_[use.producer + 1];
    ++input_begin_[use.consumer + 1];
  }
  std::partial_sum(use_begin_.begin(), use_begin_.end(), use_begin_.begin());
  std::partial_sum(input_begin_.begin(), input_begin_.end(), input_begin_.begin());
  inputs_.resize(uses_.size());
  IdVector<OpId, std::size_t> next(input_begin_.begin(), input_begin_.end() - 1);
  for (UseId use = 0; use < uses_.end_id(); ++use) {
    inputs_[next[uses_[use].consumer]++] = use;
  }

  priority_us_.assign(n, 0.0);
  for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
    double after_us = 0;
    for (auto [use, end] = uses_of(*op); use < end; ++use) {
      after_us = std::max(after_us, priority_us_[uses_[use].consumer]);
    }
    double least_us = busy_us(*op, 0);
    for (DeviceId device = 1; device < num_devices(); ++device) {
      least_us = std::min(least_us, busy_us(*op, device));
    }
    priority_us_[*op] = least_us + after_us;
  }
}

void Problem::compile_transfers() {
  if (cluster_->transfer_model == TransferModel::kPhysical) {
    topology_ = cluster_->topology;
    check_routes(topology_, num_devices());
  } else if (cluster_->transfer_model == TransferModel::kGrappler) {
    topology_ = channels_of_pairs(*cluster_);
  }
  double count = 0;
  double slowest_us = 0;
  double bytes_sum = 0;
  for (const std::int64_t bytes : output_bytes_) {
    bytes_sum += static_cast<double>(bytes);
  }
  for (const DeviceId from : placeable_) {
    for (const DeviceId to : placeable_) {
      if (from != to) {
        ++count;
        mean_latency_us_ += latency_us(from, to);
        mean_us_per_byte_ += 1 / bytes_per_us(from, to);
      }
    }
  }
  if (count > 0) {
    mean_latency_us_ /= count;
    mean_us_per_byte_ /= count;
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
                    (*graph_)[boost::graph_bundle].name, slowest_us, cluster_->name,
                    kMaxTransferSum));
  }
}

double Problem::bytes_per_us(DeviceId from, DeviceId to) const {
  switch (cluster_->transfer_model) {
    case TransferModel::kPlaceto:
      return cluster_->placeto.bytes_per_us;
    case TransferModel::kGrappler:
      return cluster_->grappler.bytes_per_us;
    case TransferModel::kPhysical:
      return topology_.bytes_per_us(from, to);
  }
  EMPLACE_CHECK(false, "no such transfer model");
}

double Problem::latency_us(DeviceId from, DeviceId to) const {
  switch (cluster_->transfer_model) {
    case TransferModel::kPlaceto:
      return 0;
    case TransferModel::kGrappler:
      return cluster_->grappler.latency_us;
    case TransferModel::kPhysical:
      return topology_.latency_us(from, to);
  }
  EMPLACE_CHECK(false, "no such transfer model");
}

double Problem::transfer_us(std::int64_t bytes, DeviceId from, DeviceId to) const {
  return from == to ? 0
                    : latency_us(from, to) + static_cast<double>(bytes) / bytes_per_us(from, to);
}

double Problem::mean_transfer_us(std::int64_t bytes) const {
  return cluster_->transfer_model == TransferModel::kPlaceto
             ? static_cast<double>(bytes) / cluster_->placeto.bytes_per_us
             : mean_latency_us_ + static_cast<double>(bytes) * mean_us_per_byte_;
}

}  // namespace emplace
