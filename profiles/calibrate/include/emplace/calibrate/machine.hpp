#pragma once

// The devices of this machine, and a whole calibration of them.

#include <emplace/calibrate/activity.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Says which devices to use, and how.
struct MachineOptions {
  /// Comma-separated: "gpu" (all of them), "cpu", and either cut into parts of one size: "gpu/2",
  /// "cpu/4".
  std::string devices = "gpu,cpu";
  bool full_precision = false;  ///< float32 on GPUs that could round factors to TF32
};

/// Holds the devices, GPUs first.
struct MachineDevices {
  std::vector<std::unique_ptr<ComputeDevice>> owned{};

  std::vector<ComputeDevice*> all() const;

  bool has_gpu() const;
};

/// Opens the devices; GPUs ask `activities` how long their work took, if it is not null, and CPUs
/// begin no work once `stop`, if it is not null, is true. Throws kUsage where `devices` names none,
/// or where there is no GPU but one is asked for; the message says what is missing, how to get it,
/// and how to go on without.
MachineDevices find_devices(const MachineOptions& options, const std::atomic<bool>* stop,
                            const std::shared_ptr<ActivitySource>& activities = nullptr);

/// Opens devices, and measures launches, copies and `sites` on them as calibrate() does.
/// `options.launches` is set here. `warn` gets what makes the result worse than it could be. Throws
/// as find_devices() and calibrate() do.
CalibratedMachine calibrate_machine(const MachineOptions& machine, std::span<const OpSite> sites,
                                    CalibrationOptions options, const Progress& progress,
                                    const std::function<void(const std::string&)>& warn);

}  // namespace emplace::calibrate
