#include "random_problem.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace emplace::micro {
namespace {

constexpr std::uint64_t kMaxInputs = 3;
constexpr std::uint64_t kMaxCostUs = 2000;
constexpr std::uint64_t kMaxBytes = 4'000'000;
constexpr double kBytesPerUs = 7600;
constexpr double kLatencyUs = 5;

}  // namespace

Problem random_problem(OpId ops, DeviceId devices, LinkSharing sharing, std::uint64_t window) {
  const Problem placeto = random_problem(ops, devices, window);
  auto cluster = std::make_shared<Cluster>(placeto.cluster());
  std::vector<Link> links;
  for (DeviceId device = 0; device < devices; ++device) {
    for (const char* direction : {"up", "down"}) {
      links.push_back({.name = fmt::format("{} {}", direction, device),
                       .bytes_per_us = kBytesPerUs,
                       .latency_us = kLatencyUs,
                       .sharing = sharing});
    }
  }
  cluster->transfer_model = TransferModel::kPhysical;
  cluster->topology = Topology(devices, std::move(links));
  for (DeviceId from = 0; from < devices; ++from) {
    for (DeviceId to = 0; to < devices; ++to) {
      if (from != to) {
        cluster->topology.set_route(from, to, {2 * from, 2 * to + 1});
      }
    }
  }
  auto graph = std::make_shared<const OpGraph>(placeto.graph());
  return Problem(std::move(graph), ungrouped(placeto.graph()), std::move(cluster));
}

Problem random_problem(OpId ops, DeviceId devices, std::uint64_t window) {
  RandomStream random(static_cast<std::uint64_t>(ops));
  auto graph = std::make_shared<OpGraph>();
  for (OpId op = 0; op < ops; ++op) {
    const auto cost_us = static_cast<double>(1 + random.below(kMaxCostUs));
    const auto bytes = static_cast<std::int64_t>(random.below(kMaxBytes));
    boost::add_vertex(Op{.name = fmt::format("op_{:06}", op),
                         .kind = "op",
                         .outputs = {{.bytes = bytes}},
                         .measured = {{"micro", cost_us}}},
                      *graph);
    const auto near = std::min<std::uint64_t>(static_cast<std::uint64_t>(op), window);
    const std::uint64_t inputs = near == 0 ? 0 : 1 + random.below(kMaxInputs);
    for (std::uint64_t input = 0; input < inputs; ++input) {
      add_dependency(*graph, op - 1 - static_cast<OpId>(random.below(near)), 0, op);
    }
  }
  auto cluster = std::make_shared<Cluster>();
  cluster->profiles.push_back({.name = "micro",
                               .device_class = "micro",
                               .peak_flops_per_us = 1,
                               .memory_bytes_per_us = 1,
                               .memory_bytes = std::numeric_limits<std::int64_t>::max()});
  for (DeviceId device = 0; device < devices; ++device) {
    cluster->devices.push_back({.name = fmt::format("gpu:{}", device)});
  }
  Grouping grouping = ungrouped(*graph);
  return Problem(std::move(graph), std::move(grouping), std::move(cluster));
}

Placement random_placement(const Problem& problem, std::uint64_t seed) {
  RandomStream random(seed);
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] =
        static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(problem.num_devices())));
  }
  return placement;
}

}  // namespace emplace::micro
