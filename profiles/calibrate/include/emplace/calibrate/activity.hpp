#pragma once

// What a GPU did and when, as CUPTI, the profiling library of the CUDA toolkit, recorded it. CUPTI
// fills buffers with packed C records whose size depends on its version. A recording keeps these
// bytes as they came; parse_activities() turns them into the plain records below with our own table
// of sizes and offsets, so that a recording made on a GPU is read where there is no toolkit.
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
#include <string>
#include <vector>

namespace emplace::calibrate {

/// What CUPTI wrote, as it came.
struct ActivityRecording {
  std::string origin{};  ///< the source that errors name: a file, or "CUPTI"
  std::uint32_t cupti_version =
      0;  ///< cuptiGetVersion() of the CUPTI that wrote the buffers: 130001
  std::uint64_t dropped_records = 0;                 ///< that CUPTI had no buffer for
  std::vector<std::vector<std::uint8_t>> buffers{};  ///< the valid bytes of each
  /// The texts at which records point, by address in the recorded process.
  std::map<std::uint64_t, std::string> strings{};
};

/// Writes `recording` to a file; throws kIo. The format is in recording_file.cpp.
void write_recording(const ActivityRecording& recording, const std::string& path);

/// Reads what write_recording() wrote; throws kIo, and kFormat, naming file and byte, if `path`
/// contains anything else.
ActivityRecording read_recording(const std::string& path);

/// When and where a GPU was at work, and for which call: start_ns <= end_ns, start_ns > 0.
struct DeviceWork {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint32_t graph = 0;  ///< the launched CUDA graph, 0 if none
  std::uint64_t graph_node = 0;
};

/// Describes a kernel that ran.
struct KernelActivity {
  DeviceWork work{};
  std::uint32_t name = 0;  ///< position in ActivityLog::names; mangled
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::uint16_t registers_per_thread = 0;
  std::int32_t static_shared_bytes = 0;   ///< for each block
  std::int32_t dynamic_shared_bytes = 0;  ///< for each block
};

/// Names the memory at one end of a copy, or that is filled.
enum class MemoryKind : std::uint8_t {
  kUnknown,
  kPageable,
  kPinned,
  kDevice,
  kArray,
  kManaged,
  kDeviceStatic,
  kManagedStatic,
};

/// Describes a copy. Between two GPUs, `work` names the GPU that made it.
struct CopyActivity {
  DeviceWork work{};
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
  bool peer = false;              ///< recorded as between GPUs
  std::uint32_t from_device = 0;  ///< of a peer copy; otherwise that of `work`
  std::uint32_t to_device = 0;
  std::uint64_t bytes = 0;
};

/// Describes a memset.
struct FillActivity {
  DeviceWork work{};
  MemoryKind memory = MemoryKind::kUnknown;
  std::uint64_t bytes = 0;
};

/// Describes a call of the CUDA runtime or driver.
struct CallActivity {
  bool driver = false;     ///< else of the runtime
  std::uint32_t call = 0;  ///< its number in cupti_driver_cbid.h or cupti_runtime_cbid.h
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t correlation = 0;
  std::uint32_t result = 0;  ///< cudaError_t or CUresult: 0 is success
};

/// Links a call to the external id that was in force.
struct ExternalLink {
  std::uint32_t kind = 0;  ///< CUpti_ExternalCorrelationKind; kExternalKind is ours
  std::uint64_t external_id = 0;
  std::uint32_t correlation = 0;
};

/// The kind of external ids that ActivitySource::push() gives: CUSTOM0.
inline constexpr std::uint32_t kExternalKind = 3;

/// When the profiler or driver did work of its own, such as loading a module.
struct OverheadActivity {
  std::uint32_t kind = 0;  ///< CUpti_ActivityOverheadKind
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// When the host waited for a device.
struct WaitActivity {
  std::uint32_t kind = 0;  ///< CUpti_ActivitySynchronizationType
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
};

/// Samples the clocks of a device.
struct ClockSample {
  std::uint64_t time_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t sm_mhz = 0;
  std::uint32_t memory_mhz = 0;
  std::uint32_t pcie_generation = 0;
  std::uint32_t pcie_lanes = 0;
  std::uint32_t throttle_reasons = 0;  ///< bits of CUpti_EnvironmentClocksThrottleReason
};

/// Samples the temperature of a device.
struct TemperatureSample {
  std::uint64_t time_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t celsius = 0;
};

/// Samples the power that a device takes.
struct PowerSample {
  std::uint64_t time_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t milliwatts = 0;
  std::uint32_t limit_milliwatts = 0;
};

/// Identifies a GPU across programs.
using DeviceUuid = std::array<std::uint8_t, 16>;

/// Describes a GPU.
struct DeviceActivity {
  std::uint32_t device = 0;
  DeviceUuid uuid{};
  std::uint32_t name = 0;                      ///< position in ActivityLog::names
  std::uint64_t memory_kbytes_per_second = 0;  ///< of its own memory, at its top clock
  std::uint64_t memory_bytes = 0;
  std::uint32_t l2_bytes = 0;
  std::uint32_t core_khz = 0;  ///< its top clock
  std::uint32_t copy_engines = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t capability_major = 0;
  std::uint32_t capability_minor = 0;
};

/// Describes how a GPU or a bridge is connected to the PCIe tree.
struct PcieActivity {
  bool bridge = false;
  std::uint32_t id = 0;  ///< the device, or a number of the bridge
  std::uint32_t domain = 0;
  std::uint16_t generation = 0;
  std::uint16_t gigatransfers_per_second = 0;
  std::uint16_t lanes = 0;
  std::uint16_t upstream_bus = 0;
  std::uint16_t secondary_bus = 0;  ///< of a bridge: the bus below it
  DeviceUuid uuid{};                ///< of a GPU
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
  std::uint32_t version = 0;
  std::uint32_t links = 0;              ///< physical ones
  std::uint64_t kbytes_per_second = 0;  ///< of all of them
  bool through_switch = false;
};

/// The records of one recording by kind, each in the order of the buffers (not of time).
struct ActivityLog {
  std::vector<std::string> names{""};  ///< what `name` members index; the first stands for none
  std::vector<KernelActivity> kernels{};
  std::vector<CopyActivity> copies{};
  std::vector<FillActivity> fills{};
  std::vector<CallActivity> calls{};
  std::vector<ExternalLink> links{};
  std::vector<OverheadActivity> overheads{};
  std::vector<WaitActivity> waits{};
  std::vector<ClockSample> clocks{};
  std::vector<TemperatureSample> temperatures{};
  std::vector<PowerSample> powers{};
  std::vector<DeviceActivity> devices{};
  std::vector<PcieActivity> pcie{};
  std::vector<NvlinkActivity> nvlinks{};

