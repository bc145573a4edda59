// What must be true of every step in the `physical` model, checked on random ones.

#include "support/properties.hpp"

#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace emplace::physical_properties_test {
namespace {

using test::below;
using test::Coincidences;
using test::draw_any_step;
using test::expect_always;
using test::RandomStep;
using test::Trial;

double bytes_of(const Trial& run, const Transfer& transfer) {
  return static_cast<double>(run.problem.output_bytes(transfer.output));
}

// Returns when the latency of a transfer was over.
double entered_us(const Trial& run, const Transfer& transfer) {
  return transfer.start_us + run.problem.topology().latency_us(transfer.from, transfer.to);
}

// Sums of the same numbers in another order differ by rounding, and moments by an instant.
bool at_most(double a, double b) { return a <= b + 1e-5 + 1e-9 * b; }
bool is_near(double a, double b) { return at_most(a, b) && at_most(b, a); }

TEST(PhysicalProperties, ADeviceNeverRunsMoreOpsThanItHasSlots) {
  expect_always([] {
    const Trial run(draw_any_step());
    for (OpId op = 0; op < run.problem.num_ops(); ++op) {
      const double now_us = run.record.start_us[op];
      const DeviceId device = run.device_of(op);
      int num_running = 0;
      for (OpId other = 0; other < run.problem.num_ops(); ++other) {
        num_running += run.device_of(other) == device && run.record.start_us[other] <= now_us &&
                       now_us < run.record.end_us[other];
      }
      RC_ASSERT(num_running <= run.problem.slots(device));
    }
  });
}

// Returns when the last input of `op` was on its device.
double ready_us(const Trial& run, OpId op) {
  double last_us = 0;
  for (const std::int32_t input : run.problem.inputs(op)) {
    const Problem::Use& use = run.problem.uses()[input];
    double there_us = run.record.end_us[use.producer];
    for (const Transfer& transfer : run.record.transfers) {
      if (transfer.output == use.output && transfer.to == run.device_of(op)) {
        there_us = transfer.end_us;
      }
    }
    last_us = std::max(last_us, there_us);
  }
  return last_us;
}

TEST(PhysicalProperties, AnOpStartsWhenItsInputsAreThereAndTakesItsTime) {
  expect_always([] {
    const Trial run(draw_any_step());
    for (OpId op = 0; op < run.problem.num_ops(); ++op) {
      const double start_us = run.record.start_us[op];
      RC_ASSERT(ready_us(run, op) <= start_us);
      RC_ASSERT(run.record.end_us[op] == start_us + run.problem.busy_us(op, run.device_of(op)));
    }
  });
}

TEST(PhysicalProperties, NoSlotIsIdleWhileAnOpIsReady) {
  expect_always([] {
    const Trial run(test::draw_step(below, Coincidences::kNone, 60));
    for (OpId op = 0; op < run.problem.num_ops(); ++op) {
      const DeviceId device = run.device_of(op);
      const double from_us = ready_us(run, op);
      const double until_us = run.record.start_us[op];
      double busy_us = 0;
      for (OpId other = 0; other < run.problem.num_ops(); ++other) {
        if (run.device_of(other) == device) {
          busy_us += std::max(0.0, std::min(run.record.end_us[other], until_us) -
                                       std::max(run.record.start_us[other], from_us));
        }
      }
      RC_ASSERT(is_near(busy_us, (until_us - from_us) * run.problem.slots(device)));
    }
  });
}

TEST(PhysicalProperties, EachOutputIsSentOnceToEachDeviceThatWantsItAndArrivesWhole) {
  expect_always([] {
    const Trial run(draw_any_step());
    std::set<std::pair<std::int32_t, DeviceId>> wanted;
    for (const Problem::Use& use : run.problem.uses()) {
      if (use.output != Dependency::kControl &&
          run.device_of(use.producer) != run.device_of(use.consumer)) {
        wanted.insert({use.output, run.device_of(use.consumer)});
      }
    }
    std::set<std::pair<std::int32_t, DeviceId>> sent;
    double bytes_sent = 0;
    for (const Transfer& transfer : run.record.transfers) {
      RC_ASSERT(sent.insert({transfer.output, transfer.to}).second);
      RC_ASSERT(transfer.from == run.device_of(transfer.producer));
      RC_ASSERT(is_near(transfer.start_us, run.record.end_us[transfer.producer]));
      bytes_sent += bytes_of(run, transfer);
    }
    RC_ASSERT(sent == wanted);
    double bytes_received = 0;
    for (const Allocation& allocation : run.record.allocations) {
      if (allocation.kind == Allocation::Kind::kCopy) {
        bytes_received += static_cast<double>(allocation.bytes);
      }
    }
    RC_ASSERT(bytes_sent == bytes_received);
  });
}

// Whatever travels wholly between two moments must fit through each of its links between them.
TEST(PhysicalProperties, NoLinkCarriesMoreThanItsBandwidth) {
  expect_always([] {
    const Trial run(draw_any_step());
    const auto& links = run.problem.topology().links();
    std::vector<std::vector<const Transfer*>> taking(links.size());
    for (const Transfer& transfer : run.record.transfers) {
      for (const std::int32_t id : run.problem.topology().route(transfer.from, transfer.to)) {
        const double alone_us = bytes_of(run, transfer) / links[id].bytes_per_us;
        RC_ASSERT(at_most(alone_us, transfer.end_us - entered_us(run, transfer)));
        if (links[id].sharing != LinkSharing::kFatpipe) {
          taking[id].push_back(&transfer);
        }
      }
    }
    for (std::size_t id = 0; id < links.size(); ++id) {
      for (const Transfer* first : taking[id]) {
        for (const Transfer* last : taking[id]) {
          double bytes = 0;
          for (const Transfer* each : taking[id]) {
            if (entered_us(run, *each) >= entered_us(run, *first) && each->end_us <= last->end_us) {
              bytes += bytes_of(run, *each);
            }
          }
          const double time_us = std::max(0.0, last->end_us - entered_us(run, *first));
          RC_ASSERT(at_most(bytes / links[id].bytes_per_us, time_us));
        }
      }
    }
  });
}

// At every moment an op runs, or a latency passes, or some link carries all it can.
TEST(PhysicalProperties, AStepTakesAtLeastItsBoundsAndAtMostAllThingsOneAfterTheOther) {
  expect_always([] {
    const Trial run(draw_any_step());
    LowerBounds bounds = lower_bounds(run.problem);
    if (run.record.status == StepStatus::kOutOfMemory) {
      bounds.memory_us = 0;  // holds for steps that fit
    }
    RC_ASSERT(bounds.best_us() <= run.record.makespan_us);
    double serial_us = 0;
    for (OpId op = 0; op < run.problem.num_ops(); ++op) {
      serial_us += run.problem.busy_us(op, run.device_of(op));
    }
    for (const Transfer& transfer : run.record.transfers) {
      serial_us += run.problem.transfer_us(run.problem.output_bytes(transfer.output), transfer.from,
                                           transfer.to);
    }
    RC_ASSERT(at_most(run.record.makespan_us, serial_us));
  });
}

TEST(PhysicalProperties, ADeviceWithOneSlotAloneTakesTheSumOfItsOps) {
  expect_always([] {
    RandomStep step = draw_any_step();
    auto cluster = std::make_shared<Cluster>(*step.cluster);
    for (DeviceProfile& profile : cluster->profiles) {
      profile.slots = 1;
    }
    step.cluster = std::move(cluster);
    step.placement = Placement(step.placement.size(), 0);
    const Trial run(std::move(step));
    double sum_us = 0;
    for (OpId op = 0; op < run.problem.num_ops(); ++op) {
      sum_us += run.problem.launch_us(op, 0) + run.problem.cost_us(op, 0);
    }
    RC_ASSERT(is_near(run.record.makespan_us, sum_us));
    RC_ASSERT(run.record.transfers.empty());
  });
}

// Returns a random order of 0 to count - 1.
template <typename Id>
std::vector<Id> draw_order(Id count) {
  std::vector<Id> order(index_of(count));
  std::iota(order.begin(), order.end(), Id(0));
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[below(left)]);
  }
  return order;
}

