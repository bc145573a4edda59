#include "command.hpp"
#include "explanation_report.hpp"
#include "memory_chart.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace emplace::cli {
namespace {

struct Options : StepOptions {
  std::string memory;
  bool json = false;
};

void explain_step(const Options& options) {
  const PlacedStep step = place_step(options, "explain");
  std::optional<DeviceId> device;
  if (!options.memory.empty()) {
    device = find_device(step, options.memory);
  }
  const Problem& problem = step.entry.problem;
  const StepRecord record = Simulator(problem).record(step.placement);
  note_guesses(step);
  if (device && options.json) {
    print_json(memory_to_json(step, record, *device));
  } else if (device) {
    print(memory_to_text(step, record, *device));
  } else if (options.json) {
    print_json(to_json(step, record, explain(problem, record)));
  } else {
    print(to_text(step, record, explain(problem, record)));
  }
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Tell what bounds the step of a placed graph");
  const auto options = std::make_shared<Options>();
  add_step_options(*command, *options);
  command
      ->add_option("--memory", options->memory,
                   "Show how the memory of this device fills and empties instead")
      ->type_name("DEVICE");
  command->add_flag("--json", options->json, "Answer in JSON");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      explain_step(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
