#include "command.hpp"
#include "facts/optional_parts.hpp"
#include "help_text.hpp"
#include "machine/calibration_report.hpp"
#include "machine/measuring_progress.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "python_package.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/params.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/calibrate/sample_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

namespace emplace::cli {
namespace {

struct CalibrateOptions {
  calibrate::MachineOptions machine;
  std::vector<std::string> graphs = {"inception-v3", "nmt"};
  std::string output;
  std::string name = "this-machine";
  std::string framework;
  std::string samples;
  std::string save_samples;
  calibrate::SamplingOptions sampling;
};

// Copies are measured from 4 bytes on by factors of 4, and a line needs two sizes.
constexpr std::int64_t kMinMaxCopy = 16;

std::vector<OpGraph> load_graphs(const std::vector<std::string>& names) {
  std::vector<OpGraph> graphs;
  graphs.reserve(names.size());
  for (const std::string& name : names) {
    graphs.push_back(load_graph(name));
  }
  return graphs;
}

// Warns if the CPU is to be measured without oneDNN: a placement would be judged by convolutions
// that no framework runs so slowly.
void note_missing_onednn(const calibrate::MachineOptions& options) {
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

// Returns whether all was measured.
bool calibrate_and_write(const CalibrateOptions& options, std::span<const OpGraph> graphs,
                         const calibrate::Progress& progress) {
  calibrate::CalibrationOptions how{
      .name = options.name,
      .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
      .sampling = options.sampling};
  if (!options.samples.empty()) {
    how.samples = calibrate::read_sample_table(options.samples);
  }
  std::ofstream saved;
  if (!options.save_samples.empty()) {
    const calibrate::SampleSource source{
        .name = "emplace", .location = "this machine", .version = how.date, .licence = "none"};
    saved.open(options.save_samples);
    saved << calibrate::sample_table_head(source) << std::flush;
    how.sampling.on_sample = [source, &saved](const std::string& device,
                                              const calibrate::OpSample& sample) {
      saved << calibrate::sample_table_row(device, sample, source) << std::flush;
    };
  }
  const calibrate::CalibratedMachine calibrated = calibrate::calibrate_machine(
      options.machine, calibrate::distinct_sites(graphs), std::move(how), progress,
      [](const std::string& warning) { note("emplace: warning: " + warning); });
  write_answer(options.output, write_cluster_json(calibrated.cluster));
  print_text(cli::to_text(calibrated));
  return calibrated.is_complete;
}

Outcome run(CalibrateOptions options) {
  // Mistakes are reported before anything takes time.
  if (options.name.empty()) {
    throw Error(ErrorCode::kUsage, "--name: expected a name, found ''");
  }
  if (options.output == "-") {
    throw Error(ErrorCode::kUsage, "--output: expected the name of a file, found '-'");
  }
  expect_writable(options.output);
  if (!options.save_samples.empty()) {
    expect_writable(options.save_samples);
  }
  const std::vector<OpGraph> graphs = load_graphs(options.graphs);
  note_missing_onednn(options.machine);
  const std::atomic<bool>& stop = stop_on_signal();
  options.sampling.stop = &stop;
  MeasuringProgress line;
  const calibrate::Progress progress = [&](const calibrate::ProgressNote& note) {
    line.show(note);
  };
  bool is_complete = false;
  try {
    is_complete = calibrate_and_write(options, graphs, progress);
  } catch (const Error& error) {
    if (!stop) {
      throw;
    }
    line.clear();
    print_error(fmt::format("emplace: {}", error.what()));
    return Outcome::kInterrupted;
  }
  line.clear();
  if (!is_complete) {
    note(
        fmt::format("emplace: stopped; {} contains what was measured so far; other costs are "
                    "fitted or guesses",
                    options.output));
  }
  return stop ? Outcome::kInterrupted : Outcome::kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine, so that the simulator can predict it");
  command->group("Measure");
  set_examples(*command, {"emplace calibrate --devices cpu -o machine.json"});
  const auto options = std::make_shared<CalibrateOptions>();
  add_graphs(*command, options->graphs)
      ->description("Measure the ops of these graphs")
      ->default_str("inception-v3 nmt");
  CLI::Option* const framework =
      command
          ->add_option("--framework", options->framework,
                       "Measure each op as this framework runs it: torch")
          ->check(CLI::IsMember({"torch"}))
          ->type_name("NAME")
          ->group("Measurement");
  command
      ->add_option("--samples", options->samples,
                   "Take times of ops from this table, and measure only those that are missing")
      ->type_name("FILE")
      ->excludes(framework)
      ->group("Measurement");
  command
      ->add_option("--save-samples", options->save_samples,
                   "Write the time of each op here as soon as it is measured, for --samples")
      ->type_name("FILE")
      ->group("Measurement");
  command
      ->add_option("--devices", options->machine.devices,
                   "gpu, cpu, or parts of them such as gpu/2 or cpu/4")
      ->type_name("DEVICE,...")
      ->capture_default_str()
      ->group("Measurement");
  command
      ->add_flag("--fp32", options->machine.full_precision,
                 "Compute in float32 on GPUs, not in TF32 as frameworks do")
      ->group("Measurement");
  command->add_option("--runs", options->sampling.runs, "Runs of each op and copy")
      ->transform(whole_number_from(1, 10000))
      ->type_name("N")
      ->capture_default_str()
      ->group("Measurement");
  command->add_option("--name", options->name, "Name of the cluster")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Measurement");
  command
      ->add_option("--max-copy", options->sampling.max_copy_bytes,
                   "Largest copy to measure in bytes")
      ->transform(whole_number_from(kMinMaxCopy, std::int64_t{1} << 40))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group("Measurement");
  add_output(*command, options->output, "Write the measured cluster here")->required();
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      if (!options->framework.empty()) {
        run_in_python(invocation.arguments);
      }
      try {
        return run(*options);
      } catch (const calibrate::DeviceFailure& failure) {
        throw Error(ErrorCode::kUnsupported, failure.what());
      }
    };
  });
}

}  // namespace emplace::cli