// Returns the same step with op `i` called `ops[i]`, and device `i` `devices[i]`.
RandomStep relabel(const RandomStep& step, const std::vector<OpId>& ops,
                   const std::vector<DeviceId>& devices) {
  OpGraph graph(ops.size());
  for (std::size_t op = 0; op < ops.size(); ++op) {
    graph[ops[op]] = step.graph[op];
  }
  for (auto [edge, end] = boost::edges(step.graph); edge != end; ++edge) {
    add_dependency(graph, ops[boost::source(*edge, step.graph)], step.graph[*edge].output,
                   ops[boost::target(*edge, step.graph)]);
  }
  auto cluster = std::make_shared<Cluster>(*step.cluster);
  const auto num_devices = static_cast<DeviceId>(devices.size());
  for (DeviceId from = 0; from < num_devices; ++from) {
    cluster->devices[devices[from]] = step.cluster->devices[from];
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        const auto route = step.cluster->topology.route(from, to);
        cluster->topology.set_route(devices[from], devices[to], {route.begin(), route.end()});
      }
    }
  }
  Placement placement(step.placement.size());
  for (std::size_t op = 0; op < ops.size(); ++op) {
    placement[GroupId(ops[op])] = devices[step.placement[static_cast<GroupId>(op)]];
  }
  return {std::move(graph), std::move(cluster), std::move(placement)};
}

