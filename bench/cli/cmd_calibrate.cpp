#include "calibration_report.hpp"
#include "command.hpp"
#include "machine_devices.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/validation.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <filesystem>
#include <memory>

namespace emplace::cli {
namespace {

struct Options {
  MachineOptions machine;
  std::string graphs = "inception-v3,nmt";
  std::string output;
  std::string name = "this-machine";
  std::string validate;
  std::string cluster;
  std::string report;
  calibrate::SamplingOptions sampling;
  bench::ValidationOptions validation;
  std::int64_t seed = 0;
};

std::vector<OpGraph> load_graphs(const std::string& list) {
  std::vector<OpGraph> graphs;
  for (const std::string& name : split_specs(list)) {
    graphs.push_back(load_graph(name));
  }
  return graphs;
}

Cluster calibrate_and_write(const Options& options,
                            std::span<calibrate::ComputeDevice* const> devices,
                            std::span<const OpGraph> graphs, const calibrate::Progress& progress) {
  const calibrate::CalibratedMachine calibration =
      calibrate::calibrate(devices, calibrate::distinct_sites(graphs),
                           {.name = options.name,
                            .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
                            .sampling = options.sampling},
                           progress);
  write_text_file(options.output, write_cluster_json(calibration.cluster));
  print(to_text(calibration));
  return calibration.cluster;
}

void validate(const Options& options, const Cluster& cluster,
              std::span<calibrate::ComputeDevice* const> devices,
              const calibrate::Progress& progress) {
  const auto shared_cluster = std::make_shared<const Cluster>(cluster);
  bench::ValidationOptions how = options.validation;
  how.seed = static_cast<std::uint64_t>(options.seed);
  how.sampling = options.sampling;
  std::vector<bench::Validation> validations;
  for (const std::string& name : split_specs(options.validate)) {
    auto graph = std::make_shared<const OpGraph>(load_graph(name));
    Grouping grouping = bench::group_graph(*graph, 0);
    const Problem problem(std::move(graph), std::move(grouping), shared_cluster);
    const std::vector<bench::NamedPlacement> placements =
        bench::validation_placements(problem, how.random_placements, how.seed);
    validations.push_back(bench::validate(name, problem, placements, devices, how, progress));
    print(to_text(validations.back()));
  }
  if (!options.report.empty()) {
    write_text_file(options.report, to_json(validations).dump(2) + "\n");
  }
}

// What took minutes to measure must not be lost for a misspelt folder.
void expect_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kIo,
                fmt::format("cannot write '{}': there is no folder '{}'", path, folder.string()));
  }
}

void run(const Options& options) {
  if (options.output.empty() == options.cluster.empty()) {
    throw Error(ErrorCode::kUsage,
                "give one of --out, to calibrate, and --cluster, to validate what was calibrated "
                "before (see emplace calibrate --help)");
  }
  if (!options.cluster.empty() && options.validate.empty()) {
    throw Error(ErrorCode::kUsage, "--cluster is of use with --validate only");
  }
  // Mistakes are told before anything takes time.
  expect_folder_of(options.output);
  expect_folder_of(options.report);
  const std::vector<OpGraph> graphs =
      options.cluster.empty() ? load_graphs(options.graphs) : std::vector<OpGraph>();
  load_graphs(options.validate);
  const MachineDevices machine = find_devices(options.machine);
  const std::vector<calibrate::ComputeDevice*> devices = machine.all();

  ProgressLine line(true);
  const calibrate::Progress progress = [&](const std::string& what) { line.show(what); };
  Cluster cluster;
  if (options.cluster.empty()) {
    cluster = calibrate_and_write(options, devices, graphs, progress);
  } else {
    cluster = load_cluster(options.cluster);
    expect_devices_of(cluster, options.cluster, devices);
  }
  if (!options.validate.empty()) {
    validate(options, cluster, devices, progress);
  }
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine, so that the simulator predicts it");
  const auto options = std::make_shared<Options>();
  command->add_option("-o,--out", options->output, "Write the cluster that was measured here")
      ->type_name("FILE");
  CLI::Option* graphs =
      command
          ->add_option("--graphs", options->graphs,
                       "Measure the ops of these graphs; by default " + options->graphs)
          ->type_name("GRAPH,...");
  add_machine_options(*command, options->machine);
  command->add_option("--name", options->name, "Name of the cluster; by default " + options->name)
      ->type_name("NAME");
  command
      ->add_option("--runs", options->sampling.runs,
                   fmt::format("Runs of each op and copy; by default {}", options->sampling.runs))
      ->check(CLI::Range(1, 10000));
  command
      ->add_option("--max-copy", options->sampling.max_copy_bytes,
                   "Largest copy to measure in bytes; by default 2^30")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 40))
      ->type_name("BYTES");
  CLI::Option* validate_option =
      command
          ->add_option("--validate", options->validate,
                       "Run placements of these graphs and compare with their simulation")
          ->type_name("GRAPH,...");
  command
      ->add_option("--cluster", options->cluster,
                   "Validate this cluster, calibrated before, instead of calibrating")
      ->type_name("CLUSTER")
      ->excludes(graphs);
  command->add_option("--report", options->report, "Write the validation here, in JSON")
      ->type_name("FILE")
      ->needs(validate_option);
  command
      ->add_option("--placements", options->validation.random_placements,
                   fmt::format("Random placements to validate, beside those on one device and two; "
                               "by default {}",
                               options->validation.random_placements))
      ->check(CLI::Range(0, 1000));
  command
      ->add_option("--seconds", options->validation.seconds_per_placement,
                   fmt::format("Time for each placement, within {} to {} steps; by default {}",
                               options->validation.min_steps, options->validation.max_steps,
                               options->validation.seconds_per_placement))
      ->check(CLI::Range(0.0, 3600.0));
  add_seed(*command, options->seed);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      run(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
