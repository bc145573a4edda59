#include <emplace/calibrate/activity.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace emplace::calibrate {
namespace {

// The external ids of each correlation id: one, unless the recording contradicts itself.
using IdsOfCorrelation = std::map<std::uint32_t, std::set<std::uint64_t>>;

IdsOfCorrelation ids_of_correlation(const ActivityLog& log) {
  IdsOfCorrelation ids;
  for (const ExternalLink& link : log.links) {
    ids[link.correlation].insert(link.external_id);
  }
  return ids;
}

using Interval = std::pair<std::uint64_t, std::uint64_t>;

// Returns the total length of the union of `intervals`.
std::uint64_t length_of_union(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::uint64_t length = 0;
  std::uint64_t covered_until = 0;
  for (const auto& [start, end] : intervals) {
    if (end > covered_until) {
      length += end - std::max(start, covered_until);
      covered_until = end;
    }
  }
  return length;
}

// Gathers the work under each external id.
class Join {
 public:
  explicit Join(const ActivityLog& log) : ids_(ids_of_correlation(log)) {
    for (const auto& [correlation, ids] : ids_) {
      for (const std::uint64_t id : ids) {
        gathered_[id];
      }
    }
  }

  void add(const DeviceWork& work) {
    const auto ids = ids_.find(work.correlation);
    if (ids == ids_.end()) {
      return;
    }
    if (ids->second.size() > 1) {
      return lose(work.correlation);
    }
    Gathered& gathered = gathered_[*ids->second.begin()];
    gathered.intervals.emplace_back(work.start_ns, work.end_ns);
  }

  // Counts work under `correlation` of which no time is known, or not whose.
  void lose(std::uint32_t correlation) {
    if (const auto ids = ids_.find(correlation); ids != ids_.end()) {
      for (const std::uint64_t id : ids->second) {
        ++gathered_[id].time.lost;
      }
    }
  }

  std::map<std::uint64_t, DeviceTime> take() && {
    std::map<std::uint64_t, DeviceTime> times;
    for (auto& [id, gathered] : gathered_) {
      DeviceTime& time = times[id];
      time = gathered.time;
      time.records = static_cast<std::int32_t>(gathered.intervals.size());
      time.busy_us = static_cast<double>(length_of_union(std::move(gathered.intervals))) / 1e3;
    }
    return times;
  }

 private:
  struct Gathered {
    DeviceTime time{};
    std::vector<Interval> intervals{};
  };

  IdsOfCorrelation ids_;
  std::map<std::uint64_t, Gathered> gathered_{};
};

}  // namespace

std::map<std::uint64_t, DeviceTime> device_times(const ActivityLog& log) {
  Join join(log);
  for (const DeviceWork& work : log.work) {
    join.add(work);
  }
  for (const std::uint32_t correlation : log.untimed) {
    join.lose(correlation);
  }
  return std::move(join).take();
}

std::map<std::uint64_t, DeviceTime> times_of_runs(const ActivityLog& log,
                                                  std::span<const std::uint64_t> ids) {
  const std::map<std::uint64_t, DeviceTime> all = device_times(log);
  std::map<std::uint64_t, DeviceTime> times;
  std::int32_t most = 0;
  for (const std::uint64_t id : ids) {
    const auto found = all.find(id);
    const DeviceTime& time = times[id] = found != all.end() ? found->second : DeviceTime();
    most = std::max(most, time.records);
  }
  for (auto& [id, time] : times) {
    time.lost += most - time.records + (log.dropped_records > 0 ? 1 : 0);
  }
  return times;
}

}  // namespace emplace::calibrate
