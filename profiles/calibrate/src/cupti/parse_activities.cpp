#include "record_walk.hpp"

#include <emplace/calibrate/activity.hpp>

#include <utility>

namespace emplace::calibrate {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// The kinds of environment records.
constexpr U32 kSpeed = 1;
constexpr U32 kTemperature = 2;
constexpr U32 kPower = 3;

constexpr U32 kPcieBridge = 1;
constexpr U32 kNvlinkGpu = 1;

MemoryKind memory_kind(U16 kind) {
  return kind <= static_cast<U16>(MemoryKind::kManagedStatic) ? static_cast<MemoryKind>(kind)
                                                              : MemoryKind::kUnknown;
}

bool believable(U64 start_ns, U64 end_ns) { return start_ns != 0 && start_ns <= end_ns; }

// Turns records into the members of a log.
class LogBuilder {
 public:
  explicit LogBuilder(const ActivityRecording& recording) : recording_(recording) {
    log_.dropped_records = recording.dropped_records;
  }

  void add(const RecordView& record) {
    switch (record.kind()) {
      case RecordKind::kKernel:
      case RecordKind::kConcurrentKernel:
        return add_kernel(record);
      case RecordKind::kMemcpy:
        return add_copy(record);
      case RecordKind::kMemcpyPeer:
        return add_peer_copy(record);
      case RecordKind::kMemset:
        return add_fill(record);
      case RecordKind::kDriver:
      case RecordKind::kRuntime:
        return add_call(record);
      case RecordKind::kExternalCorrelation:
        return add_link(record);
      case RecordKind::kOverhead:
        return add_overhead(record);
      case RecordKind::kSynchronization:
        return add_wait(record);
      case RecordKind::kEnvironment:
        return add_sample(record);
      case RecordKind::kDevice:
        return add_device(record);
      case RecordKind::kPcie:
        return add_pcie(record);
      case RecordKind::kNvlink:
        return add_nvlink(record);
      default:
        return skip(record);
    }
  }

  void add_unread(std::size_t bytes) { log_.unread_bytes += bytes; }

  ActivityLog take() && { return std::move(log_); }

 private:
  void skip(const RecordView& record) { ++log_.skipped[static_cast<U32>(record.kind())]; }

  // Returns the position of the record's name among the names of the log.
  U32 name_of(const RecordView& record) {
    const auto text = recording_.strings.find(record.name_address());
    if (text == recording_.strings.end()) {
      return 0;
    }
    const auto [place, is_new] = names_.emplace(text->first, static_cast<U32>(log_.names.size()));
    if (is_new) {
      log_.names.push_back(text->second);
    }
    return place->second;
  }

  // Adds an activity of a device to `list`, unless its times are not to be believed.
  template <class Activity>
  void add_work(std::vector<Activity>& list, const Activity& activity) {
    if (believable(activity.work.start_ns, activity.work.end_ns)) {
      list.push_back(activity);
    } else {
      log_.untimed.push_back(activity.work.correlation);
    }
  }

  // Adds what is not work of a device to `list`, unless it has no times to be believed.
  template <class Activity>
  void add_other(std::vector<Activity>& list, const Activity& activity, U64 start_ns, U64 end_ns) {
    if (believable(start_ns, end_ns)) {
      list.push_back(activity);
    } else {
      ++log_.untimed_others;
    }
  }

  void add_kernel(const RecordView& record) {
    namespace at = kernel_at;
    add_work(log_.kernels,
             KernelActivity{.work = {.start_ns = record.at<U64>(at::kStart),
                                     .end_ns = record.at<U64>(at::kEnd),
                                     .device = record.at<U32>(at::kDevice),
                                     .context = record.at<U32>(at::kContext),
                                     .stream = record.at<U32>(at::kStream),
                                     .correlation = record.at<U32>(at::kCorrelation),
                                     .graph = record.at<U32>(at::kGraph),
                                     .graph_node = record.at<U64>(at::kGraphNode)},
                            .name = name_of(record),
                            .grid = record.at<std::array<std::int32_t, 3>>(at::kGrid),
                            .block = record.at<std::array<std::int32_t, 3>>(at::kBlock),
                            .registers_per_thread = record.at<U16>(at::kRegistersPerThread),
                            .static_shared_bytes = record.at<std::int32_t>(at::kStaticShared),
                            .dynamic_shared_bytes = record.at<std::int32_t>(at::kDynamicShared)});
  }

