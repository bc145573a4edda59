#include "command.hpp"
#include "help_text.hpp"
#include "machine/calibration_report.hpp"
#include "machine/machine_devices.hpp"
#include "machine/measuring_progress.hpp"
#include "options.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/published_steps.hpp>
#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/validation.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

constexpr auto kFidelityFormats = std::to_array<AnswerFormat>(
    {{"markdown", ".md"}, {"csv", ".csv"}, {"html", ".html"}, {"svg", ".svg"}});

struct ValidateOptions {
  std::string steps;
  std::vector<std::string> graphs;
  std::string cluster;
  MachineOptions machine;
  calibrate::SamplingOptions sampling;
  calibrate::ValidationOptions validation;
  std::int64_t seed = 0;
  std::string format;
  std::string output;
};

bench::Fidelity predict(const std::string& steps) {
  ProgressLine line;
  return bench::predict_published(steps.empty()
                                      ? bench::shipped_published_steps()
                                      : bench::read_published_steps(read_text_file(steps), steps),
                                  [&](std::size_t done, std::size_t all, const std::string& next) {
                                    line.show(fmt::format("[{}/{}] {}", done, all, next));
                                  });
}

std::string report_of(const bench::Fidelity& fidelity, const std::string& format, bool color,
                      std::size_t width) {
  return format == "json"       ? bench::write_json(fidelity)
         : format == "csv"      ? bench::write_csv(fidelity)
         : format == "html"     ? bench::write_html(fidelity)
         : format == "svg"      ? bench::draw_fidelity(fidelity)
         : format == "markdown" ? bench::write_markdown(fidelity)
                                : bench::write_terminal(fidelity, color, width);
}

void validate_published(const ValidateOptions& options, const Invocation& invocation) {
  const std::string format =
      choose_format(invocation.json, options.format, options.output, kFidelityFormats);
  const bool color = options.output.empty() && use_color(invocation.color);
  const std::string text =
      report_of(predict(options.steps), format, color, table_width(options.output));
  if (options.output.empty()) {
    print_as(format, text, color);
  } else {
    write_text_file(options.output, text);
  }
}

// Steps are timed first: a process that was profiled stays slower.
std::vector<calibrate::Validation> validate_steps(
    const ValidateOptions& options, const Cluster& cluster, const std::deque<Problem>& problems,
    const calibrate::ValidationOptions& how, const calibrate::Progress& progress, bool& has_gpu) {
  const MachineDevices machine = find_devices(options.machine, *how.sampling.stop);
  has_gpu = machine.has_gpu();
  expect_devices_of(cluster, options.cluster, machine.all());
  std::vector<calibrate::Validation> validations;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Problem& problem = problems[i];
    validations.push_back(calibrate::validate_steps(
        options.graphs[i], problem,
        calibrate::validation_placements(problem, how.random_placements, how.seed), machine.all(),
        how, progress));
  }
  return validations;
}

Outcome validate_machine(const ValidateOptions& options, const Invocation& invocation) {
  expect_writable(options.output);
  const auto cluster = std::make_shared<const Cluster>(load_cluster(options.cluster));
  std::deque<Problem> problems;
  for (const std::string& name : options.graphs) {
    auto graph = std::make_shared<const OpGraph>(load_graph(name));
    Grouping grouping = bench::group_graph(*graph, 0);
    problems.emplace_back(std::move(graph), std::move(grouping), cluster);
  }
  note_missing_onednn(options.machine);
  const std::atomic<bool>& stop = stop_on_signal();
  calibrate::ValidationOptions how = options.validation;
  how.seed = static_cast<std::uint64_t>(options.seed);
  how.sampling = options.sampling;
  how.sampling.stop = &stop;
  MeasuringProgress line;
  const calibrate::Progress progress = [&](const calibrate::ProgressNote& note) {
    line.show(note);
  };
  bool has_gpu = false;
  std::vector<calibrate::Validation> validations =
      validate_steps(options, *cluster, problems, how, progress, has_gpu);
  const MachineDevices machine = profiled_devices(options.machine, has_gpu, stop, nullptr);
  for (std::size_t i = 0; i < validations.size(); ++i) {
    calibrate::validate_ops(problems[i], machine.all(), how, progress, validations[i]);
    if (!invocation.json) {
      print_text(cli::to_text(validations[i]));
    }
  }
  if (invocation.json) {
    print_json(cli::to_json(validations));
  }
  if (!options.output.empty()) {
    write_text_file(options.output, cli::to_json(validations).indented(2) + "\n");
  }
  return stop ? Outcome::kInterrupted : Outcome::kOk;
}

Outcome validate(const ValidateOptions& options, const Invocation& invocation) {
  if (options.cluster.empty() != options.graphs.empty()) {
    throw Error(ErrorCode::kUsage,
                "give GRAPH and --cluster to run placements on this machine, or neither for "
                "published steps (see emplace validate --help)");
  }
  if (options.cluster.empty()) {
    validate_published(options, invocation);
    return Outcome::kOk;
  }
  refuse_two_answers(invocation.json, options.output, "--output");
  try {
    return validate_machine(options, invocation);
  } catch (const calibrate::DeviceFailure& failure) {
    throw Error(ErrorCode::kUnsupported, failure.what());
  }
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "validate", "Compare simulated steps with measured ones: published, or run on this machine");
  command->group("Measure");
  set_examples(*command, {"emplace validate", "emplace validate -o steps.html",
                          "emplace validate inception-v3 --cluster ./machine.json --devices cpu"});
  const auto options = std::make_shared<ValidateOptions>();
  CLI::Option* graphs = add_graphs(*command, options->graphs);
  graphs->description(
      "Run placements of these graphs on this machine; without any, compare with training steps "
      "that others measured and published");
  command
      ->add_option("--steps", options->steps, "File of published steps instead of the shipped ones")
      ->type_name("FILE")
      ->excludes(graphs)
      ->group("Published steps");
  CLI::Option* cluster =
      command
          ->add_option("--cluster", options->cluster, "Cluster file of this machine, by calibrate")
          ->type_name("CLUSTER")
          ->needs(graphs)
          ->group("Measurement");
  add_machine_options(*command, options->machine);
  add_runs(*command, options->sampling.runs);
  command
      ->add_option("--placements", options->validation.random_placements,
                   "Random placements to run, in addition to those on one and two devices")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->capture_default_str()
      ->group("Measurement");
  command
      ->add_option("--seconds", options->validation.seconds_per_placement,
                   fmt::format("Seconds for each placement, but at least {} and at most {} steps",
                               options->validation.min_steps, options->validation.max_steps))
      ->check(CLI::Range(0.0, 3600.0))
      ->type_name("S")
      ->default_str(fmt::format("{}", options->validation.seconds_per_placement))
      ->group("Measurement");
  add_seed(*command, options->seed)->group("Measurement");
  for (const char* name :
       {"--devices", "--fp32", "--runs", "--placements", "--seconds", "--seed"}) {
    command->get_option(name)->needs(cluster);
  }
  add_format(*command, options->format, kFidelityFormats);
  command->get_option("--format")->excludes(graphs);
  add_output(
      *command, options->output,
      "Write the report here: .md, .csv, .json, .html, or .svg as a picture; with GRAPH JSON")
      ->default_str("standard output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) { return validate(*options, invocation); };
  });
}

}  // namespace emplace::cli
