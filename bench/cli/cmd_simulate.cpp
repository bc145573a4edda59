#include "command.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/sim/case_file.hpp>
#include <emplace/sim/chrome_trace.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <memory>

namespace emplace::cli {
namespace {

struct Options {
  std::string cases;
  ProblemOptions problem;
  AgentOptions agent;
  std::string placement;
  std::string trace;
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

void simulate_problem(const Options& options) {
  refuse_two_answers(options.json, options.trace, "--trace");
  const bool by_agent = !options.agent.agent.empty();
  if (options.problem.graph.empty() || options.problem.cluster.empty() ||
      by_agent == !options.placement.empty()) {
    throw Error(ErrorCode::kUsage,
                "give --cases FILE, or --graph, --cluster and one of --agent and --placement "
                "(see emplace simulate --help)");
  }
  const PlacedStep step = by_agent ? place_with_agent(options.problem, options.agent)
                                   : place_from_file(options.problem, options.placement);
  if (!options.trace.empty()) {
    Simulator simulator(step.entry.problem);
    write_text_file(options.trace,
                    write_chrome_trace(step.entry.problem, simulator.record(step.placement)));
  }
  note_guesses(step);
  if (options.json) {
    print_json(to_json(step));
  } else {
    print(to_text(step));
  }
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("simulate", "Simulate one step of a placed graph");
  const auto options = std::make_shared<Options>();
  CLI::Option* cases =
      command
          ->add_option("--cases", options->cases,
                       "Case file (JSON lines), '-' for standard input; answers in JSON lines")
          ->type_name("FILE");
  add_problem_options(*command, options->problem);
  add_agent_options(*command, options->agent);
  CLI::Option* placement =
      command->add_option("--placement", options->placement, "Placement file instead of an agent")
          ->type_name("FILE");
  CLI::Option* trace = command
                           ->add_option("--trace", options->trace,
                                        "Write a trace for chrome://tracing or ui.perfetto.dev")
                           ->type_name("FILE");
  command->add_flag("--json", options->json, "Answer in JSON");
  for (const char* other : {"--graph", "--cluster", "--groups", "--agent"}) {
    cases->excludes(command->get_option(other));
  }
  cases->excludes(placement)->excludes(trace);
  placement->excludes(command->get_option("--agent"))->excludes(command->get_option("--groups"));
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      if (options->cases.empty()) {
        simulate_problem(*options);
      } else {
        simulate_cases(options->cases);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
