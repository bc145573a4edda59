// Does the engine do what the rules in docs/concepts/simulation.md say? Here they are once more, to
// the letter: a heap of events (time, kind, who), queues by (time, counter), nothing left out and
// nothing clever. The graphs are full of what makes ties: equal costs, costs of nothing, outputs
// without bytes, odd names.

#include <emplace/base/random.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::rules_test {
namespace {

using bench::read_case;
using bench::SimulationCase;

class RuleBook {
 public:
  RuleBook(const Problem& problem, const Placement& placement)
      : problem_(problem), placement_(placement), start_us(count()), end_us(count()) {
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      waiting_.push_back(problem.num_parents(op));
      if (waiting_.back() == 0) {
        make_ready(op, 0);
      }
    }
    while (!events_.empty()) {
      const auto [now_us, kind, who, other, id] = *events_.begin();
      events_.erase(events_.begin());
      makespan_us = std::max(makespan_us, now_us);
      if (kind == kRemoveDependency) {
        if (--waiting_[id] == 0) {
          make_ready(id, now_us);
        }
      } else if (kind == kRunChannel) {
        run_channel(id, now_us);
      } else {
        run_device(id, now_us);
      }
    }
  }

 private:
  enum Kind { kRemoveDependency, kRunChannel, kRunDevice };

  std::size_t count() const { return static_cast<std::size_t>(problem_.num_ops()); }
  const std::string& name(OpId op) const { return problem_.op(op).name; }
  const std::string& device_name(DeviceId device) const { return problem_.device(device).name; }

  // Of the graph, then of the placement.
  std::pair<std::int32_t, Priority> priority_of(OpId op) const {
    return {problem_.op(op).priority,
            placement_.has_priorities() ? placement_.priorities()[GroupId(op)] : 0};
  }

  void make_ready(OpId op, double now_us) {
    const DeviceId device = placement_[GroupId(op)];
    ready_[device].insert({now_us, ++counter_, op});
    if (device_pending_.insert(device).second) {
      events_.insert({now_us, kRunDevice, device_name(device), "", device});
    }
  }

  void run_device(DeviceId device, double now_us) {
    if (ready_[device].empty()) {
      device_pending_.erase(device);
      return;
    }
    // The first of the highest priority, if there are priorities; min_element takes the first.
    const auto first = std::min_element(
        ready_[device].begin(), ready_[device].end(), [&](const auto& one, const auto& other) {
          return priority_of(std::get<2>(one)) > priority_of(std::get<2>(other));
        });
    const OpId op = std::get<2>(*first);
    ready_[device].erase(first);
    const double end = now_us + problem_.cost_us(op, device);
    start_us[op] = now_us;
    end_us[op] = end;
    events_.insert({end + problem_.gap_us(op), kRunDevice, device_name(device), "", device});
    std::vector<std::int32_t> wanted;
    for (const Problem::Child& child : problem_.children(op)) {
      if (placement_[GroupId(child.op)] == device) {
        events_.insert({end, kRemoveDependency, name(op), name(child.op), child.op});
      } else if (std::find(wanted.begin(), wanted.end(), child.output) == wanted.end()) {
        wanted.push_back(child.output);
      }
    }
    for (const std::int32_t output : wanted) {
      to_send_[device].insert({end, ++counter_, op, output});
      if (channel_pending_.insert(device).second) {
        events_.insert({end, kRunChannel, device_name(device), "", device});
      }
    }
  }

  void run_channel(DeviceId device, double now_us) {
    if (to_send_[device].empty()) {
      channel_pending_.erase(device);
      return;
    }
    const auto [ready_us, order, op, output] = *to_send_[device].begin();
    if (ready_us > now_us) {
      events_.insert({ready_us, kRunChannel, device_name(device), "", device});
      return;
    }
    to_send_[device].erase(to_send_[device].begin());
    const PlacetoModel& model = problem_.cluster().placeto;
    const double done =
        now_us + static_cast<double>(problem_.output_bytes(output)) / model.bytes_per_us;
    for (const Problem::Child& child : problem_.children(op)) {
      if (placement_[GroupId(child.op)] != device && child.output == output) {
        events_.insert({done, kRemoveDependency, name(op), name(child.op), child.op});
      }
    }
    events_.insert(
        {done + model.gap_after_transfer_us, kRunChannel, device_name(device), "", device});
  }

