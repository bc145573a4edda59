#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "numbers.hpp"
#include "step/exported_step.hpp"
#include "step/memory_overflow.hpp"
#include "step/placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/sim/placement_file.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

// Who places unless told otherwise, and for how long.
constexpr const char* kDefaultAgent = "auto";
constexpr double kDefaultTimeLimitS = 10;

PlacedStep place(ProblemOptions problem, const AgentOptions& agent, const PolicyOptions& policy,
                 const std::string& format) {
  problem.add_parameters();
  if (!format.empty()) {
    return place_for_format(format, problem, agent);
  }
  return policy.path.empty() ? place_with_agent(problem, agent)
                             : place_with_policy(problem, policy);
}

// The clock decides how a search under a time limit goes on, by more than its end: phases, the
// temperature and the number of searches side by side depend on it. Returns the command of a search
// with as many evaluations, which every machine repeats.
std::string repeatable(const PlacedStep& step, const AgentOptions& agent,
                       const std::vector<std::string>& arguments) {
  if (!agent.time_limit_s || step.evaluations == 0 || step.is_optimal()) {
    return "";
  }
  std::string command = "emplace";
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "--time-limit" || argument == "--seed") {
      ++at;
    } else if (!argument.starts_with("--time-limit=") && !argument.starts_with("--seed=")) {
      command += ' ' + escape_shell(argument);
    }
  }
  return fmt::format(
      "\nA time limit gives another placement on each run. As many evaluations give the same one "
      "on\neach run and machine, though perhaps not this one:\n"
      "  {} --evaluations {} --seed {}\n",
      command, step.evaluations, agent.seed);
}

// Writes the placement to `output` or, if that is empty, into the answer or instead of it.
void answer(const PlacedStep& step, bool is_written, const std::string& output, bool json,
            const std::string& more) {
  const std::string file =
      is_written ? write_placement_json(step.problem(), step.record.placement) : "";
  if (is_written && !output.empty()) {
    write_answer(output, file);
  }
  if (json) {
    Json facts = to_json(step);
    if (is_written && output.empty()) {
      facts.add("placement", Json::of_text(file));
    }
    print_json(facts);
  } else if (is_written && output.empty() && isatty(STDOUT_FILENO) == 0) {
    print(escape_json(file));
  } else {
    print_text(to_text(step) + more);
    if (is_written && output.empty()) {  // a thousand lines that nobody wants to read
      note("The placement is not kept: -o FILE writes it.");
    }
  }
}

}  // namespace

void add_place(CLI::App& app, Action& action) {
  struct Options {
    ProblemOptions problem;
    AgentOptions agent;
    PolicyOptions policy;
    std::string format;  // of another program, or empty
    std::string output;
    bool force = false;
  };
  CLI::App* command = app.add_subcommand("place", "Find a good placement of a graph, and write it");
  command->group("Place a graph");
  set_examples(
      *command,
      {"emplace place inception-v3 --cluster p2-8xlarge-2 --time-limit 2 -o placement.json",
       "emplace place inception-v3 --cluster p2-8xlarge-2 --agent heft -o placement.json",
       "emplace place nmt --cluster p2-8xlarge-2 --policy policy.json --json"});
  const auto options = std::make_shared<Options>();
  add_problem_options(*command, options->problem);
  add_objective_options(*command, options->problem);
  add_agent_options(*command, options->agent);
  for (const char* required : {"GRAPH", "--cluster"}) {
    command->get_option(required)->required();
  }
  CLI::Option* agent = command->get_option("--agent")->default_str(kDefaultAgent);
  CLI::Option* from = command
                          ->add_option("--from", options->agent.from,
                                       "Placement file with which the search starts: auto, "
                                       "simulated-annealing and hill-climb improve it, other "
                                       "searches end with nothing worse")
                          ->type_name("FILE")
                          ->group("Placement");
  CLI::Option* policy =
      command
          ->add_option("--policy", options->policy.path,
                       "Policy file of emplace train instead of an agent; ops are grouped as in "
                       "its training unless --groups or --grouping is given")
          ->excludes(agent)
          ->excludes(command->get_option("--evaluations"))
          ->excludes(command->get_option("--time-limit"))
          ->excludes(from)
          ->type_name("FILE")
          ->group("Placement");
  command
      ->add_option("--episodes", options->policy.episodes,
                   "Continue to train the policy for this many episodes on this graph")
      ->needs(policy)
      ->transform(whole_number_from(1, kMaxEpisodes))
      ->type_name("N")
      ->group("Placement")
      ->default_str("the policy stays as it is");
  for (const char* option : {"--evaluations", "--time-limit", "--seed"}) {
    command->get_option(option)->remove_needs(agent);
  }
  command->get_option("--time-limit")
      ->default_str(fmt::format("{} with {}, unless --evaluations is given", kDefaultTimeLimitS,
                                kDefaultAgent));
  command
      ->add_option("--for", options->format,
                   "Find the placement that is fastest as this format can express it (emplace list "
                   "placement-formats): the step is the one that the other program runs")
      ->excludes(policy)
      ->excludes(from)
      ->type_name("FORMAT")
      ->group("Placement");
  add_output(*command, options->output, "Write the placement here")
      ->default_str("standard output, unless it is a terminal; with --json part of the answer");
  command
      ->add_flag("--force", options->force,
                 "Write the placement also if it does not fit into memory, and exit with 0")
      ->group("Output");
  command->callback([options, command, &action] {
    options->policy.seed = options->agent.seed;
    if (options->agent.agent.empty()) {
      options->agent.agent = kDefaultAgent;
    }
    if (options->agent.agent == kDefaultAgent && command->count("--evaluations") == 0 &&
        !options->agent.time_limit_s) {
      options->agent.time_limit_s = kDefaultTimeLimitS;
    }
    options->policy.groups_as_trained =
        command->count("--groups") == 0 && command->count("--grouping") == 0;
    action = [options](const Invocation& invocation) {
      const bool json = invocation.json;
      refuse_two_answers(json, options->output, "--output");
      const PlacedStep step = bench::on_threads(allowed_threads(invocation.threads), [&] {
        PlacedStep placed =
            place(options->problem, options->agent, options->policy, options->format);
        add_references(placed);
        return placed;
      });
      note_guesses(step);
      note_out_of_memory(step);
      const bool is_written = step.record.status == StepStatus::kOk || options->force;
      if (!is_written) {
        note("  The placement is not written (--force writes it).");
      }
      answer(step, is_written, options->output, json,
             repeatable(step, options->agent, invocation.arguments));
      // A search that was stopped still has its best placement.
      return step.was_stopped ? Outcome::kInterrupted
             : is_written     ? Outcome::kOk
                              : Outcome::kOutOfMemory;
    };
  });
}

}  // namespace emplace::cli
