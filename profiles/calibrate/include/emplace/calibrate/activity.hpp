#pragma once

// What a GPU did and when, as CUPTI, the profiling library of the CUDA toolkit, recorded it.
//
// From op to time: a program names the work of each op by an external id (ActivitySource::push),
// CUPTI links the id to the calls made meanwhile, and each call to the kernels, copies and fills
// that it launched, through a correlation id. device_times() follows these links, in any order of
// records. The kernels of a launched CUDA graph all carry the correlation id of that launch, so
// they all count under the external id in force when the graph was launched.
//
// Times are nanoseconds of one clock, that of the CPU; those of a GPU are interpolated onto it, so
// a kernel may seem to start before its launch: the order of times does not show cause and effect.
// Functions here are thread-safe. All are linear in the records except for sorting.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// When and where a GPU ran a kernel, copy or fill, and for which call: start_ns <= end_ns,
/// start_ns > 0. Between two GPUs, `device` is the one that made the copy.
struct DeviceWork {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t correlation = 0;
};

/// Links a call to the external id that was in force.
struct ExternalLink {
  std::uint64_t external_id = 0;
  std::uint32_t correlation = 0;
};

/// Identifies a GPU across programs.
using DeviceUuid = std::array<std::uint8_t, 16>;

/// Describes a GPU.
struct DeviceActivity {
  std::uint32_t device = 0;
  DeviceUuid uuid{};
  std::uint64_t memory_kbytes_per_second = 0;  ///< of its own memory, at its top clock
  std::uint64_t memory_bytes = 0;
  std::uint32_t l2_bytes = 0;
  std::uint32_t core_khz = 0;  ///< its top clock
  std::uint32_t copy_engines = 0;
  std::uint32_t multiprocessors = 0;
};

/// Describes how a GPU is connected to PCIe.
struct PcieActivity {
  std::uint32_t device = 0;
  std::uint16_t generation = 0;
  std::uint16_t lanes = 0;
};

/// Describes the NVLinks between two GPUs, or a GPU and a CPU.
struct NvlinkActivity {
  struct End {
    bool gpu = false;
    DeviceUuid uuid{};        ///< of a GPU
    std::uint32_t index = 0;  ///< of a CPU's NVLink unit
  };
  End first{};
  End second{};
  std::uint32_t links = 0;              ///< physical ones
  std::uint64_t kbytes_per_second = 0;  ///< of all of them
  bool through_switch = false;
};

/// What was recorded, by kind, each in the order of CUPTI's buffers (not of time).
struct ActivityLog {
  std::vector<DeviceWork> work{};
  std::vector<ExternalLink> links{};
  std::vector<DeviceActivity> devices{};
  std::vector<PcieActivity> pcie{};
  std::vector<NvlinkActivity> nvlinks{};

  /// Work without a plausible time, which is not listed above: start or end is 0 (CUPTI's device
  /// buffers were full), or end is before start. One correlation id each.
  std::vector<std::uint32_t> untimed{};
  std::uint64_t dropped_records = 0;  ///< that CUPTI had no buffer for; their ops are unknown
};

/// How long what was launched under one external id took on the devices.
struct DeviceTime {
  double busy_us = 0;        ///< length of the union of the intervals of its kernels, copies, fills
  std::int32_t records = 0;  ///< number of these records
  std::int32_t lost = 0;     ///< further ones whose times CUPTI lost, so that the time is too low
};

/// Returns what the work under each external id took; ids without work have zeros. A correlation id
/// that two external ids claim belongs to neither: its work counts as lost in both.
std::map<std::uint64_t, DeviceTime> device_times(const ActivityLog& log);

/// Does the same for `ids`, under each of which the same work was launched, so records that are
/// missing for one of them are lost. If CUPTI dropped records, one of each id counts as lost,
/// because their ids are unknown.
std::map<std::uint64_t, DeviceTime> times_of_runs(const ActivityLog& log,
                                                  std::span<const std::uint64_t> ids);

}  // namespace emplace::calibrate
