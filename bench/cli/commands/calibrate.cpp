#include "command.hpp"
#include "help_text.hpp"
#include "machine/calibration_report.hpp"
#include "machine/machine_devices.hpp"
#include "machine/measuring_progress.hpp"
#include "options.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/params.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/calibrate/machine_facts.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

namespace emplace::cli {
namespace {

struct CalibrateOptions {
  MachineOptions machine;
  std::vector<std::string> graphs = {"inception-v3", "nmt"};
  std::string output;
  std::string name = "this-machine";
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

// Launches are measured by devices of their own, which nothing profiles.
std::vector<calibrate::Launch> launches_of(const CalibrateOptions& options, bool& has_gpu) {
  const MachineDevices machine = find_devices(options.machine, *options.sampling.stop);
  has_gpu = machine.has_gpu();
  return calibrate::measure_launches(machine.all());
}

// Returns whether all was measured.
bool calibrate_and_write(const CalibrateOptions& options, std::span<const OpGraph> graphs,
                         const calibrate::Progress& progress) {
  bool has_gpu = false;
  std::vector<calibrate::Launch> launches = launches_of(options, has_gpu);
  calibrate::ActivityLog log;
  const MachineDevices machine =
      profiled_devices(options.machine, has_gpu, *options.sampling.stop, &log);
  calibrate::CalibratedMachine calibrated =
      calibrate::calibrate(machine.all(), calibrate::distinct_sites(graphs),
                           {.name = options.name,
                            .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
                            .launches = std::move(launches),
                            .sampling = options.sampling},
                           progress);
  if (const std::string facts = describe_machine(log); !facts.empty()) {
    std::string& notes = calibrated.cluster.provenance.notes;
    notes += (notes.empty() ? "" : " ") + facts;
  }
  for (DeviceProfile& profile : calibrated.cluster.profiles) {
    if (profile.calibration && profile.device_class.starts_with("gpu-")) {
      profile.calibration->clocks = describe_clocks(log);
    }
  }
  write_text_file(options.output, write_cluster_json(calibrated.cluster));
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
  add_machine_options(*command, options->machine);
  add_runs(*command, options->sampling.runs);
  command->add_option("--name", options->name, "Name of the cluster")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Measurement");
  command
      ->add_option("--max-copy", options->sampling.max_copy_bytes,
                   "Largest copy to measure in bytes")
      ->check(CLI::Range(kMinMaxCopy, std::int64_t{1} << 40))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group("Measurement");
  add_output(*command, options->output, "Write the measured cluster here")->required();
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      try {
        return run(*options);
      } catch (const calibrate::DeviceFailure& failure) {
        throw Error(ErrorCode::kUnsupported, failure.what());
      }
    };
  });
}

}  // namespace emplace::cli
