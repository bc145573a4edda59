#include <emplace/calibrate/activity.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace emplace::calibrate {
namespace {

// Bits of CUpti_EnvironmentClocksThrottleReason that are no throttling: idle, clocks that the user
// set, and a device that cannot tell. All others are heat, power or not known.
constexpr std::uint32_t kIdle = 0x1;
constexpr std::uint32_t kUserClocks = 0x2;
constexpr std::uint32_t kCannotTell = 0x40000000;

// Says whether the clock samples of one device that bear on an interval tell of throttling.
class ClockHistory {
 public:
  // `samples` are (time, throttled), in any order.
  explicit ClockHistory(std::vector<std::pair<std::uint64_t, bool>> samples) {
    std::sort(samples.begin(), samples.end());
    throttled_before_.push_back(0);
    for (const auto& [time_ns, throttled] : samples) {
      times_.push_back(time_ns);
      throttled_before_.push_back(throttled_before_.back() + (throttled ? 1 : 0));
    }
  }

  bool throttled_in(std::uint64_t start_ns, std::uint64_t end_ns) const {
    auto first = std::lower_bound(times_.begin(), times_.end(), start_ns);
    auto last = std::upper_bound(first, times_.end(), end_ns);
    if (first != times_.begin()) {
      --first;
    }
    if (last != times_.end()) {
      ++last;
    }
    return throttled_before_[static_cast<std::size_t>(last - times_.begin())] >
           throttled_before_[static_cast<std::size_t>(first - times_.begin())];
  }

 private:
  std::vector<std::uint64_t> times_{};
  std::vector<std::size_t> throttled_before_{};  // how many of the samples before each position
};

std::map<std::uint32_t, ClockHistory> clock_histories(const ActivityLog& log) {
  std::map<std::uint32_t, double> top_mhz;
  for (const DeviceActivity& device : log.devices) {
    top_mhz[device.device] = std::max(top_mhz[device.device], device.core_khz / 1e3);
  }
  std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, bool>>> samples;
  for (const ClockSample& sample : log.clocks) {
    const bool told = (sample.throttle_reasons & ~(kIdle | kUserClocks | kCannotTell)) != 0;
    const auto top = top_mhz.find(sample.device);
    const bool slow = (sample.throttle_reasons & (kIdle | kUserClocks)) == 0 &&
                      top != top_mhz.end() && sample.sm_mhz < kFullClock * top->second;
    samples[sample.device].emplace_back(sample.time_ns, told || slow);
  }
  std::map<std::uint32_t, ClockHistory> histories;
  for (auto& [device, of_device] : samples) {
    histories.emplace(device, ClockHistory(std::move(of_device)));
  }
  return histories;
}

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
  explicit Join(const ActivityLog& log)
      : ids_(ids_of_correlation(log)), clocks_(clock_histories(log)) {
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
    const auto clocks = clocks_.find(work.device);
    gathered.time.throttled =
        gathered.time.throttled ||
        (clocks != clocks_.end() && clocks->second.throttled_in(work.start_ns, work.end_ns));
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
  std::map<std::uint32_t, ClockHistory> clocks_;
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
