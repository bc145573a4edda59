#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "memory_overflow.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "placed_step.hpp"
#include "replicas_report.hpp"
#include "terminal.hpp"

#include <emplace/bench/threads.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/sim/case_file.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/perfetto_trace.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace emplace::cli {
namespace {

struct SimulateOptions : StepOptions {
  std::string cases;
  ReplicaFlags replicas;
  std::string trace;
  std::string picture;
  bool json = false;
};

// Answers each case before it reads the next, so that another program may hold a conversation.
void simulate_cases(std::istream& input, const std::string& source) {
  std::string line;
  bool is_empty = true;
  for (int number = 1; std::getline(input, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    is_empty = false;
    const SimulationCase simulation_case = read_case(line, fmt::format("{}:{}", source, number));
    Simulator simulator(simulation_case.problem);
    for (std::size_t i = 0; i < simulation_case.placements.size(); ++i) {
      print(write_case_result(simulation_case, i, simulator.record(simulation_case.placements[i])));
    }
    flush();
  }
  if (input.bad()) {
    throw Error(ErrorCode::kIo, "cannot read " + source);
  }
  if (is_empty) {
    throw Error(ErrorCode::kFormat, source + ": expected at least one case, found none");
  }
}

void simulate_cases(const std::string& path) {
  if (path == "-") {
    std::ios::sync_with_stdio(false);
    simulate_cases(std::cin, "standard input");
    return;
  }
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::kIo, "cannot open " + path);
  }
  // A folder opens as a file would, and reads as one without lines.
  if (file.peek() == std::ifstream::traits_type::eof() && file.bad()) {
    throw Error(ErrorCode::kIo, "cannot read " + path);
  }
  file.clear();
  simulate_cases(file, path);
}

// Answers a search that was stopped with the best placement that it had.
Outcome simulate_problem(const SimulateOptions& options) {
  refuse_two_answers(options.json, options.trace, "--trace");
  refuse_two_answers(options.json, options.picture, "--picture");
  const std::array<std::pair<std::string_view, std::string>, 2> files = {
      {{"--trace", options.trace}, {"--picture", options.picture}}};
  refuse_same_files(files);
  if (!options.picture.empty()) {
    check_picture_path(options.picture, kStepPictures);
  }
  const bool is_perfetto = options.trace.ends_with(kPerfettoSuffix);
  if (is_perfetto) {
    require_perfetto_traces();
  }
  const PlacedStep step = place_step(options, "simulate", "--cases FILE, or ");
  if (!options.trace.empty()) {
    write_text_file(options.trace, is_perfetto ? write_perfetto_trace(step.problem(), step.record)
                                               : write_chrome_trace(step.problem(), step.record));
  }
  if (!options.picture.empty()) {
    write_step_picture(options.picture, step);
  }
  note_guesses(step);
  note_out_of_memory(step);
  std::optional<ReplicaReport> replicas;
  if (options.replicas.replicas > 0) {
    replicas = bench::on_threads(allowed_threads(options.threads), [&] {
      return simulate_replicas(step, {.graph = step.graph, .cluster = step.cluster},
                               options.replicas, options.agent.seed);
    });
    note_exact_costs(*replicas);
  }
  if (options.json) {
    Json json = to_json(step);
    if (replicas) {
      json.add("replicas", to_json(*replicas));
    }
    print_json(json);
  } else {
    print_text(to_text(step, replicas ? to_text(*replicas) : ""));
  }
  return step.was_stopped ? Outcome::kInterrupted : Outcome::kOk;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("simulate", "Simulate one step of a placed graph");
  command->group("Place a graph");
  set_examples(*command,
               {"emplace simulate inception-v3 --cluster p2-8xlarge-2 --agent single-gpu",
                "emplace simulate inception-v3 --cluster p2-8xlarge-2 --placement placement.json "
                "--trace trace.json"});
  const auto options = std::make_shared<SimulateOptions>();
  CLI::Option* cases =
      command
          ->add_option(
              "--cases", options->cases,
              "Case file (JSON lines) instead of GRAPH, - for standard input; prints JSON lines")
          ->type_name("FILE")
          ->group("Problem");
  CLI::Option* placement = add_step_options(*command, *options);
  add_replica_options(*command, options->replicas);
  CLI::Option* trace = command
                           ->add_option("--trace", options->trace,
                                        "Write a trace for chrome://tracing or ui.perfetto.dev; "
                                        "FILE.pftrace: Perfetto's own format, for large steps")
                           ->type_name("FILE")
                           ->group("Output");
  CLI::Option* picture =
      command->add_option("--picture", options->picture, "Draw the step as a timeline: FILE.svg")
          ->type_name("FILE")
          ->group("Output");
  add_json(*command, options->json);
  for (const char* other :
       {"--graph", "--cluster", "--groups", "--grouping", "--agent", "--result", "--replicas"}) {
    cases->excludes(command->get_option(other));
  }
  cases->excludes(placement)->excludes(trace)->excludes(picture);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      if (options->cases.empty()) {
        return simulate_problem(*options);
      }
      simulate_cases(options->cases);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
