#include "parts.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace {
namespace {

struct Interval {
  double from_us;
  double to_us;
};

// Returns the moments that lie in any of `intervals`, as intervals apart from each other.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.from_us < b.from_us; });
  std::vector<Interval> apart;
  for (const Interval& next : intervals) {
    if (!apart.empty() && next.from_us <= apart.back().to_us) {
      apart.back().to_us = std::max(apart.back().to_us, next.to_us);
    } else {
      apart.push_back(next);
    }
  }
  return apart;
}

// Returns how long `intervals` last outside of `others`. Requires: both are united.
double length_outside_us(const std::vector<Interval>& intervals,
                         const std::vector<Interval>& others) {
  double sum_us = 0;
  auto other = others.begin();
  for (const Interval& interval : intervals) {
    double from_us = interval.from_us;
    while (other != others.end() && other->to_us <= from_us) {
      ++other;
    }
    for (auto hiding = other; hiding != others.end() && hiding->from_us < interval.to_us;
         ++hiding) {
      sum_us += std::max(0.0, hiding->from_us - from_us);
      from_us = std::max(from_us, hiding->to_us);
    }
    sum_us += std::max(0.0, interval.to_us - from_us);
  }
  return sum_us;
}

// Counts as at once what passes at one moment, too, though it may come one after the other.
std::int32_t most_at_once(const std::vector<Interval>& intervals,
                          const std::vector<double>& passing_us) {
  enum class Phase : std::uint8_t { kEnd, kBegin, kPassed };
  struct Change {
    double at_us;
    Phase phase;
    std::int32_t by;
  };
  std::vector<Change> changes;
  for (const Interval& interval : intervals) {
    changes.push_back({interval.from_us, Phase::kBegin, 1});
    changes.push_back({interval.to_us, Phase::kEnd, -1});
  }
  for (const double at_us : passing_us) {
    changes.push_back({at_us, Phase::kBegin, 1});
    changes.push_back({at_us, Phase::kPassed, -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at_us, a.phase) < std::tie(b.at_us, b.phase);
  });
  std::int32_t now = 0;
  std::int32_t most = 0;
  for (const Change& change : changes) {
    now += change.by;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

void add_loads(const StepFacts& facts, Explanation& explanation) {
  const Problem& problem = facts.problem();
  const StepRecord& record = facts.record();
  const DeviceId num_devices = problem.num_devices();
  explanation.devices.resize(num_devices);

  // A device that rests after an op could not run another, so it counts as running.
  IdVector<DeviceId, std::vector<Interval>> running(num_devices);
  IdVector<DeviceId, std::vector<double>> passing_us(num_devices);  // ops that take no time
  std::vector<Interval> any_running;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const DeviceId device = facts.device_of(op);
    DeviceLoad& load = explanation.devices[device];
    load.busy_us += record.end_us[op] - facts.start_us(op);
    ++load.ops;
    if (facts.free_us(op) > facts.start_us(op)) {
      running[device].push_back({facts.start_us(op), facts.free_us(op)});
      any_running.push_back(running[device].back());
    } else {
      passing_us[device].push_back(facts.start_us(op));
    }
  }

  for (const Link& link : facts.links()) {
    explanation.links.push_back({.name = link.name});
  }
  IdVector<std::int32_t, std::vector<Interval>> moving(explanation.links.size());
  IdVector<DeviceId, std::vector<Interval>> coming(num_devices);
  std::vector<Interval> any_coming;
  for (const Transfer& transfer : record.transfers) {
    const std::int64_t bytes = problem.output_bytes(transfer.output);
    for (const std::int32_t id : facts.route(transfer)) {
      LinkLoad& load = explanation.links[id];
      ++load.transfers;
      load.bytes += bytes;
      if (facts.link(id).sharing == LinkSharing::kFatpipe) {
        moving[id].push_back({facts.asks_us(transfer), transfer.end_us});
      } else {
        load.utilization += static_cast<double>(bytes) / facts.link(id).bytes_per_us;
      }
    }
    const Interval on_its_way{transfer.wanted_us, transfer.end_us};
    any_coming.push_back(on_its_way);
    for (auto [use, end] = problem.uses_of(transfer.producer); use < end; ++use) {
      const DeviceId device = facts.device_of(problem.uses()[use].consumer);
      if (device != transfer.from && (transfer.to == device || transfer.to == Transfer::kToAll)) {
        coming[device].push_back(on_its_way);
      }
    }
  }

  const double makespan_us = record.makespan_us;
  for (std::int32_t id = 0; id < explanation.links.end_id(); ++id) {
    LinkLoad& load = explanation.links[id];
    load.utilization += length_outside_us(united(std::move(moving[id])), {});
    load.utilization = makespan_us > 0 ? load.utilization / makespan_us : 0;
  }
  for (DeviceId device = 0; device < num_devices; ++device) {
    DeviceLoad& load = explanation.devices[device];
    const double slots_us = makespan_us * problem.slots(device);
    load.utilization = slots_us > 0 ? load.busy_us / slots_us : 0;
    load.most_at_once =
        std::min(most_at_once(running[device], passing_us[device]), problem.slots(device));
    load.transfer_wait_us =
        length_outside_us(united(std::move(coming[device])), united(std::move(running[device])));
  }
  explanation.exposed_us =
      length_outside_us(united(std::move(any_coming)), united(std::move(any_running)));
}

}  // namespace emplace
