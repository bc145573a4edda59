#pragma once

// What a GPU did and when, as CUPTI, the profiling library of the CUDA toolkit, records it.
//
//   const auto source = open_cupti();            // before the first CUDA call of the program
//   { const ExternalId id(*source, 42); launch_the_op(); }
//   synchronize_all_devices();
//   const auto times = device_times(source->take());
//   times.at(42).busy_us;
//
// From op to time: a program names the work of each op by an external id (ActivitySource::push),
// CUPTI links the id to the calls made meanwhile, and each call to the kernels, copies and fills
// that it launched, through a correlation id. device_times() follows these links, in any order of
// records. The kernels of a launched CUDA graph all carry the correlation id of that launch, so
// they all count under the external id in force when the graph was launched.
//
// Times are nanoseconds of one clock, that of the CPU; those of a GPU are interpolated onto it, so
// a kernel may seem to start before its launch: the order of times does not show cause and effect.
// Functions of logs are thread-safe, and linear in the records except for sorting.
//
// CUPTI allows one profiler in a process: under Nsight, compute-sanitizer or another tool the
// source records nothing and says so, and the program continues without. Reading counters would
// need privileges; nothing here does. A process that was traced stays slower even after the source
// is gone, so time the host's work (launches) in a run without one.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

/// What was recorded of the machine, in the order of CUPTI's buffers.
struct MachineLog {
  std::vector<DeviceActivity> devices{};
  std::vector<PcieActivity> pcie{};
  std::vector<NvlinkActivity> nvlinks{};
};

/// What was recorded of its work, by kind, each in the order of CUPTI's buffers (not of time).
struct ActivityLog {
  std::vector<DeviceWork> work{};
  std::vector<ExternalLink> links{};

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

/// Returns a sentence for each GPU, PCIe connection of a GPU and set of NVLinks that `log` has a
/// record of; empty if there is none. Each is named once, however often it was recorded.
std::string describe_machine(const MachineLog& log);

/// Records what GPUs do while it lives; this one records nothing.
class ActivitySource {
 public:
  /// Makes a source that records nothing because of `why_none`.
  explicit ActivitySource(std::string why_none = "") : why_none_(std::move(why_none)) {}
  virtual ~ActivitySource() = default;
  ActivitySource(const ActivitySource&) = delete;
  ActivitySource& operator=(const ActivitySource&) = delete;

  /// Returns why nothing is recorded, or nothing if all is well.
  const std::string& why_none() const { return why_none_; }
  /// Gives the calling thread's launches the external id `id` until the matching pop(); throws
  /// DeviceFailure (compute_device.hpp) if CUPTI refuses, as take() does.
  virtual void push(std::uint64_t /*id*/) {}
  virtual void pop() {}
  /// Returns what was recorded since the last call. Requires: the devices have been synchronised;
  /// otherwise work in flight is missing.
  virtual ActivityLog take() { return {}; }
  /// Returns what was recorded of the machine so far.
  virtual MachineLog machine() const { return {}; }

 private:
  std::string why_none_;
};

/// Gives its thread's launches an external id while it lives.
class ExternalId {
 public:
  ExternalId(ActivitySource& source, std::uint64_t id) : source_(source) { source_.push(id); }
  ~ExternalId() { source_.pop(); }
  ExternalId(const ExternalId&) = delete;
  ExternalId& operator=(const ExternalId&) = delete;

 private:
  ActivitySource& source_;
};

/// Returns CUPTI, its library opened by name, or, where that fails, a source that records nothing
/// and says why. One at a time in a process.
std::unique_ptr<ActivitySource> open_cupti();

}  // namespace emplace::calibrate
