#include <emplace/sim/memory_curve.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace emplace {
namespace {

struct Change {
  double at_us;
  bool comes_second;  // of the changes of one instant
  std::int64_t bytes;
};

std::int64_t persistent_bytes(const Problem& problem, const StepRecord& record, DeviceId device) {
  std::int64_t sum = 0;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    sum += record.placement[group] == device ? problem.group_persistent_bytes(group) : 0;
  }
  return sum;
}

// Says whether something was taken; a step that was stopped leaves things undone.
bool is_taken(const Allocation& allocation) {
  return allocation.bytes > 0 && allocation.from_us >= 0;
}

// Returns when something is freed; what a stopped step left is there for ever.
double freed_us(const Allocation& allocation) {
  return allocation.until_us >= 0 ? allocation.until_us : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<MemoryPoint> memory_curve(const Problem& problem, const StepRecord& record,
                                      DeviceId device) {
  const bool frees_first = problem.cluster().transfer_model != TransferModel::kPlaceto;
  std::vector<Change> changes;
  for (const Allocation& allocation : record.allocations) {
    if (allocation.device == device && is_taken(allocation)) {
      changes.push_back({allocation.from_us, frees_first, allocation.bytes});
      if (freed_us(allocation) <= record.makespan_us) {
        changes.push_back({allocation.until_us, !frees_first, -allocation.bytes});
      }
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at_us, a.comes_second, a.bytes) < std::tie(b.at_us, b.comes_second, b.bytes);
  });
  std::vector<MemoryPoint> curve{{0, persistent_bytes(problem, record, device)}};
  for (const Change& change : changes) {
    curve.push_back({change.at_us, curve.back().bytes + change.bytes});
  }
  return curve;
}

std::optional<MemoryOverflow> first_overflow(const Problem& problem, const StepRecord& record,
                                             std::size_t max_tensors) {
  std::optional<MemoryOverflow> first;
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::int64_t capacity = problem.memory_bytes(device);
    for (const MemoryPoint& point : memory_curve(problem, record, device)) {
      if (point.bytes > capacity && (!first || point.at_us < first->at_us)) {
        first = {.device = device,
                 .at_us = point.at_us,
                 .bytes_over = point.bytes - capacity,
                 .persistent_bytes = persistent_bytes(problem, record, device),
                 .largest = {},
                 .other_bytes = 0};
        break;
      }
    }
  }
  if (!first) {
    return first;
  }
  // All that was taken at that very moment counts as alive: what made it overflow is among it.
  for (const Allocation& allocation : record.allocations) {
    if (allocation.device == first->device && is_taken(allocation) &&
        allocation.from_us <= first->at_us && freed_us(allocation) > first->at_us) {
      first->largest.push_back(allocation);
    }
  }
  std::stable_sort(first->largest.begin(), first->largest.end(),
                   [](const Allocation& a, const Allocation& b) { return a.bytes > b.bytes; });
  for (std::size_t at = max_tensors; at < first->largest.size(); ++at) {
    first->other_bytes += first->largest[at].bytes;
  }
  first->largest.resize(std::min(max_tensors, first->largest.size()));
  return first;
}

}  // namespace emplace
