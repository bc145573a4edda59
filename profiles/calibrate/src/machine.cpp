#include "cuda/gpu_monitor.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/lexical_cast/try_lexical_convert.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace emplace::calibrate {
namespace {

using Devices = std::vector<std::unique_ptr<ComputeDevice>>;

// Returns into how many parts of one size each kind of device is cut.
std::map<std::string, std::int32_t> parts_by_kind(const std::string& devices) {
  std::map<std::string, std::int32_t> found;
  std::vector<std::string> texts;
  for (const std::string& text : boost::split(texts, devices, boost::is_any_of(","))) {
    const std::size_t slash = text.find('/');
    const std::string kind = text.substr(0, slash);
    std::int32_t parts = 1;
    if ((kind != "gpu" && kind != "cpu") ||
        (slash != std::string::npos &&
         !boost::conversion::try_lexical_convert(text.substr(slash + 1), parts)) ||
        parts < 1) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("--devices: expected gpu, cpu, gpu/PARTS or cpu/PARTS, found '{}'",
                              excerpt(text)));
    }
    if (!found.emplace(kind, parts).second) {
      throw Error(ErrorCode::kUsage, fmt::format("--devices: {} is given twice", kind));
    }
  }
  return found;
}

void add_cpus(std::int32_t parts, const std::atomic<bool>* stop, Devices& machine) {
  const std::vector<int> cores = usable_cores();
  const auto per_part = static_cast<std::int32_t>(cores.size()) / parts;
  if (per_part == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--devices: {} cores can't be cut into {} parts", cores.size(), parts));
  }
  for (std::int32_t part = 0; part < parts; ++part) {
    const auto first = static_cast<std::size_t>(part) * static_cast<std::size_t>(per_part);
    machine.push_back(
        make_cpu_device(fmt::format("cpu:{}", part),
                        std::span(cores).subspan(first, static_cast<std::size_t>(per_part)), stop));
  }
}

void add_gpus(std::int32_t parts, const MachineOptions& options,
              const std::shared_ptr<ActivitySource>& activities, Devices& machine) {
  CudaDevices found;
  try {
    found =
        cuda_devices({.tf32 = !options.full_precision, .parts = parts, .activities = activities});
  } catch (const Error& error) {  // a GPU can't be cut into so many parts
    throw Error(error.code(), fmt::format("--devices: {}", error.what()));
  }
  if (found.devices.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("no GPU to calibrate: {}; to calibrate the CPU alone, add --devices cpu",
                    found.missing));
  }
  std::ranges::move(found.devices, std::back_inserter(machine));
}

// Opens the devices; GPUs ask `activities` how long their work took, if it is not null, and CPUs
// begin no work once `stop`, if it is not null, is true.
Devices find_devices(const MachineOptions& options, const std::atomic<bool>* stop,
                     const std::shared_ptr<ActivitySource>& activities = nullptr) {
  const std::map<std::string, std::int32_t> parts = parts_by_kind(options.devices);
  Devices machine;
  if (const auto gpus = parts.find("gpu"); gpus != parts.end()) {
    add_gpus(gpus->second, options, activities, machine);
  }
  if (const auto cpus = parts.find("cpu"); cpus != parts.end()) {
    add_cpus(cpus->second, stop, machine);
  }
  return machine;
}

std::vector<ComputeDevice*> all_of(const Devices& devices) {
  std::vector<ComputeDevice*> all;
  std::ranges::transform(devices, std::back_inserter(all), &Devices::value_type::get);
  return all;
}

}  // namespace

CalibratedMachine calibrate_machine(const MachineOptions& machine, std::span<const OpSite> sites,
                                    CalibrationOptions options, const Progress& progress,
                                    const std::function<void(const std::string&)>& warn) {
  bool has_gpu = false;
  {  // Launches are measured by devices of their own, which nothing profiles.
    const Devices plain = find_devices(machine, options.sampling.stop);
    const std::vector<ComputeDevice*> all = all_of(plain);
    has_gpu = std::ranges::any_of(all, is_gpu);
    if (GpuMonitor* const monitor = nvml_monitor(); has_gpu && monitor != nullptr) {
      warn_of_other_work(*monitor, all, warn);
    }
    options.launches = measure_launches(all);
  }
  const std::shared_ptr<ActivitySource> activities =
      has_gpu ? open_cupti() : std::make_unique<ActivitySource>();
  if (!activities->why_none().empty()) {
    warn(fmt::format("ops are timed with events, which include the gaps between their kernels: {}",
                     activities->why_none()));
  }
  const Devices devices = find_devices(machine, options.sampling.stop, activities);
  CalibratedMachine calibrated = calibrate(all_of(devices), sites, options, progress);
  for (const MeasuredDeviceOps& measured : calibrated.devices) {
    if (const std::string throttling = describe_throttling(measured); !throttling.empty()) {
      warn(fmt::format("{}: {}", measured.device, throttling));
    }
  }
  if (const std::string facts = describe_machine(activities->machine()); !facts.empty()) {
    std::string& notes = calibrated.cluster.provenance.notes;
    notes += (notes.empty() ? "" : " ") + facts;
  }
  return calibrated;
}

}  // namespace emplace::calibrate
