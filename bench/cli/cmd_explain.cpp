#include "command.hpp"
#include "explanation_report.hpp"
#include "help_text.hpp"
#include "memory_chart.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/bench/explanation_json.hpp>
#include <emplace/graphs/json.hpp>

#include <memory>
#include <optional>

namespace emplace::cli {
namespace {

struct ExplainOptions : StepOptions {
  std::string memory;
  bool json = false;
};

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

// Answers a search that was stopped with the best placement that it had.
Outcome explain_step(const ExplainOptions& options) {
  const PlacedStep step = place_step(options, "explain");
  std::optional<DeviceId> device;
  if (!options.memory.empty()) {
    device = find_device(step, options.memory);
  }
  note_guesses(step);
  if (device && options.json) {
    print_json(memory_to_json(step, *device));
  } else if (device) {
    print_text(memory_to_text(step, *device));
  } else if (options.json) {
    print_json(explain_as_json(step));
  } else {
    print_text(to_text(step, explain(step.problem(), step.record)));
  }
  return step.was_stopped ? Outcome::kInterrupted : Outcome::kOk;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("explain", "Find the bottleneck of a placed graph");
  command->group("Place a graph");
  set_examples(*command,
               {"emplace explain inception-v3 --cluster p2-8xlarge-2 --agent heft",
                "emplace explain nmt --cluster p2-8xlarge-2 --agent single-gpu --memory gpu:0"});
  const auto options = std::make_shared<ExplainOptions>();
  add_step_options(*command, *options);
  command
      ->add_option("--memory", options->memory,
                   "Show how the memory of this device fills and empties instead")
      ->type_name("DEVICE")
      ->group("Output");
  add_json(*command, options->json);
  command->callback([options, &action] {
    action = [options](const Invocation&) { return explain_step(*options); };
  });
}

}  // namespace emplace::cli