  // Reads what copies, peer copies and fills have in common.
  static DeviceWork transfer_work(const RecordView& record, std::size_t correlation,
                                  std::size_t graph, std::size_t graph_node) {
    namespace at = transfer_at;
    return {.start_ns = record.at<U64>(at::kStart),
            .end_ns = record.at<U64>(at::kEnd),
            .device = record.at<U32>(at::kDevice),
            .context = record.at<U32>(at::kContext),
            .stream = record.at<U32>(at::kStream),
            .correlation = record.at<U32>(correlation),
            .graph = record.at<U32>(graph),
            .graph_node = record.at<U64>(graph_node)};
  }

  void add_copy(const RecordView& record) {
    namespace at = memcpy_at;
    const DeviceWork work = transfer_work(record, at::kCorrelation, at::kGraph, at::kGraphNode);
    add_work(log_.copies, CopyActivity{.work = work,
                                       .from = memory_kind(record.at<U8>(at::kFrom)),
                                       .to = memory_kind(record.at<U8>(at::kTo)),
                                       .from_device = work.device,
                                       .to_device = work.device,
                                       .bytes = record.at<U64>(transfer_at::kBytes)});
  }

  void add_peer_copy(const RecordView& record) {
    namespace at = memcpy_peer_at;
    add_work(log_.copies, CopyActivity{.work = transfer_work(record, at::kCorrelation, at::kGraph,
                                                             at::kGraphNode),
                                       .from = memory_kind(record.at<U8>(memcpy_at::kFrom)),
                                       .to = memory_kind(record.at<U8>(memcpy_at::kTo)),
                                       .peer = true,
                                       .from_device = record.at<U32>(at::kFromDevice),
                                       .to_device = record.at<U32>(at::kToDevice),
                                       .bytes = record.at<U64>(transfer_at::kBytes)});
  }

  void add_fill(const RecordView& record) {
    namespace at = memset_at;
    add_work(log_.fills, FillActivity{.work = transfer_work(record, at::kCorrelation, at::kGraph,
                                                            at::kGraphNode),
                                      .memory = memory_kind(record.at<U16>(at::kMemory)),
                                      .bytes = record.at<U64>(transfer_at::kBytes)});
  }

  void add_call(const RecordView& record) {
    namespace at = call_at;
    const CallActivity call{.driver = record.kind() == RecordKind::kDriver,
                            .call = record.at<U32>(at::kCall),
                            .start_ns = record.at<U64>(at::kStart),
                            .end_ns = record.at<U64>(at::kEnd),
                            .process = record.at<U32>(at::kProcess),
                            .thread = record.at<U32>(at::kThread),
                            .correlation = record.at<U32>(at::kCorrelation),
                            .result = record.at<U32>(at::kResult)};
    add_other(log_.calls, call, call.start_ns, call.end_ns);
  }

  void add_link(const RecordView& record) {
    namespace at = external_at;
    log_.links.push_back({.kind = record.at<U32>(at::kKind),
                          .external_id = record.at<U64>(at::kId),
                          .correlation = record.at<U32>(at::kCorrelation)});
  }

  void add_overhead(const RecordView& record) {
    namespace at = overhead_at;
    const OverheadActivity overhead{.kind = record.at<U32>(at::kKind),
                                    .start_ns = record.at<U64>(at::kStart),
                                    .end_ns = record.at<U64>(at::kEnd)};
    add_other(log_.overheads, overhead, overhead.start_ns, overhead.end_ns);
  }

  void add_wait(const RecordView& record) {
    namespace at = wait_at;
    const WaitActivity wait{.kind = record.at<U32>(at::kKind),
                            .start_ns = record.at<U64>(at::kStart),
                            .end_ns = record.at<U64>(at::kEnd),
                            .correlation = record.at<U32>(at::kCorrelation),
                            .context = record.at<U32>(at::kContext),
                            .stream = record.at<U32>(at::kStream)};
    add_other(log_.waits, wait, wait.start_ns, wait.end_ns);
  }

