#pragma once

// The devices of this machine that `emplace calibrate` measures and `emplace validate` uses.

#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/compute_device.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/App.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::cli {

/// Says which devices to use, and how.
struct MachineOptions {
  /// Comma-separated: "gpu" (all of them), "cpu", and either cut into parts of one size: "gpu/2",
  /// "cpu/4".
  std::string devices = "gpu,cpu";
  bool full_precision = false;  ///< float32 on GPUs that could round factors to TF32
};

/// Adds --devices and --fp32.
void add_machine_options(CLI::App& command, MachineOptions& options);

/// Adds --runs.
void add_runs(CLI::App& command, int& runs);

/// Holds the devices, GPUs first.
struct MachineDevices {
  std::vector<std::unique_ptr<calibrate::ComputeDevice>> owned{};

  std::vector<calibrate::ComputeDevice*> all() const;

  bool has_gpu() const;
};

/// Opens the devices; GPUs ask `activities` how long their work took, if it is not null, and CPUs
/// begin no work once `stop` is true. Throws kUsage where there is no GPU but one is asked for; the
/// message says what is missing, how to get it, and how to go on without.
MachineDevices find_devices(const MachineOptions& options, const std::atomic<bool>& stop,
                            const std::shared_ptr<calibrate::ActivitySource>& activities = nullptr);

/// Opens the devices, with a profiler for GPUs, and warns if there is none to be had. What CUPTI
/// tells about the machine is added to `log`, if that is not null.
MachineDevices profiled_devices(const MachineOptions& options, bool has_gpu,
                                const std::atomic<bool>& stop, calibrate::ActivityLog* log);

/// Warns if the CPU is to be measured without oneDNN: a placement would be judged by convolutions
/// that no framework runs so slowly.
void note_missing_onednn(const MachineOptions& options);

/// Throws kUsage unless `cluster` has exactly the devices of this machine, by name and in order.
/// Warns where one is of another class, or computes in another precision, than the cluster says.
/// `source` names the cluster.
void expect_devices_of(const Cluster& cluster, const std::string& source,
                       std::span<calibrate::ComputeDevice* const> devices);

}  // namespace emplace::cli
