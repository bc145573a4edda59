#include "measure.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/fit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace emplace::calibrate {
namespace {

// Long enough that what the host does between launches does not count, short enough to be quick.
constexpr std::int64_t kOverlapBytes = std::int64_t{64} << 20;
constexpr double kOverlapUs = 5000;

// Devices that are alike share a profile.
bool alike(const DeviceFacts& a, const DeviceFacts& b) {
  return a.device_class == b.device_class && a.product == b.product &&
         a.compute_units == b.compute_units;
}

double host_us(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

// The sample nearest to a millisecond: neither a launch nor a wait.
const OpSample* typical(const std::vector<OpSample>& samples) {
  const auto found = std::ranges::min_element(
      samples, {}, [](const OpSample& sample) { return std::abs(sample.time.median_us - 1000); });
  return found == samples.end() ? nullptr : &*found;
}

void tell_left_out(const MeasuredDeviceOps& measured, std::vector<std::string>& left_out) {
  for (const OpSite& site : measured.ops.unsupported) {
    left_out.push_back(
        fmt::format("{}: {}: nothing here can run it", measured.device, describe(site)));
  }
  for (const std::string& why : measured.ops.unstable) {
    left_out.push_back(fmt::format("{}: {}", measured.device, why));
  }
  if (measured.ops.not_measured > 0) {
    left_out.push_back(fmt::format("{}: {} ops: measuring ended before them", measured.device,
                                   measured.ops.not_measured));
  }
}

// Takes the samples that `table` has of ops of `sites` on a device; returns the other sites.
std::vector<OpSite> take_samples(const SampleTable& table, const std::string& device,
                                 std::span<const OpSite> sites, std::vector<OpSample>& samples) {
  std::map<OpKey, const TableSample*> by_key;
  for (const TableSample& sample : table.samples) {
    if (sample.device == device) {
      by_key.try_emplace(sample.key, &sample);
    }
  }
  std::vector<OpSite> others;
  for (const OpSite& site : sites) {
    const auto found = by_key.find(key_of(site.op));
    if (found == by_key.end()) {
      others.push_back(site);
      continue;
    }
    const TableSample& sample = *found->second;
    samples.push_back({.site = site,
                       .library = table.sources[sample.source].name,
                       .time = {.median_us = sample.us,
                                .relative_deviation = sample.relative_deviation,
                                .runs = sample.runs}});
  }
  return others;
}

// A copy is not there before the device that waits for it goes on.
void add_messages(std::span<const Message> messages, CopyFit& copies) {
  for (CopyCost& cost : copies.costs) {
    for (const Message& message : messages) {
      if ((cost.from == message.one && cost.to == message.other) ||
          (cost.from == message.other && cost.to == message.one)) {
        cost.alpha_us = std::max(cost.alpha_us, message.us);
      }
    }
  }
}

// How long the host takes for a kernel: as the framework launches them, or else as emplace does.
double host_launch_us(std::span<const MeasuredDeviceOps> devices, const SampleTable& samples) {
  double us = 0;
  std::int64_t kernels = 0;
  for (const TableSample& sample : samples.samples) {
    us += sample.kernels > 0 ? sample.host_us : 0;
    kernels += sample.kernels;
  }
  if (kernels > 0) {
    return us / static_cast<double>(kernels);
  }
  for (const MeasuredDeviceOps& device : devices) {
    us = std::max(us, device.launch.host_us);
  }
  return us;
}

// What else was found on a device, in sentences.
std::string notes_of(const MeasuredDeviceOps& measured, DeviceKind kind) {
  std::string notes;
  if (kind == DeviceKind::kGpu) {
    notes +=
        fmt::format(" Between two kernels it pauses {:.2f} us; the host launches one in {:.2f} us.",
                    measured.launch.gap_us, measured.launch.host_us);
  }
  if (const std::string throttling = describe_throttling(measured); !throttling.empty()) {
    notes += fmt::format(" {}.", throttling);
  }
  if (!measured.ops.below_clock.empty()) {
    notes += fmt::format(
        " {} ops were measured below the device's clock: it was throttled whenever it ran them.",
        measured.ops.below_clock.size());
  }
  if (measured.overlap) {
    notes += fmt::format(" Of a copy from the host {:.0f} % were hidden behind ops.",
                         100 * *measured.overlap);
  }
  return notes;
}

MeasuredDeviceOps measure_device(ComputeDevice& device, const Launch& launch,
                                 std::span<const OpSite> sites, const CalibrationOptions& options,
                                 const Progress& progress, std::vector<std::string>& left_out) {
  MeasuredDeviceOps measured{.device = device.facts().name, .launch = launch};
  std::vector<OpSample> of_framework;
  const std::vector<OpSite> others =
      take_samples(options.samples, measured.device, sites, of_framework);
  measured.ops = measure_ops(device, others, options.sampling, progress);
  measured.throttled_by = device.throttled_by();
  tell_left_out(measured, left_out);
  const OpSample* const sample = typical(measured.ops.samples);
  if (is_gpu(&device) && sample != nullptr && !options.sampling.is_stopped()) {
    const std::string what = fmt::format("{}: copies behind ops", measured.device);
    progress({.what = what});
    try {
      measured.overlap = measure_overlap(device, sample->site, options.sampling);
    } catch (const DeviceFailure& failure) {
      // The ops, which took minutes, are worth more than this one figure.
      left_out.push_back(fmt::format("{}: {}", what, failure.what()));
    }
  }
  // A call of a framework on a CPU ends when its work does: the launch is part of its time.
  if (!of_framework.empty() && !is_gpu(&device)) {
    measured.launch = {};
  }
  std::ranges::move(of_framework, std::back_inserter(measured.ops.samples));
  return measured;
}

}  // namespace

std::vector<Launch> measure_launches(std::span<ComputeDevice* const> devices) {
  std::vector<Launch> launches;
  std::ranges::transform(devices, std::back_inserter(launches),
                         [](ComputeDevice* device) { return device->launches(); });
  return launches;
}

std::string describe_throttling(const MeasuredDeviceOps& measured) {
  std::int64_t runs = 0;
  for (const OpSample& sample : measured.ops.samples) {
    runs += sample.time.throttled;
  }
  const std::string& why = measured.throttled_by;
  return runs == 0 ? ""
                   : fmt::format("{} runs were below the clock under load ({})", runs,
                                 why.empty() ? "nobody says why" : why);
}

double measure_overlap(ComputeDevice& device, const OpSite& site, const SamplingOptions& options) {
  const std::unique_ptr<OpProgram> program = device.compile(site);
  EMPLACE_CHECK(program != nullptr, "{} was measured", site.op.kind);
  const ProgramMemory memory(device, site, program->workspace_bytes());
  const std::unique_ptr<Memory> from = device.allocate_on_host(kOverlapBytes, true);
  const std::unique_ptr<Memory> to = device.allocate(kOverlapBytes, false);
  const std::unique_ptr<Queue> ops = device.make_queue();
  const std::unique_ptr<Queue> copies = device.make_queue();
  const auto median_us = [&](std::int32_t num_ops, std::int32_t num_copies) {
    std::vector<TimedRun> runs;
    for (std::int32_t i = 0; i < options.runs + options.warm_up_runs; ++i) {
      const double us = host_us([&] {
        for (std::int32_t op = 0; op < num_ops; ++op) {
          ops->run(*program, memory.buffers());
        }
        for (std::int32_t copy = 0; copy < num_copies; ++copy) {
          copies->copy(to->data(), from->data(), kOverlapBytes);
        }
        ops->finish();
        copies->finish();
      });
      if (i >= options.warm_up_runs) {
        runs.push_back({.us = us});
      }
    }
    return summarize(runs).median_us;
  };
  // As many of both as take about as long.
  const auto count = [](double us) {
    return std::max(1, static_cast<std::int32_t>(kOverlapUs / us));
  };
  const std::int32_t num_ops = count(median_us(1, 0));
  const std::int32_t num_copies = count(median_us(0, 1));
  const double ops_us = median_us(num_ops, 0);
  const double copies_us = median_us(0, num_copies);
  const double both_us = median_us(num_ops, num_copies);
  return std::clamp((ops_us + copies_us - both_us) / std::min(ops_us, copies_us), 0.0, 1.0);
}

CalibratedMachine calibrate(std::span<ComputeDevice* const> devices, std::span<const OpSite> sites,
                            const CalibrationOptions& options, const Progress& progress) {
  EMPLACE_CHECK(options.launches.size() == devices.size(), "launches of {} devices, not {}",
                options.launches.size(), devices.size());
  CalibratedMachine result;
  // First, because a cluster needs all routes, but not all ops.
  CopySamples copies = measure_copies(devices, options.sampling, progress);
  if (!copies.is_complete) {
    throw Error(ErrorCode::kUnsupported,
                "measuring was stopped before all copies between devices were measured: there is "
                "nothing to keep");
  }
  std::ranges::move(copies.unstable, std::back_inserter(result.left_out));
  result.copies = fit_copies(copies.samples);
  add_messages(copies.messages, result.copies);
  std::vector<std::string> names;
  std::ranges::transform(devices, std::back_inserter(names),
                         [](const ComputeDevice* device) { return device->facts().name; });
  expect_routes(names, result.copies);
  std::vector<MeasuredDevice> modelled;
  const bool has_gpu = std::ranges::any_of(devices, is_gpu);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceFacts& facts = devices[i]->facts();
    const auto known =
        std::find_if(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const ComputeDevice* device) { return alike(device->facts(), facts); });
    MeasuredDevice& device = modelled.emplace_back();
    device.name = facts.name;
    device.placeable = is_gpu(devices[i]) || !has_gpu;
    if (known != devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      device.profile = modelled[static_cast<std::size_t>(known - devices.begin())].profile;
      continue;
    }
    const MeasuredDeviceOps& measured = result.devices.emplace_back(measure_device(
        *devices[i], options.launches[i], sites, options, progress, result.left_out));
    result.is_complete = result.is_complete && measured.ops.not_measured == 0;
    device.profile =
        fit_device_profile(facts, measured.ops.samples, options.date, measured.launch.gap_us);
    device.profile.provenance.notes += notes_of(measured, facts.kind);
  }
  // A device without an op, as are those after the one that was measured when it was stopped, has
  // its peaks and a guess.
  const bool has_ops = std::ranges::any_of(result.devices, [](const MeasuredDeviceOps& measured) {
    return !measured.ops.samples.empty();
  });
  if (!has_ops && !result.is_complete) {
    throw Error(ErrorCode::kUnsupported,
                "measuring was stopped before any op was measured: there is nothing to keep");
  }
  result.cluster = fit_cluster(
      options.name, fmt::format("{} devices, measured", devices.size()),
      {.kind = "measured", .source = "emplace calibrate", .date = options.date, .notes = ""},
      modelled, result.copies);
  // As the products were measured.
  const bool has_tf32 = std::ranges::any_of(
      devices, [](const ComputeDevice* device) { return device->facts().tf32_flops_per_us > 0; });
  result.cluster.math = has_tf32 ? MathMode::kTf32 : MathMode::kFloat32;
  result.cluster.host.launch_us = host_launch_us(result.devices, options.samples);
  return result;
}

}  // namespace emplace::calibrate
