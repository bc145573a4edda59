// CUPTI's Activity API as an ActivitySource, as far as it is used, and only that: no counters,
// which need privileges; no timestamp callback, which spoils times when registered twice; no
// cuptiFinalize, which races with CUPTI's own threads. A process that ends needs no finalizing.

#include "shared_library.hpp"

#include <emplace/calibrate/activity.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <cuda.h>
#include <cupti.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

// --- The library ---

struct Cause {
  std::uint32_t code;
  std::string_view text;
};

constexpr std::string_view kOtherProfiler =
    "another profiler is using CUPTI, which serves one in a process: run without Nsight, "
    "compute-sanitizer, DCGM's counters and the like";
constexpr std::string_view kPrivileges =
    "profiling is reserved for administrators: run as root (in a container with CAP_SYS_ADMIN), or "
    "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
constexpr std::string_view kVirtual = "the GPU is a virtual one without support for profiling";

constexpr std::array kCauses{
    Cause{15, "CUPTI could not initialise; is the driver as new as the toolkit?"},
    Cause{26, "another tool uses the hardware that CUPTI needs"},
    Cause{27, "this GPU or driver does not support it"},
    Cause{33, kVirtual},
    Cause{35, kPrivileges},
    Cause{36, kOtherProfiler},
    Cause{38, "this GPU needs a newer way of profiling than this version of CUPTI has"},
    Cause{39, kOtherProfiler},
    Cause{40, kVirtual},
    Cause{41, "the GPU runs in confidential computing mode, in which nothing is recorded"},
    Cause{43, "the GPU is a MIG instance without support for profiling"},
    Cause{45, "the Windows Subsystem for Linux here is without support for profiling"},
    Cause{999, "CUPTI found no working driver"},
};

// Holds the functions of CUPTI 13 or 12; making one throws DeviceFailure.
struct CuptiLibrary {
  // Throws DeviceFailure that says why, unless `result` is success.
  void check(CUptiResult result, std::string_view call) const {
    if (result != CUPTI_SUCCESS) {
      const char* text = nullptr;
      if (get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) {
        text = "an error without a name";
      }
      const auto* const cause =
          std::ranges::find(kCauses, static_cast<std::uint32_t>(result), &Cause::code);
      throw DeviceFailure(fmt::format("{}: {} ({}){}{}", call, text, static_cast<int>(result),
                                      cause == kCauses.end() ? "" : "; ",
                                      cause == kCauses.end() ? "" : cause->text));
    }
  }

  SharedLibrary library{{.what = "CUPTI",
                         .names = {"libcupti.so.13", "libcupti.so.12"},
                         .remedy =
                             "Install the CUDA toolkit (or Debian's package cuda-cupti-13-0, or "
                             "Python's nvidia-cuda-cupti)"}};
  decltype(&cuptiGetVersion) get_version = library["cuptiGetVersion"];
  decltype(&cuptiGetResultString) get_result_string = library["cuptiGetResultString"];
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks =
      library["cuptiActivityRegisterCallbacks"];
  decltype(&cuptiActivityEnable) enable = library["cuptiActivityEnable"];
  decltype(&cuptiActivityDisable) disable = library["cuptiActivityDisable"];
  decltype(&cuptiActivityFlushAll) flush_all = library["cuptiActivityFlushAll"];
  decltype(&cuptiActivityGetNumDroppedRecords) get_num_dropped_records =
      library["cuptiActivityGetNumDroppedRecords"];
  decltype(&cuptiActivityGetNextRecord) get_next_record = library["cuptiActivityGetNextRecord"];
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id =
      library["cuptiActivityPushExternalCorrelationId"];
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id =
      library["cuptiActivityPopExternalCorrelationId"];
};

// --- Records ---

// The kind of external ids that are ours.
constexpr CUpti_ExternalCorrelationKind kExternalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// The first version whose records are known: of CUDA 12.3. A count until CUDA 12.9 Update 1, then
// digits xxyyzz.
constexpr std::uint32_t kFirstVersion = 21;

// NVIDIA adds fields at the end of a record, or in its padding, so the oldest type of a record that
// has the fields fits all later versions, whichever the headers are of.
template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

template <class Record>
void add_work(ActivityLog& log, const CUpti_Activity& any) {
  const auto& record = as<Record>(any);
  if (record.start == 0 || record.end < record.start) {
    log.untimed.push_back(record.correlationId);
  } else {
    log.work.push_back({.start_ns = record.start,
                        .end_ns = record.end,
                        .device = record.deviceId,
                        .correlation = record.correlationId});
  }
}

void add_link(ActivityLog& log, const CUpti_ActivityExternalCorrelation& record) {
  if (record.externalKind == kExternalKind) {
    log.links.push_back({.external_id = record.externalId, .correlation = record.correlationId});
  }
}

void add_device(MachineLog& log, const CUpti_ActivityDevice5& record) {
  log.devices.push_back({.device = record.id,
                         .uuid = std::bit_cast<DeviceUuid>(record.uuid),
                         .memory_kbytes_per_second = record.globalMemoryBandwidth,
                         .memory_bytes = record.globalMemorySize,
                         .l2_bytes = record.l2CacheSize,
                         .core_khz = record.coreClockRate,
                         .copy_engines = record.numMemcpyEngines,
                         .multiprocessors = record.numMultiprocessors});
}