  /// Kernels, copies and fills without a plausible time, which are not listed above: start or end
  /// is 0 (CUPTI's device buffers were full), or end is before start. One correlation id each.
  std::vector<std::uint32_t> untimed{};
  std::int64_t untimed_others =
      0;  ///< calls, overheads, waits and samples dropped for the same reasons
  std::map<std::uint32_t, std::int64_t> skipped{};  ///< records of other kinds, by kind
  std::uint64_t dropped_records = 0;  ///< as in ActivityRecording; their ops are unknown
  /// Bytes after an unfinished record, as a forced flush may leave; their ops are unknown, too.
  std::uint64_t unread_bytes = 0;
};

/// Returns the records of `recording`. Throws kUnsupported, naming the version, for a version of
/// CUPTI with unknown records, and kFormat, naming buffer and byte, if a record does not fit or has
/// a kind that this version does not know.
ActivityLog parse_activities(const ActivityRecording& recording);

/// How long what was launched under one external id took on the devices.
struct DeviceTime {
  double sum_us = 0;         ///< of the durations of its kernels, copies and fills
  double busy_us = 0;        ///< length of the union of their intervals
  std::int32_t records = 0;  ///< number of these records
  std::int32_t lost = 0;     ///< further ones whose times CUPTI lost, so that the sums are too low
  /// A device at work ran below its clock, according to the last sample before, those during, and
  /// the first after the work: for heat or power, or at less than kFullClock of its top clock
  /// although it was neither idle nor set so by the user. Without clock samples it stays false.
  bool throttled = false;
};

/// The share of a device's top clock at which it counts as running at full speed.
inline constexpr double kFullClock = 0.9;

/// Returns what the work under each external id of kExternalKind took; ids without work have zeros.
/// A correlation id that two external ids claim belongs to neither: its work counts as lost in
/// both.
std::map<std::uint64_t, DeviceTime> device_times(const ActivityLog& log);

/// Does the same for `ids`, under each of which the same work was launched, so records that are
/// missing for one of them are lost. If CUPTI dropped records, one of each id counts as lost,
/// because their ids are unknown.
std::map<std::uint64_t, DeviceTime> times_of_runs(const ActivityLog& log,
                                                  std::span<const std::uint64_t> ids);

}  // namespace emplace::calibrate
