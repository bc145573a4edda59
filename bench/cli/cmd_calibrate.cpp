#include "calibration_report.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "machine_devices.hpp"
#include "measuring_progress.hpp"
#include "optional_parts.hpp"
#include "options.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/bench/problem_set.hpp>
#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/calibrate/machine_facts.hpp>
#include <emplace/calibrate/validation.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace emplace::cli {
namespace {

struct CalibrateOptions {
  MachineOptions machine;
  std::vector<std::string> graphs = {"inception-v3", "nmt"};
  std::string output;
  std::string name = "this-machine";
  std::vector<std::string> validate;
  std::string cluster;
  std::string report;
  std::string record;
  calibrate::SamplingOptions sampling;
  calibrate::ValidationOptions validation;
  std::int64_t seed = 0;
};

// Copies are measured from 4 bytes on by factors of 4, and a line needs two sizes.
constexpr std::int64_t kMinMaxCopy = 16;

// A fixture for tests, not a trace of everything.
constexpr std::size_t kMaxRecordedBytes = std::size_t{1} << 20;

std::vector<OpGraph> load_graphs(const std::vector<std::string>& names) {
  std::vector<OpGraph> graphs;
  graphs.reserve(names.size());
  for (const std::string& name : names) {
    graphs.push_back(load_graph(name));
  }
  return graphs;
}

// Opens the devices again, with a profiler for GPUs. Says if there is none to be had.
// What CUPTI writes at first goes to `kept` as well, if that is not null.
MachineDevices profiled_devices(const CalibrateOptions& options, bool has_gpu,
                                calibrate::ActivityRecording* kept) {
  if (!has_gpu) {
    return find_devices(options.machine, *options.sampling.stop);
  }
  std::unique_ptr<calibrate::ActivitySource> source = calibrate::open_cupti();
  if (!source->why_none().empty()) {
    note(
        fmt::format("emplace: warning: ops are timed with events, which include the gaps between "
                    "their kernels: {}",
                    source->why_none()));
  }
  if (kept != nullptr) {
    source = calibrate::keep_activities(std::move(source), kMaxRecordedBytes, *kept);
  }
  return find_devices(options.machine, *options.sampling.stop, std::move(source));
}

// Launches are measured by devices of their own, which nothing profiles.
std::vector<calibrate::Launch> launches_of(const CalibrateOptions& options, bool& has_gpu) {
  const MachineDevices machine = find_devices(options.machine, *options.sampling.stop);
  has_gpu = machine.has_gpu();
  return calibrate::measure_launches(machine.all());
}

// Whether there is a GPU among the devices, and whether all was measured.
struct Calibrated {
  bool has_gpu = false;
  bool is_complete = true;
};

Calibrated calibrate_and_write(const CalibrateOptions& options, std::span<const OpGraph> graphs,
                               const calibrate::Progress& progress) {
  bool has_gpu = false;
  std::vector<calibrate::Launch> launches = launches_of(options, has_gpu);
  if (!has_gpu && !options.record.empty()) {
    throw Error(ErrorCode::kUsage, "--record works with GPUs only");
  }
  calibrate::ActivityRecording kept;
  const MachineDevices machine = profiled_devices(options, has_gpu, &kept);
  calibrate::CalibratedMachine calibrated =
      calibrate::calibrate(machine.all(), calibrate::distinct_sites(graphs),
                           {.name = options.name,
                            .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
                            .launches = std::move(launches),
                            .sampling = options.sampling},
                           progress);
  if (!kept.buffers.empty()) {
    const calibrate::ActivityLog log = parse_activities(kept);
    std::string& notes = calibrated.cluster.provenance.notes;
    notes += (notes.empty() ? "" : " ") + describe_machine(log);
    for (DeviceProfile& profile : calibrated.cluster.profiles) {
      if (profile.calibration && profile.device_class.starts_with("gpu-")) {
        profile.calibration->clocks = describe_clocks(log);
      }
    }
  }
  write_text_file(options.output, write_cluster_json(calibrated.cluster));
  if (!kept.buffers.empty() && !options.record.empty()) {
    calibrate::write_recording(kept, options.record);
  } else if (!options.record.empty()) {
    note(fmt::format("emplace: warning: CUPTI recorded nothing: '{}' is not written",
                     options.record));
  }
  print_text(cli::to_text(calibrated));
  return {.has_gpu = has_gpu, .is_complete = calibrated.is_complete};
}

void validate(const CalibrateOptions& options, const calibrate::Progress& progress) {
  const std::string& path = options.cluster.empty() ? options.output : options.cluster;
  const auto cluster = std::make_shared<const Cluster>(
      options.cluster.empty() ? read_cluster(read_text_file(path), path) : load_cluster(path));
  calibrate::ValidationOptions how = options.validation;
  how.seed = static_cast<std::uint64_t>(options.seed);
  how.sampling = options.sampling;
  std::vector<Problem> problems;
  std::vector<calibrate::Validation> validations;
  bool has_gpu = false;
  {
    const MachineDevices machine = find_devices(options.machine, *options.sampling.stop);
    has_gpu = machine.has_gpu();
    expect_devices_of(*cluster, path, machine.all());
    for (const std::string& name : options.validate) {
      auto graph = std::make_shared<const OpGraph>(load_graph(name));
      Grouping grouping = bench::group_graph(*graph, 0);
      const Problem& problem =
          problems.emplace_back(std::move(graph), std::move(grouping), cluster);
      validations.push_back(calibrate::validate_steps(
          name, problem, calibrate::validation_placements(problem, how.random_placements, how.seed),
          machine.all(), how, progress));
    }
  }
  const MachineDevices machine = profiled_devices(options, has_gpu, nullptr);
  for (std::size_t i = 0; i < validations.size(); ++i) {
    calibrate::validate_ops(problems[i], machine.all(), how, progress, validations[i]);
    print_text(cli::to_text(validations[i]));
  }
  if (!options.report.empty()) {
    write_text_file(options.report, cli::to_json(validations).indented(2) + "\n");
  }
}

// A process that was profiled stays slower, so steps are timed in a new one, to which nothing of
// this one is left.
[[noreturn]] void validate_in_new_process(const CalibrateOptions& options) {
  std::vector<std::string> arguments = {
      "emplace",      "calibrate",
      "--devices",    options.machine.devices,
      "--cluster",    std::filesystem::absolute(options.output).string(),
      "--runs",       std::to_string(options.sampling.runs),
      "--placements", std::to_string(options.validation.random_placements),
      "--seconds",    fmt::format("{}", options.validation.seconds_per_placement),
      "--seed",       std::to_string(options.seed)};
  arguments.emplace_back("--validate");
  std::ranges::copy(options.validate, std::back_inserter(arguments));
  if (!notes_shown()) {
    arguments.emplace_back("--quiet");
  }
  if (options.machine.full_precision) {
    arguments.emplace_back("--fp32");
  }
  if (!options.report.empty()) {
    arguments.insert(arguments.end(), {"--report", options.report});
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  flush();
  ::execv("/proc/self/exe", argv.data());
  throw Error(ErrorCode::kUnsupported,
              fmt::format("cannot start a process for the validation: {}; the cluster is in {}",
                          std::strerror(errno), options.output));
}

// What took minutes to measure must not be lost for a misspelt name.
void expect_writable(const std::string& path) {
  if (path.empty()) {
    return;
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const fs::path target = error ? fs::path(path) : real;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const auto fail = [&](int number) {
    throw Error(ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, std::strerror(number)));
  };
  if (::access(target.c_str(), F_OK) != 0 && errno != ENOENT) {
    fail(errno);
  }
  if (!fs::is_directory(folder, error)) {
    throw Error(ErrorCode::kIo,
                fmt::format("cannot write '{}': there is no folder '{}'", path, folder.string()));
  }
  if (fs::is_directory(target, error)) {
    fail(EISDIR);
  }
  // A file is replaced by a new one in its folder; a device or a pipe is written to.
  const bool in_place = fs::exists(target, error) && !fs::is_regular_file(target, error);
  if (in_place ? ::access(target.c_str(), W_OK) != 0 : ::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail(errno);
  }
}

void expect_outputs(const CalibrateOptions& options) {
  const std::array<std::pair<std::string_view, std::string>, 3> files = {
      {{"--output", options.output}, {"--report", options.report}, {"--record", options.record}}};
  refuse_same_files(files);
  for (const auto& [name, path] : files) {
    if (path == "-") {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}: expected the name of a file, found '-'", name));
    }
    expect_writable(path);
  }
}

// A placement would be judged by convolutions that no framework runs so slowly.
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

Outcome run(CalibrateOptions options) {
  if (options.output.empty() == options.cluster.empty()) {
    throw Error(ErrorCode::kUsage,
                "give either --output, to calibrate, or --cluster, to validate an earlier "
                "calibration (see emplace calibrate --help)");
  }
  if (!options.cluster.empty() && options.validate.empty()) {
    throw Error(ErrorCode::kUsage, "--cluster works with --validate only");
  }
  // Mistakes are told before anything takes time.
  if (options.name.empty()) {
    throw Error(ErrorCode::kUsage, "--name: expected a name, found ''");
  }
  expect_outputs(options);
  const std::vector<OpGraph> graphs =
      options.cluster.empty() ? load_graphs(options.graphs) : std::vector<OpGraph>();
  load_graphs(options.validate);
  note_missing_onednn(options.machine);
  const std::atomic<bool>& stop = stop_on_signal();
  options.sampling.stop = &stop;
  MeasuringProgress line;
  const calibrate::Progress progress = [&](const calibrate::ProgressNote& note) {
    line.show(note);
  };
  Calibrated calibrated;
  if (options.cluster.empty()) {
    try {
      calibrated = calibrate_and_write(options, graphs, progress);
    } catch (const Error& error) {
      if (!stop) {
        throw;
      }
      line.clear();
      print_error(fmt::format("emplace: {}", error.what()));
      return Outcome::kInterrupted;
    }
    line.clear();
    if (!calibrated.is_complete) {
      note(
          fmt::format("emplace: stopped; {} contains what was measured so far; other costs are "
                      "fitted or guesses",
                      options.output));
    }
  }
  if (!options.validate.empty() && !stop) {
    if (calibrated.has_gpu) {
      validate_in_new_process(options);
    }
    validate(options, progress);
  }
  return stop ? Outcome::kInterrupted : Outcome::kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine, so that the simulator can predict it");
  command->group("Exchange and measure");
  set_examples(*command, {"emplace calibrate --devices cpu -o machine.json",
                          "emplace calibrate --devices cpu --cluster ./machine.json "
                          "--validate inception-v3"});
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::Option* graphs = add_graphs(*command, options->graphs)
                            ->description("Measure the ops of these graphs")
                            ->default_str("inception-v3 nmt");
  add_machine_options(*command, options->machine);
  command->add_option("--name", options->name, "Name of the cluster")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Measurement");
  command->add_option("--runs", options->sampling.runs, "Runs of each op and copy")
      ->check(CLI::Range(1, 10000))
      ->type_name("N")
      ->capture_default_str()
      ->group("Measurement");
  command
      ->add_option("--max-copy", options->sampling.max_copy_bytes,
                   "Largest copy to measure in bytes")
      ->check(CLI::Range(kMinMaxCopy, std::int64_t{1} << 40))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group("Measurement");
  CLI::Option* validate_option =
      command
          ->add_option("--validate", options->validate,
                       "Run placements of these graphs and compare them with their simulation")
          ->type_name("GRAPH")
          ->group("Validation");
  command
      ->add_option("--cluster", options->cluster,
                   "Validate this calibrated cluster instead of calibrating")
      ->type_name("CLUSTER")
      ->group("Validation")
      ->excludes(graphs)
      ->excludes("--name")
      ->excludes("--max-copy");
  add_output(*command, options->output, "Write the measured cluster here");
  command->add_option("--report", options->report, "Write the validation here, as JSON")
      ->type_name("FILE")
      ->needs(validate_option)
      ->group("Output");
  command
      ->add_option("--record", options->record,
                   "Write CUPTI's recording of the first ops here; it can be read without a GPU")
      ->type_name("FILE")
      ->excludes("--cluster")
      ->group("Output");
  command
      ->add_option("--placements", options->validation.random_placements,
                   "Random placements to validate, in addition to those on one and two devices")
      ->check(CLI::Range(0, 1000))
      ->needs(validate_option)
      ->type_name("N")
      ->capture_default_str()
      ->group("Validation");
  command
      ->add_option("--seconds", options->validation.seconds_per_placement,
                   fmt::format("Seconds for each placement, but at least {} and at most {} steps",
                               options->validation.min_steps, options->validation.max_steps))
      ->check(CLI::Range(0.0, 3600.0))
      ->needs(validate_option)
      ->type_name("S")
      ->default_str(fmt::format("{}", options->validation.seconds_per_placement))
      ->group("Validation");
  add_seed(*command, options->seed)->needs(validate_option)->group("Validation");
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
