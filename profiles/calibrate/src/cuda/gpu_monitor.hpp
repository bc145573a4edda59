#pragma once

// What the driver knows of a GPU besides what runs on it here: other work, and why its clocks are
// low. NVML tells it; the interface stands between it and what is said to users.

#include <emplace/calibrate/compute_device.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Tells of GPUs, which have the names that Linux gives them on the PCI bus: "0000:3b:00.0".
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  /// Returns in how many percent of the last moments a kernel ran; none if the driver does not say.
  virtual std::optional<unsigned> utilization(const std::string& bus_id) = 0;
  /// Returns the processes that compute on it, but for this one: "python3 (1234)".
  virtual std::vector<std::string> other_processes(const std::string& bus_id) = 0;
  /// Returns why its clocks are not higher now: bits of NVML's clocks event reasons.
  virtual std::uint64_t clock_reasons(const std::string& bus_id) = 0;
};

/// Returns the monitor by NVML (libnvidia-ml.so.1), which all share; null where there is none.
GpuMonitor* nvml_monitor();

/// Returns which of the reasons throttle a GPU, separated by commas; empty if none does.
std::string describe_clock_reasons(std::uint64_t reasons);

/// Warns of what else GPUs do, once for each. Call it before work starts.
void warn_of_other_work(GpuMonitor& monitor, std::span<ComputeDevice* const> devices,
                        const std::function<void(const std::string&)>& warn);

}  // namespace emplace::calibrate