// Replaces the links of a cluster; its routes stay.
void replace_links(Cluster& cluster, std::vector<Link> links) {
  const auto num_devices = static_cast<DeviceId>(cluster.devices.size());
  Topology topology(num_devices, std::move(links));
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        const auto route = cluster.topology.route(from, to);
        topology.set_route(from, to, {route.begin(), route.end()});
      }
    }
  }
  cluster.topology = std::move(topology);
}

// Ids break ties, so there must be none: what becomes ready together differs in its path to the
// end, and no link has a queue.
TEST(PhysicalProperties, NamesAndNumbersOfOpsAndDevicesDoNotMatter) {
  expect_always([] {
    RandomStep step = test::draw_step(below, Coincidences::kNone, 60);
    auto cluster = std::make_shared<Cluster>(*step.cluster);
    cluster->queue_order = QueueOrder::kCriticalPath;
    std::vector<Link> links = cluster->topology.links();
    for (Link& link : links) {
      link.sharing = link.sharing == LinkSharing::kFifo ? LinkSharing::kFair : link.sharing;
    }
    replace_links(*cluster, std::move(links));
    step.cluster = std::move(cluster);

    const std::vector<OpId> ops = draw_order(num_ops(step.graph));
    const std::vector<DeviceId> devices =
        draw_order(static_cast<DeviceId>(step.cluster->devices.size()));
    const Trial other(relabel(step, ops, devices));
    const Trial one(std::move(step));
    for (std::size_t op = 0; op < ops.size(); ++op) {
      RC_ASSERT(is_near(one.record.start_us[op], other.record.start_us[ops[op]]));
      RC_ASSERT(is_near(one.record.end_us[op], other.record.end_us[ops[op]]));
    }
    for (std::size_t device = 0; device < devices.size(); ++device) {
      RC_ASSERT(one.record.peak_bytes[device] == other.record.peak_bytes[devices[device]]);
    }
  });
}

TEST(PhysicalProperties, TimesScaleWithTheUnitOfTime) {
  expect_always([] {
    RandomStep step = draw_any_step();
    RandomStep slow = step;
    auto cluster = std::make_shared<Cluster>(*step.cluster);
    for (DeviceProfile& profile : cluster->profiles) {
      profile.launch_us *= 2;
    }
    std::vector<Link> links = cluster->topology.links();
    for (Link& link : links) {
      link.latency_us *= 2;
      link.bytes_per_us /= 2;
    }
    replace_links(*cluster, std::move(links));
    slow.cluster = std::move(cluster);
    for (auto [op, end] = boost::vertices(slow.graph); op != end; ++op) {
      for (MeasuredCost& measured : slow.graph[*op].measured) {
        measured.cost_us *= 2;
      }
    }
    const Trial fast_run(std::move(step));
    const Trial slow_run(std::move(slow));
    for (std::size_t op = 0; op < fast_run.record.end_us.size(); ++op) {
      RC_ASSERT(2 * fast_run.record.end_us[op] == slow_run.record.end_us[op]);
    }
  });
}

TEST(PhysicalProperties, AFasterLinkNeverSlowsATransferThatIsAlone) {
  expect_always([] {
    const auto bytes = static_cast<std::int64_t>(below(100'000));
    const double latency_us = static_cast<double>(below(10));
    const auto arrival_us = [&](double bytes_per_us) {
      const Problem problem = test::make_problem(
          test::chain_graph({1, 1}, bytes),
          test::make_machine(
              2, test::bus(2, {.bytes_per_us = bytes_per_us, .latency_us = latency_us})));
      return Simulator(problem).record(Placement(std::vector<DeviceId>{0, 1})).start_us[1];
    };
    const double slow = static_cast<double>(1 + below(1000));
    const double fast = slow + static_cast<double>(below(1000));
    RC_ASSERT(arrival_us(fast) <= arrival_us(slow));
    RC_ASSERT(is_near(arrival_us(slow), 1 + latency_us + static_cast<double>(bytes) / slow));
  });
}

TEST(PhysicalProperties, RunsHaveTheSameBitsWhateverRanBefore) {
  expect_always([] {
    const Trial run(draw_any_step());
    Simulator used(run.problem);
    for (int round = 0; round < 3; ++round) {
      used.run(test::draw_placement(run.problem));
    }
    for (int round = 0; round < 2; ++round) {
      const StepRecord again = used.record(run.step.placement);
      RC_ASSERT(again.makespan_us == run.record.makespan_us);
      RC_ASSERT(again.start_us == run.record.start_us);
      RC_ASSERT(again.end_us == run.record.end_us);
      RC_ASSERT(again.peak_bytes == run.record.peak_bytes);
      RC_ASSERT(again.transfers.size() == run.record.transfers.size());
      for (std::size_t at = 0; at < again.transfers.size(); ++at) {
        RC_ASSERT(again.transfers[at].end_us == run.record.transfers[at].end_us);
      }
    }
  });
}

}  // namespace
}  // namespace emplace::physical_properties_test
