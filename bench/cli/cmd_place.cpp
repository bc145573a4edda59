#include "command.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/graphs/text_file.hpp>
#include <emplace/sim/placement_file.hpp>

#include <nlohmann/json.hpp>

#include <memory>

namespace emplace::cli {

void add_place(CLI::App& app, Action& action) {
  struct Options {
    ProblemOptions problem;
    AgentOptions agent;
    std::string output;
    bool json = false;
  };
  CLI::App* command =
      app.add_subcommand("place", "Let an agent place a graph; write the placement");
  const auto options = std::make_shared<Options>();
  add_problem_options(*command, options->problem);
  add_agent_options(*command, options->agent);
  for (const char* required : {"--graph", "--cluster", "--agent"}) {
    command->get_option(required)->required();
  }
  command
      ->add_option("-o,--output", options->output,
                   "Write the placement here; by default it is the answer")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Answer with the step in JSON; without --output it holds the placement too");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      const PlacedStep step = place_with_agent(options->problem, options->agent);
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
