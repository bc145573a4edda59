#include <emplace/calibrate/activity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace emplace::calibrate {
namespace {

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

// GPUs by the number that they have in CUDA; records of links know them by UUID only.
std::string name_of(const NvlinkActivity::End& end,
                    const std::map<DeviceUuid, std::uint32_t>& gpus) {
  if (!end.gpu) {
    return fmt::format("NVLink unit {} of a CPU", end.index);
  }
  const auto found = gpus.find(end.uuid);
  return found == gpus.end() ? "a GPU that is not used" : fmt::format("GPU {}", found->second);
}

}  // namespace

std::map<std::uint64_t, DeviceTime> device_times(const ActivityLog& log) {
  std::map<std::uint64_t, DeviceTime> times;
  // One external id for each correlation id, unless the recording contradicts itself.
  std::map<std::uint32_t, std::set<std::uint64_t>> ids_of;
  for (const ExternalLink& link : log.links) {
    ids_of[link.correlation].insert(link.external_id);
    times[link.external_id];
  }
  // Counts work of which no time is known, or not whose.
  const auto lose = [&](std::uint32_t correlation) {
    for (const std::uint64_t id : ids_of[correlation]) {
      ++times[id].lost;
    }
  };
  std::ranges::for_each(log.untimed, lose);
  std::map<std::uint64_t, std::vector<Interval>> intervals;
  for (const DeviceWork& work : log.work) {
    const std::set<std::uint64_t>& ids = ids_of[work.correlation];
    if (ids.size() == 1) {
      intervals[*ids.begin()].emplace_back(work.start_ns, work.end_ns);
    } else {
      lose(work.correlation);
    }
  }
  for (auto& [id, of_id] : intervals) {
    DeviceTime& time = times[id];
    time.records = static_cast<std::int32_t>(of_id.size());
    time.busy_us = static_cast<double>(length_of_union(std::move(of_id))) / 1e3;
  }
  return times;
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

std::string describe_machine(const MachineLog& log) {
  std::string text;
  std::set<std::string> told;
  const auto tell = [&](const std::string& sentence) {
    if (told.insert(sentence).second) {
      text += (text.empty() ? "" : " ") + sentence;
    }
  };
  std::map<DeviceUuid, std::uint32_t> gpus;
  for (const DeviceActivity& gpu : log.devices) {
    gpus.emplace(gpu.uuid, gpu.device);
    tell(fmt::format(
        "GPU {}: {} multiprocessors at up to {} MHz, {:.1f} GB at {:.0f} GB/s, {} MB of "
        "L2, {} copy engines.",
        gpu.device, gpu.multiprocessors, gpu.core_khz / 1000,
        static_cast<double>(gpu.memory_bytes) / 1e9,
        static_cast<double>(gpu.memory_kbytes_per_second) / 1e6, gpu.l2_bytes >> 20U,
        gpu.copy_engines));
  }
  for (const PcieActivity& pcie : log.pcie) {
    tell(fmt::format("GPU {}: PCIe generation {} with {} lanes.", pcie.device, pcie.generation,
                     pcie.lanes));
  }
  for (const NvlinkActivity& nvlink : log.nvlinks) {
    tell(fmt::format("{} and {}: {} NVLinks with {:.0f} GB/s{}.", name_of(nvlink.first, gpus),
                     name_of(nvlink.second, gpus), nvlink.links,
                     static_cast<double>(nvlink.kbytes_per_second) / 1e6,
                     nvlink.through_switch ? " through a switch" : ""));
  }
  return text;
}

}  // namespace emplace::calibrate
