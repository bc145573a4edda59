#include <emplace/sim/memory_curve.hpp>

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

struct Change {
  double at_us;
  bool comes_second;  // of the changes of one instant
  std::int64_t bytes;
};

bool frees_first(const Problem& problem) {
  return problem.cluster().transfer_model != TransferModel::kPlaceto;
}

// Returns the bytes that are taken for the whole step, by device.
IdVector<DeviceId, std::int64_t> persistent_bytes(const Problem& problem,
                                                  const StepRecord& record) {
  IdVector<DeviceId, std::int64_t> sums(problem.num_devices());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    sums[record.placement[group]] += problem.group_persistent_bytes(group);
  }
  return sums;
}

// Adds when `allocation` is taken and freed.
void add_changes(const Allocation& allocation, const StepRecord& record, bool is_freed_first,
                 std::vector<Change>& changes) {
  // Where frees come first, what is taken and freed at once takes nothing.
  const bool is_moot = is_freed_first && allocation.from_us == allocation.until_us;
  if (allocation.bytes > 0 && !is_moot) {
    changes.push_back({allocation.from_us, is_freed_first, allocation.bytes});
    if (allocation.until_us <= record.makespan_us) {
      changes.push_back({allocation.until_us, !is_freed_first, -allocation.bytes});
    }
  }
}

std::vector<MemoryPoint> curve_of(std::vector<Change> changes, std::int64_t persistent_bytes) {
  const auto key = [](const Change& change) {
    return std::pair(change.at_us, change.comes_second);
  };
  std::sort(changes.begin(), changes.end(),
            [&](const Change& a, const Change& b) { return key(a) < key(b); });
  std::vector<MemoryPoint> curve{{0, persistent_bytes}};
  for (std::size_t at = 0; at < changes.size(); ++at) {
    if (at == 0 || key(changes[at]) != key(changes[at - 1])) {
      curve.push_back({changes[at].at_us, curve.back().bytes});
    }
    curve.back().bytes += changes[at].bytes;
  }
  return curve;
}

}  // namespace

std::vector<MemoryPoint> memory_curve(const Problem& problem, const StepRecord& record,
                                      DeviceId device) {
  std::vector<Change> changes;
  for (const Allocation& allocation : record.allocations) {
    if (allocation.device == device) {
      add_changes(allocation, record, frees_first(problem), changes);
    }
  }
  return curve_of(std::move(changes), persistent_bytes(problem, record)[device]);
}

IdVector<DeviceId, std::vector<MemoryPoint>> memory_curves(const Problem& problem,
                                                           const StepRecord& record) {
  IdVector<DeviceId, std::vector<Change>> changes(problem.num_devices());
  for (const Allocation& allocation : record.allocations) {
    add_changes(allocation, record, frees_first(problem), changes[allocation.device]);
  }
  const IdVector<DeviceId, std::int64_t> persistent = persistent_bytes(problem, record);
  IdVector<DeviceId, std::vector<MemoryPoint>> curves;
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    curves.push_back(curve_of(std::exchange(changes[device], {}), persistent[device]));
  }
  return curves;
}

std::vector<Allocation> live_allocations(const Problem& problem, const StepRecord& record,
                                         DeviceId device, double at_us) {
  std::vector<Allocation> live;
  for (const Allocation& allocation : record.allocations) {
    const bool is_freed =
        frees_first(problem) ? allocation.until_us <= at_us : allocation.until_us < at_us;
    if (allocation.device == device && allocation.bytes > 0 && allocation.from_us <= at_us &&
        !is_freed) {
      live.push_back(allocation);
    }
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const Allocation& a, const Allocation& b) { return a.bytes > b.bytes; });
  return live;
}

std::optional<MemoryOverflow> first_overflow(const Problem& problem, const StepRecord& record,
                                             std::size_t max_tensors) {
  std::optional<MemoryOverflow> first;
  const IdVector<DeviceId, std::vector<MemoryPoint>> curves = memory_curves(problem, record);
  const IdVector<DeviceId, std::int64_t> persistent = persistent_bytes(problem, record);
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::int64_t capacity = problem.memory_bytes(device);
    for (const MemoryPoint& point : curves[device]) {
      const std::int64_t bytes_over = point.bytes - capacity;
      if (bytes_over > 0 && (!first || point.at_us < first->at_us)) {
        first = {.device = device,
                 .at_us = point.at_us,
                 .bytes_over = bytes_over,
                 .persistent_bytes = persistent[device],
                 .largest = {},
                 .other_bytes = 0};
      } else if (first && first->device == device && first->at_us == point.at_us) {
        first->bytes_over = std::max(first->bytes_over, bytes_over);
      }
    }
  }
  if (!first) {
    return first;
  }
  // All that was taken at that very time counts as alive: what made it overflow is among it.
  first->largest = live_allocations(problem, record, first->device, first->at_us);
  for (std::size_t at = max_tensors; at < first->largest.size(); ++at) {
    first->other_bytes += first->largest[at].bytes;
  }
  first->largest.resize(std::min(max_tensors, first->largest.size()));
  return first;
}

}  // namespace emplace