  void add_sample(const RecordView& record) {
    namespace at = environment_at;
    const U64 time_ns = record.at<U64>(at::kTime);
    const U32 device = record.at<U32>(at::kDevice);
    switch (record.at<U32>(at::kKind)) {
      case kSpeed:
        return add_other(log_.clocks,
                         ClockSample{.time_ns = time_ns,
                                     .device = device,
                                     .sm_mhz = record.at<U32>(at::kSmClock),
                                     .memory_mhz = record.at<U32>(at::kMemoryClock),
                                     .pcie_generation = record.at<U32>(at::kPcieGeneration),
                                     .pcie_lanes = record.at<U32>(at::kPcieLanes),
                                     .throttle_reasons = record.at<U32>(at::kThrottleReasons)},
                         time_ns, time_ns);
      case kTemperature:
        return add_other(
            log_.temperatures,
            TemperatureSample{
                .time_ns = time_ns, .device = device, .celsius = record.at<U32>(at::kTemperature)},
            time_ns, time_ns);
      case kPower:
        return add_other(log_.powers,
                         PowerSample{.time_ns = time_ns,
                                     .device = device,
                                     .milliwatts = record.at<U32>(at::kPower),
                                     .limit_milliwatts = record.at<U32>(at::kPowerLimit)},
                         time_ns, time_ns);
      default:  // fans
        return skip(record);
    }
  }

  void add_device(const RecordView& record) {
    namespace at = device_at;
    log_.devices.push_back({.device = record.at<U32>(at::kDevice),
                            .uuid = record.at<DeviceUuid>(at::kUuid),
                            .name = name_of(record),
                            .memory_kbytes_per_second = record.at<U64>(at::kMemoryBandwidth),
                            .memory_bytes = record.at<U64>(at::kMemoryBytes),
                            .l2_bytes = record.at<U32>(at::kL2Bytes),
                            .core_khz = record.at<U32>(at::kCoreClock),
                            .copy_engines = record.at<U32>(at::kCopyEngines),
                            .multiprocessors = record.at<U32>(at::kMultiprocessors),
                            .capability_major = record.at<U32>(at::kCapabilityMajor),
                            .capability_minor = record.at<U32>(at::kCapabilityMinor)});
  }

  void add_pcie(const RecordView& record) {
    namespace at = pcie_at;
    const bool bridge = record.at<U32>(at::kType) == kPcieBridge;
    log_.pcie.push_back({.bridge = bridge,
                         .id = record.at<U32>(at::kId),
                         .domain = record.at<U32>(at::kDomain),
                         .generation = record.at<U16>(at::kGeneration),
                         .gigatransfers_per_second = record.at<U16>(at::kLinkRate),
                         .lanes = record.at<U16>(at::kLinkWidth),
                         .upstream_bus = record.at<U16>(at::kUpstreamBus),
                         .secondary_bus = bridge ? record.at<U16>(at::kSecondaryBus) : U16{0},
                         .uuid = bridge ? DeviceUuid{} : record.at<DeviceUuid>(at::kUuid)});
  }

  static NvlinkActivity::End nvlink_end(const RecordView& record, std::size_t type,
                                        std::size_t id) {
    if (record.at<U32>(type) == kNvlinkGpu) {
      return {.gpu = true, .uuid = record.at<DeviceUuid>(id)};
    }
    return {.index = record.at<U32>(id)};
  }

  void add_nvlink(const RecordView& record) {
    namespace at = nvlink_at;
    log_.nvlinks.push_back({.first = nvlink_end(record, at::kFirstType, at::kFirstId),
                            .second = nvlink_end(record, at::kSecondType, at::kSecondId),
                            .version = record.at<U32>(at::kVersion),
                            .links = record.at<U32>(at::kLinks),
                            .kbytes_per_second = record.at<U64>(at::kBandwidth),
                            .through_switch = record.at<U8>(at::kThroughSwitch) != 0});
  }

  const ActivityRecording& recording_;
  ActivityLog log_{};
  std::map<U64, U32> names_{};  // position in log_.names by address
};

}  // namespace

ActivityLog parse_activities(const ActivityRecording& recording) {
  if (!recording.buffers.empty()) {
    check_version(recording);
  }
  LogBuilder builder(recording);
  for (std::size_t buffer = 0; buffer < recording.buffers.size(); ++buffer) {
    RecordWalk walk(recording, buffer);
    while (const auto record = walk.next()) {
      builder.add(*record);
    }
    builder.add_unread(walk.bytes_left());
  }
  return std::move(builder).take();
}

}  // namespace emplace::calibrate
