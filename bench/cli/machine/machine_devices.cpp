#include "machine_devices.hpp"

#include "facts/optional_parts.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <utility>

namespace emplace::cli {
namespace {

struct Wanted {
  bool is_gpu = false;
  std::int32_t parts = 1;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(std::move(part));
  }
  if (parts.empty()) {
    parts.emplace_back();  // nothing is one part, too
  }
  return parts;
}

Wanted parse_device(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string kind = text.substr(0, slash);
  Wanted wanted{.is_gpu = kind == "gpu"};
  bool valid = kind == "gpu" || kind == "cpu";
  if (slash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, wanted.parts);
    valid = valid && error == std::errc() && stop == end && wanted.parts >= 1;
  }
  if (!valid) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--devices: expected gpu, cpu, gpu/PARTS or cpu/PARTS, found '{}'",
                            excerpt(text)));
  }
  return wanted;
}

void add_cpus(std::int32_t parts, const std::atomic<bool>& stop, MachineDevices& machine) {
  const std::vector<int> cores = calibrate::usable_cores();
  const auto per_part = static_cast<std::int32_t>(cores.size()) / parts;
  if (per_part == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--devices: {} cores can't be cut into {} parts", cores.size(), parts));
  }
  for (std::int32_t part = 0; part < parts; ++part) {
    const auto first = static_cast<std::size_t>(part) * static_cast<std::size_t>(per_part);
    machine.owned.push_back(calibrate::make_cpu_device(
        fmt::format("cpu:{}", part),
        std::span(cores).subspan(first, static_cast<std::size_t>(per_part)), &stop));
  }
}

void add_gpus(const Wanted& wanted, const MachineOptions& options,
              const std::shared_ptr<calibrate::ActivitySource>& activities,
              MachineDevices& machine) {
  calibrate::CudaDevices found;
  try {
    found = calibrate::cuda_devices(
        {.tf32 = !options.full_precision, .parts = wanted.parts, .activities = activities});
  } catch (const Error& error) {  // a GPU can't be cut into so many parts
    throw Error(error.code(), fmt::format("--devices: {}", error.what()));
  }
  if (found.devices.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("no GPU to calibrate: {}; to calibrate the CPU alone, add --devices cpu",
                    found.missing));
  }
  std::ranges::move(found.devices, std::back_inserter(machine.owned));
}

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command
      .add_option("--devices", options.devices, "gpu, cpu, or parts of them such as gpu/2 or cpu/4")
      ->type_name("DEVICE,...")
      ->capture_default_str()
      ->group("Measurement");
  command
      .add_flag("--fp32", options.full_precision,
                "Compute in float32 on GPUs, not in TF32 as frameworks do")
      ->group("Measurement");
}

void add_runs(CLI::App& command, int& runs) {
  command.add_option("--runs", runs, "Runs of each op and copy")
      ->check(CLI::Range(1, 10000))
      ->type_name("N")
      ->capture_default_str()
      ->group("Measurement");
}

std::vector<calibrate::ComputeDevice*> MachineDevices::all() const {
  std::vector<calibrate::ComputeDevice*> devices;
  std::ranges::transform(owned, std::back_inserter(devices),
                         [](const auto& device) { return device.get(); });
  return devices;
}

bool MachineDevices::has_gpu() const {
  return std::ranges::any_of(owned, [](const auto& device) {
    return device->facts().kind == calibrate::DeviceKind::kGpu;
  });
}

MachineDevices find_devices(const MachineOptions& options, const std::atomic<bool>& stop,
                            const std::shared_ptr<calibrate::ActivitySource>& activities) {
  std::vector<Wanted> wanted;
  for (const std::string& text : split(options.devices, ',')) {
    wanted.push_back(parse_device(text));
  }
  std::stable_partition(wanted.begin(), wanted.end(),
                        [](const Wanted& each) { return each.is_gpu; });
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    if (wanted[i].is_gpu == wanted[i - 1].is_gpu) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("--devices: {} is given twice", wanted[i].is_gpu ? "gpu" : "cpu"));
    }
  }
  MachineDevices machine;
  for (const Wanted& each : wanted) {
    if (each.is_gpu) {
      add_gpus(each, options, activities, machine);
    } else {
      add_cpus(each.parts, stop, machine);
    }
  }
  return machine;
}

MachineDevices profiled_devices(const MachineOptions& options, bool has_gpu,
                                const std::atomic<bool>& stop, calibrate::ActivityLog* log) {
  if (!has_gpu) {
    return find_devices(options, stop);
  }
  std::unique_ptr<calibrate::ActivitySource> source = calibrate::open_cupti();
  if (!source->why_none().empty()) {
    note(
        fmt::format("emplace: warning: ops are timed with events, which include the gaps between "
                    "their kernels: {}",
                    source->why_none()));
  }
  if (log != nullptr) {
    source = calibrate::keep_machine(std::move(source), *log);
  }
  return find_devices(options, stop, std::move(source));
}

void note_missing_onednn(const MachineOptions& options) {
  const auto parts = optional_parts();
  const auto onednn = std::ranges::find(parts, "oneDNN", &OptionalPart::name);
  if (onednn != parts.end() && !onednn->present &&
      options.devices.find("cpu") != std::string::npos) {
    note(
        fmt::format("emplace: warning: without oneDNN, convolutions and matrix products on the CPU "
                    "run as plain loops, far slower than in a framework; {}",
                    onednn->how_to_get));
  }
}

void expect_devices_of(const Cluster& cluster, const std::string& source,
                       std::span<calibrate::ComputeDevice* const> devices) {
  const bool equal = std::ranges::equal(
      cluster.devices, devices, {}, &Device::name,
      [](const calibrate::ComputeDevice* device) { return device->facts().name; });
  if (!equal) {
    std::vector<std::string> expected;
    std::ranges::transform(cluster.devices, std::back_inserter(expected), &Device::name);
    std::vector<std::string> found;
    std::ranges::transform(devices, std::back_inserter(found),
                           [](const auto* device) { return device->facts().name; });
    throw Error(ErrorCode::kUsage,
                fmt::format("cluster {} has the devices {}; --devices gives {} of this machine",
                            source, fmt::join(expected, ", "), fmt::join(found, ", ")));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceProfile& profile = cluster.profiles[cluster.devices[i].profile];
    const calibrate::DeviceFacts& facts = devices[i]->facts();
    if (profile.device_class != facts.device_class) {
      note(fmt::format("emplace: warning: {} of cluster {} is a {}, but this machine has a {}",
                       facts.name, source, profile.device_class, facts.device_class));
    }
    const MathMode measured = facts.tf32_flops_per_us > 0 ? MathMode::kTf32 : MathMode::kFloat32;
    // Without a peak for TF32 all is float32, whatever the cluster says.
    const MathMode predicted = profile.tf32_flops_per_us > 0 ? cluster.math : MathMode::kFloat32;
    if (predicted != measured) {
      note(fmt::format(
          "emplace: warning: {} of cluster {} computes in {}, but on this machine it is in {}{}",
          facts.name, source, to_string(predicted), to_string(measured),
          measured == MathMode::kTf32 && predicted == MathMode::kFloat32 ? "; see --fp32" : ""));
    }
  }
}

}  // namespace emplace::cli
