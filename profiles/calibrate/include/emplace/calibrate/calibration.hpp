#pragma once

// A whole calibration: opens the devices of this machine, measures the ops that graphs need on
// each, launches, and copies between devices, and makes a cluster of it on which the simulator
// predicts this machine.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/copy_fit.hpp>
#include <emplace/calibrate/sample_file.hpp>
#include <emplace/calibrate/sampling.hpp>
#include <emplace/profiles/cluster.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Measures launches on each of `devices`. Call it before anything profiles them, because profiling
/// slows launches down for the rest of the process.
std::vector<Launch> measure_launches(std::span<ComputeDevice* const> devices);

/// The name of the cluster, and how long to measure.
struct CalibrationOptions {
  std::string name{};  ///< of the cluster, kebab-case
  std::string date{};  ///< ISO 8601
  /// What a launch takes on each device, by device (measure_launches()).
  std::vector<Launch> launches{};
  SamplingOptions sampling{};
  /// What a framework measured on these devices, by their names: these ops are not measured again.
  SampleTable samples{};
};

/// What was measured on one device, or on the first of several that are alike.
struct MeasuredDeviceOps {
  std::string device{};
  OpSamples ops{};
  Launch launch{};
  /// How much of the shorter of a copy from the host and an op is hidden behind the longer when
  /// both run at once, 0 to 1; nothing for a CPU.
  std::optional<double> overlap{};
  std::string throttled_by{};  ///< as ComputeDevice::throttled_by(), after the ops
};

/// Says how many runs on a device were below its clock under load, and why; empty if none was.
std::string describe_throttling(const MeasuredDeviceOps& measured);

/// The outcome of a calibration.
struct CalibratedMachine {
  Cluster cluster{};
  std::vector<MeasuredDeviceOps> devices{};
  CopyFit copies{};
  std::vector<std::string> left_out{};  ///< ops and copies that have no sample, and why
  bool is_complete = true;  ///< false if measuring was stopped; what was measured is in the cluster
};

/// Measures `sites` on `devices` and copies between them. Devices of one class, product and number
/// of compute units are alike: the ops are measured on the first. A CPU next to GPUs is not
/// placeable. If measuring is stopped, the cluster consists of what was measured, and of guesses on
/// devices without an op; throws kUnsupported unless all copies and at least one op were measured.
/// Also throws kUnsupported, before it measures ops, if no copy connects two of the devices. Throws
/// DeviceFailure if a device can't be used at all.
CalibratedMachine calibrate(std::span<ComputeDevice* const> devices, std::span<const OpSite> sites,
                            const CalibrationOptions& options, const Progress& progress);

/// Returns how much of a copy of pinned host memory to `device` and of runs of `program` is hidden
/// behind the other when both run at once: (t_op + t_copy - t_both) / min(t_op, t_copy).
double measure_overlap(ComputeDevice& device, const OpSite& site, const SamplingOptions& options);

/// Says which devices to use, and how.
struct MachineOptions {
  /// Comma-separated: "gpu" (all of them), "cpu", and either cut into parts of one size: "gpu/2",
  /// "cpu/4".
  std::string devices = "gpu,cpu";
  bool full_precision = false;  ///< float32 on GPUs that could round factors to TF32
};

/// Opens devices, GPUs first, and measures launches, copies and `sites` on them as calibrate()
/// does. `options.launches` is set here. `warn` gets what makes the result worse than it could be.
/// Throws as calibrate() does, and kUsage where `devices` names none, or where there is no GPU but
/// one is asked for; the message says what is missing, how to get it, and how to go on without.
CalibratedMachine calibrate_machine(const MachineOptions& machine, std::span<const OpSite> sites,
                                    CalibrationOptions options, const Progress& progress,
                                    const std::function<void(const std::string&)>& warn);

}  // namespace emplace::calibrate
