#include "support/machines.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace emplace::test {
namespace {

// Sets the route of each ordered pair of devices to `links(from, to)`.
template <class Links>
Topology connect(DeviceId num_devices, std::vector<Link> all, Links links) {
  for (std::size_t at = 0; at < all.size(); ++at) {
    all[at].name = fmt::format("link {}", at);
  }
  Topology topology(num_devices, std::move(all));
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        topology.set_route(from, to, links(from, to));
      }
    }
  }
  return topology;
}

DeviceProfile make_profile(const MachineSketch& sketch, const std::string& device_class) {
  return {.name = device_class,
          .device_class = device_class,
          .peak_flops_per_us = 1,
          .memory_bytes_per_us = 1e12,
          .memory_bytes = sketch.memory_bytes,
          .slots = sketch.slots,
          .launch_us = sketch.launch_us};
}

std::shared_ptr<Cluster> make_devices(DeviceId num_devices, const MachineSketch& sketch) {
  auto cluster = std::make_shared<Cluster>();
  cluster->name = "test";
  cluster->profiles.push_back(make_profile(sketch, "test"));
  for (DeviceId device = 0; device < num_devices; ++device) {
    cluster->devices.push_back({.name = fmt::format("gpu:{}", device)});
  }
  return cluster;
}

class StepMaker {
 public:
  StepMaker(const std::function<std::uint64_t(std::uint64_t)>& below, Coincidences coincidences)
      : below_(below), is_round_(coincidences == Coincidences::kMany) {}

  OpGraph draw_graph(std::uint64_t max_ops) {
    OpGraph graph;
    const std::uint64_t num_ops = 1 + below_(max_ops);
    for (std::uint64_t at = 0; at < num_ops; ++at) {
      Op op;
      op.name = fmt::format("op_{}", at);
      op.kind = is_round_ && below_(4) == 0 ? "no_op" : "test";
      op.measured = {{"test", quantity(10)}, {"slow-test", quantity(20)}};
      for (std::uint64_t left = below_(4); left > 0; --left) {
        op.outputs.push_back({.bytes = bytes()});
      }
      op.persistent_bytes = bytes();
      op.workspace_bytes = bytes();
      boost::add_vertex(std::move(op), graph);
      for (std::uint64_t left = at == 0 ? 0 : below_(4); left > 0; --left) {
        const auto producer = static_cast<OpId>(below_(at));
        const std::size_t num_outputs = graph[static_cast<std::size_t>(producer)].outputs.size();
        add_dependency(graph, producer, static_cast<std::int32_t>(below_(num_outputs + 1)) - 1,
                       static_cast<OpId>(at));
      }
    }
    return graph;
  }

  Topology draw_topology(DeviceId num_devices) {
    switch (below_(4)) {
      case 0:
        return bus(num_devices, draw_link());
      case 1:
        return mesh(num_devices, draw_link());
      case 2:
        return star(num_devices, draw_link(), draw_link());
      default:
        return two_switches(num_devices, draw_link(), draw_link());
    }
  }

  std::shared_ptr<const Cluster> draw_cluster(DeviceId num_devices) {
    const auto draw_sketch = [&] {
      return MachineSketch{.slots = static_cast<std::int32_t>(1 + below_(3)),
                           .launch_us = quantity(5),
                           .memory_bytes = 2000};
    };
    const std::shared_ptr<Cluster> cluster = make_devices(num_devices, draw_sketch());
    cluster->profiles.push_back(make_profile(draw_sketch(), "slow-test"));
    for (Device& device : cluster->devices) {
      device.profile = below_(2);
    }
    cluster->transfer_model = TransferModel::kPhysical;
    cluster->topology = draw_topology(num_devices);
    cluster->queue_order = below_(2) == 0 ? QueueOrder::kFifo : QueueOrder::kCriticalPath;
    return cluster;
  }

 private:
  // Returns 0, 1 or 2 steps, or something between 0 and 2.
  double quantity(double step) {
    return is_round_ ? step * static_cast<double>(below_(3))
                     : step * static_cast<double>(1 + below_(2'000'000)) / 1e6;
  }

  std::int64_t bytes() {
    return static_cast<std::int64_t>(is_round_ ? 120 * below_(3) : 1 + below_(400));
  }

