#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "picture_file.hpp"
#include "step/draws_report.hpp"
#include "step/explanation_report.hpp"
#include "step/memory_chart.hpp"
#include "step/memory_overflow.hpp"
#include "step/picture.hpp"
#include "step/placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/bench/explanation_json.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::array<std::string_view, 4> kTraceEndings = {".json", ".svg", ".png", ".pdf"};

struct SimulateOptions {
  ProblemOptions problem;
  AgentOptions agent;
  std::string placement;  // as for place_from()
  std::string cases;
  std::int64_t draws = 0;  // none
  std::vector<std::string> traces;
  bool explain = false;
  std::string memory;  // of this device
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
    const bench::SimulationCase simulation_case =
        bench::read_case(line, fmt::format("{}:{}", source, number));
    Simulator simulator(simulation_case.problem);
    for (std::size_t i = 0; i < simulation_case.placements.size(); ++i) {
      print(bench::write_case_result(simulation_case, i,
                                     simulator.record(simulation_case.placements[i])));
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

PlacedStep place(const SimulateOptions& options) {
  ProblemOptions problem = options.problem;
  problem.add_parameters();
  const bool by_agent = !options.agent.agent.empty();
  const bool names_problem = !problem.graph.empty() && !problem.cluster.empty();
  if (by_agent ? !names_problem : options.placement.empty()) {
    throw Error(ErrorCode::kUsage,
                "give --cases FILE, --placement FILE, or GRAPH with --cluster and --agent (see "
                "emplace simulate --help)");
  }
  return by_agent ? place_with_agent(problem, options.agent)
                  : place_from(problem, options.placement);
}

void check_traces(const SimulateOptions& options, bool json) {
  std::vector<std::pair<std::string_view, std::string>> files;
  for (const std::string& path : options.traces) {
    refuse_two_answers(json, path, "--trace");
    expect_ending("--trace", path, kTraceEndings);
    files.emplace_back("--trace", path);
  }
  refuse_same_files(files);
}

void write_traces(const SimulateOptions& options, const PlacedStep& step) {
  for (const std::string& path : options.traces) {
    if (names_picture(path)) {
      write_step_picture(path, step);
    } else {
      write_answer(path, write_chrome_trace(step.problem(), step.record));
    }
  }
}

Json explain_as_json(const PlacedStep& step) {
  Json json = {{"schema_version", 1},
               {"graph", step.graph},
               {"cluster", step.cluster},
               {"placed_by", step.placed_by},
               {"bound_us", step.entry.bounds.best_us()},
               {"gap", step.gap()}};
  json.add_all(Json::of_text(
      bench::explanation_json(step.problem(), step.record, explain(step.problem(), step.record))));
  return json;
}

void print_step(const SimulateOptions& options, const PlacedStep& step,
                const Invocation& invocation) {
  note_out_of_memory(step);
  std::optional<DrawReport> draws;
  if (options.draws > 0) {
    draws = bench::on_threads(allowed_threads(invocation.threads), [&] {
      return simulate_draws(step, options.draws, options.agent.seed);
    });
    if (draws->uncertain_costs == 0) {
      note_exact_costs();
    }
  }
  if (invocation.json) {
    Json json = to_json(step);
    if (draws) {
      json.add("draws", to_json(*draws));
    }
    print_json(json);
  } else {
    print_text(to_text(step, draws ? to_text(*draws) : ""));
  }
}

// Answers a search that was stopped with the best placement that it had.
Outcome simulate_problem(const SimulateOptions& options, const Invocation& invocation) {
  check_traces(options, invocation.json);
  const PlacedStep step =
      bench::on_threads(allowed_threads(invocation.threads), [&] { return place(options); });
  std::optional<DeviceId> device;
  if (!options.memory.empty()) {
    device = find_device(step, options.memory);
  }
  write_traces(options, step);
  note_guesses(step);
  if (device && invocation.json) {
    print_json(memory_to_json(step, *device));
  } else if (device) {
    print_text(memory_to_text(step, *device));
  } else if (options.explain && invocation.json) {
    print_json(explain_as_json(step));
  } else if (options.explain) {
    print_text(to_text(step, explain(step.problem(), step.record)));
  } else {
    print_step(options, step, invocation);
  }
  return step.was_stopped ? Outcome::kInterrupted : Outcome::kOk;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Simulate one step of a placed graph, and explain what bounds it");
  command->group("Place a graph");
  set_examples(*command,
               {"emplace simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --explain",
                "emplace simulate --placement placement.json --trace trace.json",
                "emplace simulate nmt --cluster p2-8xlarge-2 --agent single-gpu --memory gpu:0"});
  const auto options = std::make_shared<SimulateOptions>();
  CLI::Option* cases =
      command
          ->add_option(
              "--cases", options->cases,
              "Case file (JSON lines) instead of GRAPH, - for standard input; prints JSON lines")
          ->type_name("FILE")
          ->group("Problem");
  add_problem_options(*command, options->problem);
  add_objective_options(*command, options->problem);
  add_agent_options(*command, options->agent);
  CLI::Option* placement = add_placement(*command, options->placement);
  for (const char* other : {"--agent", "--groups", "--grouping"}) {
    placement->excludes(command->get_option(other));
  }
  CLI::Option* explain =
      command->add_flag("--explain", options->explain, "Show what bounds the step instead")
          ->group("Output");
  command
      ->add_option(
          "--memory", options->memory,
          "Show how the memory of this device fills and empties, and what is largest in it "
          "at its peak, instead")
      ->type_name("DEVICE")
      ->excludes(explain)
      ->group("Output");
  command
      ->add_option("--trace", options->traces,
                   "Write the timeline: FILE.json for ui.perfetto.dev and chrome://tracing, "
                   "FILE.svg (.png, .pdf) as a picture; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group("Output");
  CLI::Option* draws = add_draws(*command, options->draws);
  CLI::Option* agent = command->get_option("--agent");
  CLI::Option* seed = command->get_option("--seed");
  seed->remove_needs(agent);
  command->parse_complete_callback([agent, seed, draws] {
    if (seed->count() > 0 && agent->count() == 0 && draws->count() == 0) {
      throw CLI::RequiresError("--seed", "--agent or --draws");
    }
  });
  for (const char* other : {"--explain", "--memory"}) {
    draws->excludes(command->get_option(other));
  }
  for (const char* other : {"--explain", "--draws"}) {
    command->get_option("--objective")->excludes(command->get_option(other));
  }
  for (const char* other :
       {"GRAPH", "--cluster", "--groups", "--grouping", "--objective", "--agent", "--placement",
        "--draws", "--trace", "--explain", "--memory"}) {
    cases->excludes(command->get_option(other));
  }
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      if (options->cases.empty()) {
        return simulate_problem(*options, invocation);
      }
      simulate_cases(options->cases);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
