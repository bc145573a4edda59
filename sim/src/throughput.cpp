#include "bounds/earliest_starts.hpp"
#include "bounds/precedence.hpp"
#include "bounds/work.hpp"
#include "explanation/step_facts.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/infinity.hpp>
#include <emplace/graphs/repeated_steps.hpp>
#include <emplace/sim/simulator.hpp>
#include <emplace/sim/throughput.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr std::int64_t kMostOps = 1'000'000;
constexpr std::int64_t kMostSteps = 1024;
constexpr double kRounding = 1e-6;  // of a period

// Returns when the last op of each step ends.
std::vector<double> ends_of_steps(const StepRecord& record, std::int64_t count) {
  const std::size_t size = record.end_us.size() / static_cast<std::size_t>(count);
  std::vector<double> ends_us(static_cast<std::size_t>(count), 0.0);
  for (OpId op = 0; op < record.end_us.end_id(); ++op) {
    double& end_us = ends_us[index_of(op) / size];
    end_us = std::max(end_us, record.end_us[op]);
  }
  return ends_us;
}

// Returns the mean of times that repeat, two rounds of them at least; nothing if they do not.
std::optional<double> repeating_mean(std::span<const double> times_us) {
  const double sum_us = std::accumulate(times_us.begin(), times_us.end(), 0.0);
  const double tolerance_us = kRounding * sum_us / static_cast<double>(times_us.size());
  for (std::size_t length = 1; 2 * length <= times_us.size(); ++length) {
    const auto begin = times_us.begin() + static_cast<std::ptrdiff_t>(length);
    if (std::equal(begin, times_us.end(), times_us.begin(),
                   [&](double a, double b) { return std::abs(a - b) <= tolerance_us; })) {
      return std::accumulate(times_us.begin(), begin, 0.0) / static_cast<double>(length);
    }
  }
  return std::nullopt;
}

// Fills in which resource works longest for a step.
void find_fullest(const StepFacts& facts, std::int64_t count, Throughput& result) {
  const Problem& problem = facts.problem();
  const auto offer = [&](double load_us, const std::string& name) {
    load_us /= static_cast<double>(count);
    if (load_us > result.load_us) {
      result.load_us = load_us;
      result.fullest = name;
    }
  };
  IdVector<DeviceId, double> busy_us(index_of(problem.num_devices()), 0.0);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    busy_us[facts.device_of(op)] += facts.free_us(op) - facts.start_us(op);
  }
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    offer(busy_us[device] / problem.slots(device), problem.device(device).name);
  }
  IdVector<std::int32_t, double> moving_us(facts.links().size(), 0.0);
  for (const Transfer& transfer : facts.record().transfers) {
    for (const std::int32_t id : facts.route(transfer)) {
      const Link& link = facts.link(id);
      moving_us[id] +=
          static_cast<double>(problem.output_bytes(transfer.output)) / link.bytes_per_us +
          (facts.has_latency_on_link() ? link.latency_us : 0) + facts.gap_after_transfer_us();
    }
  }
  for (std::int32_t id = 0; id < moving_us.end_id(); ++id) {
    if (facts.link(id).sharing != LinkSharing::kFatpipe) {
      offer(moving_us[id], facts.link(id).name);
    }
  }
}

}  // namespace

std::int64_t steps_in_flight_for(const Problem& step, std::span<const DeviceId> devices) {
  std::int64_t replicas = 1;
  for (OpId op = 0; op < step.num_ops(); ++op) {
    replicas = std::max(replicas, std::int64_t{step.op(op).replica} + 1);
  }
  const std::int64_t parts = replicas * num_micro_batches(step.graph());
  return std::clamp<std::int64_t>((std::ssize(devices) + parts - 1) / parts, 2, kMaxStepsInFlight);
}

Problem repeated(const Problem& step, std::int64_t count, std::int64_t in_flight) {
  auto graph = std::make_shared<const OpGraph>(repeated_steps(step.graph(), count, in_flight));
  std::vector<GroupId> group_of;
  group_of.reserve(boost::num_vertices(*graph));
  for (std::int64_t at = 0; at < count; ++at) {
    for (OpId op = 0; op < step.num_ops(); ++op) {
      group_of.push_back(step.grouping().group_of(op));
    }
  }
  return {std::move(graph), Grouping(std::move(group_of)),
          std::make_shared<const Cluster>(step.cluster())};
}

Throughput measure_throughput(const Problem& step, const Placement& placement,
                              std::int64_t in_flight) {
  for (std::int64_t count = std::max<std::int64_t>(8, 4 * in_flight);; count *= 2) {
    const Problem problem = repeated(step, count, in_flight);
    const StepRecord record = Simulator(problem).record(placement);
    const std::vector<double> ends_us = ends_of_steps(record, count);
    // Without the first steps, which fill the devices, and the last, which leave them idle.
    const auto part = static_cast<std::size_t>(count / 4);
    std::vector<double> times_us;
    for (std::size_t at = part; at < 3 * part; ++at) {
      times_us.push_back(ends_us[at + 1] - ends_us[at]);
    }
    const std::optional<double> period_us = repeating_mean(times_us);
    if (period_us || 2 * count > kMostSteps ||
        2 * count * std::int64_t{step.num_ops()} > kMostOps) {
      Throughput result{.status = record.status, .steps = count, .repeats = period_us.has_value()};
      find_fullest(StepFacts(problem, record), count, result);
      // A mean over some steps may be shorter than the load where they had begun before.
      result.period_us = period_us.value_or(std::max(
          result.load_us, (ends_us[3 * part] - ends_us[part]) / static_cast<double>(2 * part)));
      return result;
    }
  }
}

double period_bound_us(const Problem& step, std::span<const DeviceId> devices,
                       std::int64_t in_flight) {
  EMPLACE_CHECK(!devices.empty(), "no device to place on");
  const std::vector<bounds::DeviceKind> kinds = bounds::kinds_of(step, devices);
  const IdVector<OpId, double> shares_us = bounds::shares_us(step, devices);
  double bound_us = std::accumulate(shares_us.begin(), shares_us.end(), 0.0);
  for (GroupId group = 0; group < step.num_groups(); ++group) {
    double least_us = kInfinity;
    for (const bounds::DeviceKind& kind : kinds) {
      least_us =
          std::min(least_us, step.group_cost_us(group, kind.example) / step.slots(kind.example));
    }
    bound_us = std::max(bound_us, least_us);
  }
  // What begins a step waits for the end of an earlier one; a variable may have its value before.
  const bounds::Precedence ops(step, devices);
  const IdVector<OpId, double> after_us = bounds::longest_paths(ops.reversed());
  double gap_us = 0;  // of the last op, which no other device waits for
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    gap_us = std::max(gap_us, step.gap_us(op));
  }
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    if (ops.before(op).empty() && step.op(op).kind != "variable") {
      bound_us = std::max(
          bound_us, (ops.busy_us(op) + after_us[op] - gap_us) / static_cast<double>(in_flight));
    }
  }
  // Sums are rounded in another order than the simulator's; what that can add is taken off.
  return bound_us * (1 - 16 * std::numeric_limits<double>::epsilon() * step.num_ops());
}

}  // namespace emplace