  const Problem& problem_;
  const Placement& placement_;
  std::set<std::tuple<double, Kind, std::string, std::string, std::int32_t>> events_;
  std::map<DeviceId, std::set<std::tuple<double, int, OpId>>> ready_;
  std::map<DeviceId, std::set<std::tuple<double, int, OpId, std::int32_t>>> to_send_;
  std::set<DeviceId> device_pending_;
  std::set<DeviceId> channel_pending_;
  IdVector<OpId, std::int32_t> waiting_;
  int counter_ = 0;

 public:
  IdVector<OpId, double> start_us;
  IdVector<OpId, double> end_us;
  double makespan_us = 0;
};

// A case full of coincidences; `kind` picks how costs and bytes are drawn.
SimulationCase random_case(RandomStream& random, int kind) {
  const auto num_ops = static_cast<int>(2 + random.below(60));
  const auto num_devices = static_cast<int>(1 + random.below(12));
  std::vector<std::string> nodes;
  std::vector<std::string> edges;
  for (int op = 0; op < num_ops; ++op) {
    const std::string cost = kind == 0   ? "0"
                             : kind == 1 ? (random.below(2) == 0 ? "0" : "10")
                             : kind == 2 ? fmt::format("{}", 10 * random.below(3))
                                         : fmt::format("{}.0", random.below(1000));
    std::vector<std::uint64_t> outputs;
    for (std::uint64_t left = 1 + random.below(kind == 3 ? 1 : 3); left > 0; --left) {
      outputs.push_back(kind == 0 ? 0 : random.below(2) * 7600 * random.below(60));
    }
    // Names in another order than the ops.
    nodes.push_back(fmt::format(R"({{"id":{},"name":"{}","cost_us":{},"outputs":[{}]}})", op,
                                (op * 37) % 61, cost, fmt::join(outputs, ",")));
    for (std::uint64_t left = op == 0 ? 0 : random.below(4); left > 0; --left) {
      edges.push_back(fmt::format("[{},{},{}]", random.below(static_cast<std::uint64_t>(op)),
                                  static_cast<int>(random.below(4)) - 1, op));
    }
  }
  std::vector<std::string> placements;
  for (int i = 0; i < 3; ++i) {
    std::vector<std::uint64_t> devices;
    for (int op = 0; op < num_ops; ++op) {
      devices.push_back(random.below(static_cast<std::uint64_t>(num_devices)));
    }
    placements.push_back(fmt::format("[{}]", fmt::join(devices, ",")));
  }
  return read_case(fmt::format(R"({{"name":"random","devices":{},"nodes":[{}],"edges":[{}],)"
                               R"("placements":[{}]}})",
                               num_devices, fmt::join(nodes, ","), fmt::join(edges, ","),
                               fmt::join(placements, ",")),
                   "random");
}

// Few different priorities, so that many are equal.
Placement with_priorities(Placement placement, RandomStream& random) {
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < placement.size(); ++group) {
    priorities.push_back(static_cast<Priority>(random.below(6)) - 3);
  }
  placement.set_priorities(std::move(priorities));
  return placement;
}

class Rules : public ::testing::TestWithParam<int> {};

TEST_P(Rules, AreFollowedToTheLastTie) {
  RandomStream random(static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < 500; ++round) {
    const SimulationCase simulation_case = random_case(random, GetParam());
    Simulator simulator(simulation_case.problem);
    std::vector<Placement> placements = simulation_case.placements;
    // Between placements without priorities, and after them, so that runs of both kinds alternate.
    placements.insert(placements.begin() + 1, with_priorities(placements[0], random));
    placements.push_back(with_priorities(placements[0], random));
    placements.push_back(placements[0]);
    for (const Placement& placement : placements) {
      const RuleBook expected(simulation_case.problem, placement);
      const SimResult& result = simulator.run(placement);
      ASSERT_EQ(result.makespan_us, expected.makespan_us) << "round " << round;
      for (std::size_t op = 0; op < expected.start_us.size(); ++op) {
        ASSERT_EQ(result.start_us[op], expected.start_us[op]) << "round " << round << " op " << op;
        ASSERT_EQ(result.end_us[op], expected.end_us[op]) << "round " << round << " op " << op;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CostsAllZeroOrTenOrFewOrMany, Rules, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace emplace::rules_test
