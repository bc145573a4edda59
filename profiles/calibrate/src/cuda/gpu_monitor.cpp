#include "gpu_monitor.hpp"

#include "shared_library.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace emplace::calibrate {
namespace {

// A GPU that nobody uses shows a few percent now and then.
constexpr unsigned kIdlePercent = 5;

// Of nvml.h, which few toolkits have without the driver's development files. NVML keeps the binary
// interface of its functions: newer ones have other names.
struct NvmlUtilization {
  unsigned gpu;
  unsigned memory;
};
struct NvmlProcess {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
using NvmlDevice = struct nvmlDevice_st*;
constexpr int kNvmlSuccess = 0;

class NvmlMonitor final : public GpuMonitor {
 public:
  NvmlMonitor() {
    const SharedLibrary library(
        {.what = "NVML", .names = {"libnvidia-ml.so.1"}, .remedy = "It comes with the driver"});
    int (*const init)() = library["nvmlInit_v2"];
    get_handle_ = library["nvmlDeviceGetHandleByPciBusId_v2"];
    get_utilization_ = library["nvmlDeviceGetUtilizationRates"];
    get_processes_ = library["nvmlDeviceGetComputeRunningProcesses_v3"];
    get_process_name_ = library["nvmlSystemGetProcessName"];
    // Renamed in driver 535; the old name is still there.
    get_reasons_ = library["nvmlDeviceGetCurrentClocksThrottleReasons"];
    if (init() != kNvmlSuccess) {
      throw DeviceFailure("NVML does not start");
    }
  }

  std::optional<unsigned> utilization(const std::string& bus_id) override {
    NvmlDevice device = nullptr;
    NvmlUtilization rates{};
    const bool is_told = find(bus_id, device) && get_utilization_(device, &rates) == kNvmlSuccess;
    return is_told ? std::optional(rates.gpu) : std::nullopt;
  }

  std::vector<std::string> other_processes(const std::string& bus_id) override {
    NvmlDevice device = nullptr;
    std::array<NvmlProcess, 64> processes{};
    auto count = static_cast<unsigned>(processes.size());
    std::vector<std::string> others;
    if (!find(bus_id, device) || get_processes_(device, &count, processes.data()) != kNvmlSuccess) {
      return others;
    }
    for (unsigned i = 0; i < count; ++i) {
      const unsigned pid = processes[i].pid;
      if (pid == static_cast<unsigned>(getpid())) {
        continue;
      }
      std::array<char, 256> name{};
      // In a container, processes outside have numbers but no names.
      const bool is_named = get_process_name_(pid, name.data(), name.size() - 1) == kNvmlSuccess;
      const std::string_view path = is_named ? name.data() : "a process";
      others.push_back(fmt::format("{} ({})", path.substr(path.rfind('/') + 1), pid));
    }
    return others;
  }

  std::uint64_t clock_reasons(const std::string& bus_id) override {
    NvmlDevice device = nullptr;
    unsigned long long reasons = 0;
    return find(bus_id, device) && get_reasons_(device, &reasons) == kNvmlSuccess ? reasons : 0;
  }

 private:
  bool find(const std::string& bus_id, NvmlDevice& device) const {
    return get_handle_(bus_id.c_str(), &device) == kNvmlSuccess;
  }

  int (*get_handle_)(const char*, NvmlDevice*);
  int (*get_utilization_)(NvmlDevice, NvmlUtilization*);
  int (*get_processes_)(NvmlDevice, unsigned*, NvmlProcess*);
  int (*get_process_name_)(unsigned, char*, unsigned);
  int (*get_reasons_)(NvmlDevice, unsigned long long*);
};

// That a GPU is idle, or has the clocks that somebody set, is no throttling.
constexpr auto kReasons = std::to_array<std::pair<std::uint64_t, std::string_view>>(
    {{0x04, "power cap"},
     {0x08, "hardware slowdown"},
     {0x20, "thermal slowdown by the driver"},
     {0x40, "thermal slowdown by the hardware"},
     {0x80, "power brake"}});

}  // namespace

GpuMonitor* nvml_monitor() {
  static const std::unique_ptr<GpuMonitor> monitor = []() -> std::unique_ptr<GpuMonitor> {
    try {
      return std::make_unique<NvmlMonitor>();
    } catch (const DeviceFailure&) {  // the profile notes that it is missing
      return nullptr;
    }
  }();
  return monitor.get();
}

std::string describe_clock_reasons(std::uint64_t reasons) {
  std::vector<std::string_view> found;
  for (const auto& [bit, text] : kReasons) {
    if ((reasons & bit) != 0) {
      found.push_back(text);
    }
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

void warn_of_other_work(GpuMonitor& monitor, std::span<ComputeDevice* const> devices,
                        const std::function<void(const std::string&)>& warn) {
  std::set<std::string> seen;
  for (const ComputeDevice* device : devices) {
    const DeviceFacts& facts = device->facts();
    if (facts.kind != DeviceKind::kGpu || !seen.insert(facts.pci_bus_id).second) {
      continue;  // parts of a GPU do the same
    }
    const std::vector<std::string> others = monitor.other_processes(facts.pci_bus_id);
    const unsigned busy = monitor.utilization(facts.pci_bus_id).value_or(0);
    if (!others.empty() || busy > kIdlePercent) {
      warn(
          fmt::format("{} does other work, so what is measured may be too slow: it is busy {} % "
                      "of the time{}{}",
                      facts.name, busy, others.empty() ? "" : ", with ", fmt::join(others, ", ")));
    }
  }
}

}  // namespace emplace::calibrate
