#include "command.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/sim/placement_file.hpp>

#include <CLI/Validators.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>

namespace emplace::cli {
namespace {

PlacedStep place(const ProblemOptions& problem, const AgentOptions& agent,
                 const PolicyOptions& policy) {
  if (agent.agent.empty() == policy.path.empty()) {
    throw Error(ErrorCode::kUsage, "give one of --agent and --policy (see emplace place --help)");
  }
  return policy.path.empty() ? place_with_agent(problem, agent)
                             : place_with_policy(problem, policy);
}

}  // namespace

void add_place(CLI::App& app, Action& action) {
  struct Options {
    ProblemOptions problem;
    AgentOptions agent;
    PolicyOptions policy;
    std::string output;
    bool json = false;
  };
  CLI::App* command =
      app.add_subcommand("place", "Let an agent place a graph; write the placement");
  const auto options = std::make_shared<Options>();
  add_problem_options(*command, options->problem);
  add_agent_options(*command, options->agent);
  for (const char* required : {"--graph", "--cluster"}) {
    command->get_option(required)->required();
  }
  CLI::Option* agent = command->get_option("--agent");
  CLI::Option* policy =
      command
          ->add_option("--policy", options->policy.path,
                       "Policy file of emplace train instead of an agent; groups as it was trained "
                       "with unless --groups or --grouping is given")
          ->excludes(agent)
          ->type_name("FILE");
  command
      ->add_option("--episodes", options->policy.episodes,
                   "Go on to train the policy so long on this graph; by default it stays as it is")
      ->needs(policy)
      ->check(CLI::Range(std::int64_t{1}, kMaxEpisodes))
      ->type_name("N");
  command->get_option("--seed")->remove_needs(agent);
  command
      ->add_option("-o,--output", options->output,
                   "Write the placement here; by default it is the answer")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Answer with the step in JSON; without --output it holds the placement too");
  command->callback([options, command, &action] {
    options->policy.seed = options->agent.seed;
    options->policy.groups_as_trained =
        command->count("--groups") == 0 && command->count("--grouping") == 0;
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      const PlacedStep step = place(options->problem, options->agent, options->policy);
      const std::string file = write_placement_json(step.entry.problem, step.placement);
      if (options->output.empty() && !options->json) {
        print(file);
        return Outcome::kOk;
      }
      nlohmann::ordered_json answer = to_json(step);
      if (options->output.empty()) {
        answer["placement"] = nlohmann::ordered_json::parse(file);
      } else {
        write_text_file(options->output, file);
      }
      note_guesses(step);
      if (options->json) {
        print_json(answer);
      } else {
        print(to_text(step));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
