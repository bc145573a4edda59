#include <emplace/sim/memory_curve.hpp>

#include <algorithm>
#include <limits>
#include <utility>

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

// Returns when something is freed; what a stopped step left is never freed.
double freed_us(const Allocation& allocation) {
  return allocation.until_us >= 0 ? allocation.until_us : std::numeric_limits<double>::infinity();
}

bool frees_first(const Problem& problem) {
  return problem.cluster().transfer_model != TransferModel::kPlaceto;
}

}  // namespace

std::vector<MemoryPoint> memory_curve(const Problem& problem, const StepRecord& record,
                                      DeviceId device) {
  const bool is_freed_first = frees_first(problem);
  std::vector<Change> changes;
  for (const Allocation& allocation : record.allocations) {
    // Where frees come first, what is taken and freed at once takes nothing.
    const bool is_moot = is_freed_first && allocation.from_us == allocation.until_us;
    if (allocation.device == device && is_taken(allocation) && !is_moot) {
      changes.push_back({allocation.from_us, is_freed_first, allocation.bytes});
      if (freed_us(allocation) <= record.makespan_us) {
        changes.push_back({allocation.until_us, !is_freed_first, -allocation.bytes});
      }
    }
  }
  const auto key = [](const Change& change) {
    return std::pair(change.at_us, change.comes_second);
  };
  std::sort(changes.begin(), changes.end(),
            [&](const Change& a, const Change& b) { return key(a) < key(b); });
  std::vector<MemoryPoint> curve{{0, persistent_bytes(problem, record, device)}};
  for (std::size_t at = 0; at < changes.size(); ++at) {
    if (at == 0 || key(changes[at]) != key(changes[at - 1])) {
      curve.push_back({changes[at].at_us, curve.back().bytes});
    }
    curve.back().bytes += changes[at].bytes;
  }
  return curve;
}

std::optional<MemoryOverflow> first_overflow(const Problem& problem, const StepRecord& record,
                                             std::size_t max_tensors) {
  std::optional<MemoryOverflow> first;
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::int64_t capacity = problem.memory_bytes(device);
    for (const MemoryPoint& point : memory_curve(problem, record, device)) {
      const std::int64_t bytes_over = point.bytes - capacity;
      if (bytes_over > 0 && (!first || point.at_us < first->at_us)) {
        first = {.device = device,
                 .at_us = point.at_us,
                 .bytes_over = bytes_over,
                 .persistent_bytes = persistent_bytes(problem, record, device),
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
  for (const Allocation& allocation : record.allocations) {
    const bool is_freed = frees_first(problem) ? freed_us(allocation) <= first->at_us
                                               : freed_us(allocation) < first->at_us;
    if (allocation.device == first->device && is_taken(allocation) &&
        allocation.from_us <= first->at_us && !is_freed) {
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
