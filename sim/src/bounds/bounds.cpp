#include "earliest_starts.hpp"
#include "memory.hpp"
#include "precedence.hpp"
#include "work.hpp"

#include <emplace/base/check.hpp>
#include <emplace/sim/bounds.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace emplace {
namespace {

using bounds::Precedence;

// Returns how many neighbours of an op are looked at in a problem of `num_ops`; 0 for none.
std::size_t window_for(OpId num_ops) {
  constexpr std::array<std::pair<OpId, std::size_t>, 4> kWindows = {
      {{6'000, 128}, {20'000, 64}, {200'000, 32}, {1'000'000, 16}}};
  for (const auto& [most_ops, window] : kWindows) {
    if (num_ops <= most_ops) {
      return window;
    }
  }
  return 0;
}

// Returns the least time of a device on which all ops of some group run, for the worst group:
// within a group nothing leaves.
double one_device_us(const Problem& problem, std::span<const DeviceId> devices,
                     const OpBounds& of_ops) {
  const std::vector<bounds::DeviceKind> kinds = bounds::kinds_of(problem, devices);
  double longest_us = 0;
  std::vector<Job> jobs;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const std::span<const OpId> members = problem.grouping().members(group);
    if (members.size() < 2) {
      continue;
    }
    double least_us = std::numeric_limits<double>::infinity();
    for (const bounds::DeviceKind& kind : kinds) {
      jobs.clear();
      for (const OpId op : members) {
        jobs.push_back({of_ops.start_us[op],
                        problem.busy_us(op, kind.example) / problem.slots(kind.example),
                        of_ops.tail_us[op]});
      }
      least_us = std::min(least_us, one_machine_us(jobs));
    }
    longest_us = std::max(longest_us, least_us);
  }
  return longest_us;
}

OpBounds bounds_of(const Problem& problem, std::span<const DeviceId> devices,
                   const Precedence& ops) {
  OpBounds result{.share_us = bounds::shares_us(problem, devices)};
  const Precedence backwards = ops.reversed();
  if (const std::size_t window = window_for(ops.num_ops()); window > 0) {
    bounds::Machines machines{.count = static_cast<DeviceId>(devices.size())};
    for (const DeviceId device : devices) {
      machines.slots = std::max(machines.slots, static_cast<double>(problem.slots(device)));
    }
    result.start_us = bounds::earliest_starts(ops, machines, window);
    result.tail_us = bounds::earliest_starts(backwards, machines, window);
  } else {
    result.start_us = bounds::longest_paths(ops);
    result.tail_us = bounds::longest_paths(backwards);
  }
  return result;
}

}  // namespace

double LowerBounds::best_us() const {
  return std::max({critical_path_us, total_work_us, stay_or_leave_us, work_in_between_us, memory_us,
                   search_us});
}

LowerBounds::Part LowerBounds::binding_part() const {
  const std::array parts = {critical_path_us,   total_work_us, stay_or_leave_us,
                            work_in_between_us, memory_us,     search_us};
  return static_cast<Part>(std::ranges::max_element(parts) - parts.begin());
}

std::string_view to_string(LowerBounds::Part part) {
  constexpr std::array<std::string_view, 6> kNames = {
      "critical path", "total work", "stay or leave", "work in between", "memory", "search"};
  return kNames[static_cast<std::size_t>(part)];
}

OpBounds op_bounds(const Problem& problem, std::span<const DeviceId> devices) {
  EMPLACE_CHECK(!devices.empty(), "no device to place on");
  const Precedence ops(problem, devices);
  return bounds_of(problem, devices, ops);
}

LowerBounds lower_bounds(const Problem& problem, std::span<const DeviceId> devices) {
  EMPLACE_CHECK(!devices.empty(), "no device to place on");
  const Precedence ops(problem, devices);
  const OpBounds of = bounds_of(problem, devices, ops);
  const IdVector<OpId, double> path_us = bounds::longest_paths(ops);
  LowerBounds result;
  std::vector<Job> jobs;
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    const double busy_us = ops.busy_us(op);
    result.critical_path_us = std::max(result.critical_path_us, path_us[op] + busy_us);
    result.total_work_us += of.share_us[op];
    result.stay_or_leave_us =
        std::max(result.stay_or_leave_us, of.start_us[op] + busy_us + of.tail_us[op]);
    jobs.push_back({of.start_us[op], of.share_us[op], of.tail_us[op]});
  }
  result.work_in_between_us = std::max(one_machine_us(jobs), one_device_us(problem, devices, of));
  const double unit_us = time_unit_us(problem, devices);
  // Sums are rounded in another order than the simulator's; what that can add is taken off.
  const double kept = 1 - 16 * std::numeric_limits<double>::epsilon() * problem.num_ops();
  for (double* const bound_us : {&result.critical_path_us, &result.total_work_us,
                                 &result.stay_or_leave_us, &result.work_in_between_us}) {
    *bound_us = rounded_up_us(*bound_us * kept, unit_us);
  }
  result.memory_us = bounds::memory_bound_us(problem, devices, ops, result.best_us());
  return result;
}

double time_unit_us(const Problem& problem, std::span<const DeviceId> devices) {
  const auto take_time = [&](std::int64_t bytes) {
    return std::ranges::any_of(devices, [&](DeviceId from) {
      return std::ranges::any_of(
          devices, [&](DeviceId to) { return problem.transfer_us(bytes, from, to) > 0; });
    });
  };
  const bool is_placeto = problem.cluster().transfer_model == TransferModel::kPlaceto;
  if ((is_placeto && problem.cluster().placeto.gap_after_transfer_us > 0) || take_time(0) ||
      std::ranges::any_of(devices, [&](DeviceId device) { return problem.slots(device) > 1; })) {
    return 0;
  }
  std::int64_t most_bytes = 0;
  for (OutputId output = 0; output < problem.num_outputs(); ++output) {
    most_bytes = std::max(most_bytes, problem.output_bytes(output));
  }
  if (take_time(most_bytes)) {
    return 0;
  }
  std::int64_t unit_us = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    for (const DeviceId device : devices) {
      const double busy_us = problem.busy_us(op, device);
      const auto whole_us = static_cast<std::int64_t>(busy_us);  // a problem's times add up exactly
      if (problem.host_us(op, device) > 0 || static_cast<double>(whole_us) != busy_us) {
        return 0;
      }
      unit_us = std::gcd(unit_us, whole_us);
    }
  }
  return static_cast<double>(unit_us);
}

double rounded_up_us(double bound_us, double unit_us) {
  return unit_us > 0 ? std::ceil(bound_us / unit_us) * unit_us : bound_us;
}

double gap_to_bound(double makespan_us, double bound_us) {
  return bound_us > 0 ? (makespan_us - bound_us) / bound_us : 0.0;
}

}  // namespace emplace