  Link draw_link() {
    const LinkSharing policies[] = {LinkSharing::kFair, LinkSharing::kFifo, LinkSharing::kFatpipe};
    return {.name = {},
            .bytes_per_us = 6 + quantity(6),
            .latency_us = quantity(5),
            .sharing = policies[below_(3)]};
  }

  const std::function<std::uint64_t(std::uint64_t)>& below_;
  const bool is_round_;
};

}  // namespace

Topology bus(DeviceId num_devices, const Link& link) {
  return connect(num_devices, {link},
                 [](DeviceId, DeviceId) { return std::vector<std::int32_t>{0}; });
}

Topology mesh(DeviceId num_devices, const Link& link) {
  const std::vector<Link> all(static_cast<std::size_t>(num_devices * num_devices), link);
  return connect(num_devices, all, [=](DeviceId from, DeviceId to) {
    return std::vector<std::int32_t>{from * num_devices + to};
  });
}

Topology star(DeviceId num_devices, const Link& out, const Link& in) {
  std::vector<Link> all(static_cast<std::size_t>(num_devices), out);
  all.insert(all.end(), static_cast<std::size_t>(num_devices), in);
  return connect(num_devices, all, [=](DeviceId from, DeviceId to) {
    return std::vector<std::int32_t>{from, num_devices + to};
  });
}

Topology two_switches(DeviceId num_devices, const Link& port, const Link& trunk) {
  std::vector<Link> all(2 * static_cast<std::size_t>(num_devices), port);
  all.insert(all.end(), 2, trunk);
  return connect(num_devices, all, [=](DeviceId from, DeviceId to) {
    return from % 2 == to % 2
               ? std::vector<std::int32_t>{from, num_devices + to}
               : std::vector<std::int32_t>{from, 2 * num_devices + from % 2, num_devices + to};
  });
}

void expect_transfer(const StepRecord& record, std::size_t at, OpId producer, DeviceId to,
                     double start_us, double end_us) {
  ASSERT_LT(at, record.transfers.size());
  EXPECT_EQ(record.transfers[at].producer, producer) << "transfer " << at;
  EXPECT_EQ(record.transfers[at].to, to) << "transfer " << at;
  EXPECT_DOUBLE_EQ(record.transfers[at].start_us, start_us) << "transfer " << at;
  EXPECT_DOUBLE_EQ(record.transfers[at].end_us, end_us) << "transfer " << at;
}

void route_the_rest(Topology& topology, DeviceId num_devices) {
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to && topology.route(from, to).empty()) {
        topology.set_route(from, to, {0});
      }
    }
  }
}

std::shared_ptr<const Cluster> make_machine(DeviceId num_devices, Topology topology,
                                            const MachineSketch& sketch) {
  const std::shared_ptr<Cluster> cluster = make_devices(num_devices, sketch);
  cluster->transfer_model = TransferModel::kPhysical;
  cluster->topology = std::move(topology);
  cluster->queue_order = sketch.queue_order;
  cluster->host = sketch.host;
  return cluster;
}

std::shared_ptr<const Cluster> make_grappler(DeviceId num_devices, const GrapplerModel& model) {
  const std::shared_ptr<Cluster> cluster = make_devices(num_devices, {});
  cluster->transfer_model = TransferModel::kGrappler;
  cluster->grappler = model;
  return cluster;
}

Problem make_problem(OpGraph graph, std::shared_ptr<const Cluster> cluster) {
  auto shared = std::make_shared<const OpGraph>(std::move(graph));
  Grouping grouping = ungrouped(*shared);
  return Problem(std::move(shared), std::move(grouping), std::move(cluster));
}

RandomStep draw_step(const std::function<std::uint64_t(std::uint64_t)>& below,
                     Coincidences coincidences, std::uint64_t max_ops) {
  StepMaker maker(below, coincidences);
  const auto num_devices = static_cast<DeviceId>(1 + below(8));
  RandomStep step{.graph = maker.draw_graph(max_ops),
                  .cluster = maker.draw_cluster(num_devices),
                  .placement = {}};
  step.placement = Placement(GroupId(num_ops(step.graph)));
  for (GroupId op = 0; op < step.placement.size(); ++op) {
    step.placement[op] = static_cast<DeviceId>(below(static_cast<std::uint64_t>(num_devices)));
  }
  return step;
}

}  // namespace emplace::test