void add_pcie(MachineLog& log, const CUpti_ActivityPcie& record) {
  if (record.type == CUPTI_PCIE_DEVICE_TYPE_GPU) {
    log.pcie.push_back({.device = static_cast<std::uint32_t>(record.id.devId),
                        .generation = record.pcieGeneration,
                        .lanes = record.linkWidth});
  }
}

void add_nvlink(MachineLog& log, const CUpti_ActivityNvLink4& record) {
  const auto end = [](CUpti_DevType type, const auto& id) {
    return type == CUPTI_DEV_TYPE_GPU
               ? NvlinkActivity::End{.gpu = true, .uuid = std::bit_cast<DeviceUuid>(id.uuidDev)}
               : NvlinkActivity::End{.index = id.npu.index};
  };
  log.nvlinks.push_back({.first = end(record.typeDev0, record.idDev0),
                         .second = end(record.typeDev1, record.idDev1),
                         .links = record.physicalNvLinkCount,
                         .kbytes_per_second = record.bandwidth,
                         .through_switch = record.nvswitchConnected != 0});
}

// Adds a record to the log that has records of its kind, if one does.
void add_record(ActivityLog& work, MachineLog& machine, const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_work<CUpti_ActivityKernel9>(work, record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_work<CUpti_ActivityMemcpy5>(work, record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_work<CUpti_ActivityMemcpyPtoP4>(work, record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_work<CUpti_ActivityMemset4>(work, record);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return add_link(work, as<CUpti_ActivityExternalCorrelation>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return add_device(machine, as<CUpti_ActivityDevice5>(record));
    case CUPTI_ACTIVITY_KIND_PCIE:
      return add_pcie(machine, as<CUpti_ActivityPcie>(record));
    case CUPTI_ACTIVITY_KIND_NVLINK:
      return add_nvlink(machine, as<CUpti_ActivityNvLink4>(record));
    default:  // calls, for which links need to be recorded
      return;
  }
}

// --- The memory that CUPTI fills with records ---

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::align_val_t kAlignment{8};

// Hands out buffers and keeps the records of those that come back while collecting. CUPTI asks for
// buffers and hands them back from threads of its own and of the program, at any time until the
// process ends, even when nobody listens any more; so this is one for the process and never goes
// away.
class ActivityBuffers {
 public:
  static ActivityBuffers& instance() {
    static auto* const buffers = new ActivityBuffers;
    return *buffers;
  }

  // Keeps what comes back from now on, read with `cupti`, which must live until stop(); returns
  // false if it does so already.
  bool start(const CuptiLibrary& cupti) {
    const std::lock_guard lock(mutex_);
    if (cupti_ != nullptr) {
      return false;
    }
    cupti_ = &cupti;
    work_ = {};
    machine_ = {};
    return true;
  }

  // Keeps nothing from now on.
  void stop() {
    const std::lock_guard lock(mutex_);
    cupti_ = nullptr;
  }

  // Returns the work that was kept since the last call.
  ActivityLog take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(work_, {});
  }

  MachineLog machine() const {
    const std::lock_guard lock(mutex_);
    return machine_;
  }

  // Says whether CUPTI still has a buffer.
  bool any_out() const {
    const std::lock_guard lock(mutex_);
    return out_ > 0;
  }

  // Gives an empty buffer: a callback of CUPTI. Without memory there is none; CUPTI counts the
  // records as dropped since CUDA 12.9, and is known to crash before. A buffer is given even when
  // nobody collects, for the same reason.
  static void request(std::uint8_t** buffer, std::size_t* bytes,
                      std::size_t* max_records) noexcept {
    *buffer = static_cast<std::uint8_t*>(::operator new(kBufferBytes, kAlignment, std::nothrow));
    *bytes = *buffer != nullptr ? kBufferBytes : 0;
    *max_records = 0;  // as many as fit
    if (*buffer != nullptr) {
      const std::lock_guard lock(instance().mutex_);
      ++instance().out_;
    }
  }

  // Takes a buffer back; its first `valid` bytes are records. A callback of CUPTI.
  static void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) noexcept {
    {
      const std::lock_guard lock(instance().mutex_);
      --instance().out_;
      instance().keep(buffer, valid);
    }
    ::operator delete(buffer, kAlignment);
  }

 private:
  // Ends at a record that is not finished, as a forced flush may leave: what follows is lost.
  void keep(std::uint8_t* buffer, std::size_t valid) {
    try {
      CUpti_Activity* record = nullptr;
      while (cupti_ != nullptr && valid > 0 &&
             cupti_->get_next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
        add_record(work_, machine_, *record);
      }
    } catch (const std::bad_alloc&) {
      // Of records without memory nobody knows how many they were.
      ++work_.dropped_records;
    }
  }

  mutable std::mutex mutex_;
  const CuptiLibrary* cupti_ = nullptr;  // while collecting
  std::size_t out_ = 0;                  // buffers that CUPTI has
  ActivityLog work_{};
  MachineLog machine_{};
};

// --- The source ---

struct WantedKind {
  CUpti_ActivityKind kind;
  std::string_view name;
  bool needed;  // times are wrong without; the others tell about the machine
};

// External ids are linked to calls, so calls of runtime and driver must be recorded: cuDNN launches
// some kernels through the driver. CONCURRENT_KERNEL rather than KERNEL, which runs one at a time.
constexpr std::array kWanted{
    WantedKind{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external correlation", true},
    WantedKind{CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls", true},
    WantedKind{CUPTI_ACTIVITY_KIND_DRIVER, "driver calls", true},
    WantedKind{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels", true},
    WantedKind{CUPTI_ACTIVITY_KIND_MEMCPY, "copies", true},
    WantedKind{CUPTI_ACTIVITY_KIND_MEMCPY2, "peer copies", true},
    WantedKind{CUPTI_ACTIVITY_KIND_MEMSET, "memsets", true},
    WantedKind{CUPTI_ACTIVITY_KIND_DEVICE, "devices", false},
    WantedKind{CUPTI_ACTIVITY_KIND_PCIE, "PCIe", false},
    WantedKind{CUPTI_ACTIVITY_KIND_NVLINK, "NVLink", false},
};

// Without a driver CUPTI says no more than "unknown error".
void expect_driver() {
  const SharedLibrary driver({.what = "NVIDIA's driver",
                              .names = {"libcuda.so.1"},
                              .remedy = "Run on a machine with a GPU and its driver (in a "
                                        "container: with the NVIDIA Container Toolkit)"});
}

// Refuses a library that writes other records than we know.
void check_version(const CuptiLibrary& cupti) {
  std::uint32_t version = 0;
  cupti.check(cupti.get_version(&version), "cuptiGetVersion");
  if (version < kFirstVersion) {
    throw DeviceFailure(fmt::format(
        "{} is CUPTI {}, whose records are not known; known are those of CUDA 12.3 and later",
        cupti.library.path(), version));
  }
}

class CuptiSource final : public ActivitySource {
 public:
  // Throws DeviceFailure, with everything as it was before.
  CuptiSource() {
    expect_driver();
    check_version(cupti_);
    if (!buffers_.start(cupti_)) {
      throw DeviceFailure("another source of this program is open");
    }
    try {
      // Attributes of buffers are left as they are; they would have to be set before this.
      cupti_.check(cupti_.register_callbacks(&ActivityBuffers::request, &ActivityBuffers::complete),
                   "cuptiActivityRegisterCallbacks");
      enable_kinds();
    } catch (const DeviceFailure&) {
      close();
      throw;
    }
  }

  ~CuptiSource() override { close(); }

  void push(std::uint64_t id) override {
    cupti_.check(cupti_.push_external_id(kExternalKind, id),
                 "cuptiActivityPushExternalCorrelationId");
  }

  void pop() override {
    // Fails only if nothing was pushed; guards call this from destructors, so it must not throw.
    cupti_.pop_external_id(kExternalKind, nullptr);
  }

  ActivityLog take() override {
    flush();
    std::size_t dropped = 0;
    cupti_.check(cupti_.get_num_dropped_records(nullptr, 0, &dropped),
                 "cuptiActivityGetNumDroppedRecords");
    ActivityLog log = buffers_.take();
    log.dropped_records += dropped;
    return log;
  }

  MachineLog machine() const override { return buffers_.machine(); }

 private:
  void enable_kinds() {
    for (const WantedKind& wanted : kWanted) {
      const CUptiResult result = cupti_.enable(wanted.kind);
      if (result == CUPTI_SUCCESS) {
        enabled_.push_back(wanted.kind);
      } else if (wanted.needed) {
        cupti_.check(result, fmt::format("cuptiActivityEnable of {}", wanted.name));
      }
    }
  }

  // Makes CUPTI hand out what it has. No lock of ours is held: CUPTI calls back meanwhile.
  void flush() {
    cupti_.check(cupti_.flush_all(0), "cuptiActivityFlushAll");
    if (buffers_.any_out()) {
      // Held back for a record that is not finished. The devices are idle, so none of theirs is.
      cupti_.check(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    }
  }

  // Undoes all; what fails now is of no consequence, since nobody listens any more.
  void close() {
    for (const CUpti_ActivityKind kind : enabled_) {
      cupti_.disable(kind);
    }
    if (!enabled_.empty()) {
      cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    }
    buffers_.stop();
  }

  CuptiLibrary cupti_{};
  ActivityBuffers& buffers_ = ActivityBuffers::instance();
  std::vector<CUpti_ActivityKind> enabled_{};
};

}  // namespace

std::unique_ptr<ActivitySource> open_cupti() {
  try {
    return std::make_unique<CuptiSource>();
  } catch (const DeviceFailure& failure) {
    return std::make_unique<ActivitySource>(failure.what());
  }
}

}  // namespace emplace::calibrate
