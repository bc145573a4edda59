#include "activity_buffers.hpp"
#include "activity_records.hpp"
#include "cupti_library.hpp"

#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <vector>

namespace emplace::calibrate {
namespace {

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

void check_driver() {
  // Without a driver CUPTI says no more than "unknown error".
  const SharedLibrary driver({.what = "NVIDIA's driver",
                              .names = {"libcuda.so.1"},
                              .remedy = "Run on a machine with a GPU and its driver (in a "
                                        "container: with the NVIDIA Container Toolkit)"});
}

// Refuses a library that writes other records than we know.
void check_version(const CuptiLibrary& cupti) {
  std::uint32_t version = 0;
  cupti.check(cupti.get_version(&version), "cuptiGetVersion");
  if (!knows_cupti(version)) {
    throw DeviceFailure(fmt::format(
        "{} is CUPTI {}, whose records are not known; known are those of CUDA 12.3 and later",
        cupti.library.path(), version));
  }
}

class CuptiSource final : public ActivitySource {
 public:
  // Throws DeviceFailure, with everything as it was before.
  CuptiSource() {
    check_driver();
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

  std::string_view why_none() const override { return {}; }

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
    return no_activities(failure.what());
  }
}

}  // namespace emplace::calibrate
