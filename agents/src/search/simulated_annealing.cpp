#include "annealing.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <string>

namespace emplace::agents {
namespace {

// Annealing (annealing.hpp) with the whole budget.
class SimulatedAnnealing final : public Agent {
 public:
  explicit SimulatedAnnealing(const Params& params)
      : start_(params.get<std::string>("start")),
        options_{.initial_temperature = params.get<double>("initial-temperature"),
                 .final_temperature = params.get<double>("final-temperature")} {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const Coarsening coarsening(problem);
    Placement start = start_of_search(start_, coarsening, evaluator);
    anneal(evaluator, coarsening, start, 1, options_);
    return evaluator.incumbent().placement().value_or(std::move(start));
  }

 private:
  std::string start_;
  AnnealingOptions options_;
};

EMPLACE_REGISTER_AGENT(
    SimulatedAnnealing,
    {.name = "simulated-annealing",
     .kind = AgentKind::kSearch,
     .summary = "promising moves; worse ones are accepted less and less often",
     .description =
         "Proposes moves of groups, clusters of groups and layers by their estimated gain, "
         "and accepts worse placements with a probability that falls with the "
         "temperature, from the first evaluation to the last. It starts from the best of "
         "the heuristics. With thousands of evaluations it escapes local optima where hill-climb "
         "stops. multilevel and auto refine placements with it.",
     .reference = "Kirkpatrick, Gelatt, Vecchi, Science 220, 1983",
     .parameters = {{.name = "start",
                     .default_value = std::string(kBestHeuristic),
                     .choices = {kStarts.begin(), kStarts.end()},
                     .summary = "placement from which the search starts"},
                    {.name = "initial-temperature",
                     .default_value = AnnealingOptions{}.initial_temperature,
                     .min = 1e-6,
                     .max = 100,
                     .summary = "initial temperature, in mean times of a group"},
                    {.name = "final-temperature",
                     .default_value = AnnealingOptions{}.final_temperature,
                     .min = 1e-6,
                     .max = 100,
                     .summary = "final temperature, in mean times of a group"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
