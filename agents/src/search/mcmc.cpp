#include "annealing.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace emplace::agents {
namespace {

// The search of FlexFlow: a Markov chain over placements that samples from p ~ exp(-beta * step
// time) (Metropolis, Hastings). A proposal moves one random group to a random other device; as that
// is as likely as the way back, it is kept with probability min(1, exp(-beta * increase)). That is
// annealing at a constant temperature 1 / beta (annealing.hpp). Chains have equal shares of the
// budget; the first begins at a given placement, the others at random ones, as FlexFlow's do.
// FlexFlow leaves a chain that has found nothing for half of its time; here it goes on.
class Mcmc final : public Agent {
 public:
  explicit Mcmc(const Params& params)
      : start_(params.get<std::string>("start")),
        chains_(params.get<std::int64_t>("chains")),
        options_{.initial_temperature = 1 / params.get<double>("beta"),
                 .final_temperature = 1 / params.get<double>("beta"),
                 .cycles = false,
                 .moves = {.candidates = 1,
                           .moves = {.cluster = 0, .layer = 0, .swap = 0, .neighbour = 0}}} {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const Coarsening coarsening(problem);
    const Placement start = start_of_search(start_, coarsening, evaluator);
    for (std::int64_t chain = 0; chain < chains_; ++chain) {
      const double used = evaluator.budget().share_used();
      anneal(evaluator, coarsening,
             chain == 0 ? start : random_placement(problem, evaluator.random()),
             used + (1 - used) / static_cast<double>(chains_ - chain), options_);
    }
    return evaluator.incumbent().placement().value_or(start);
  }

 private:
  std::string start_;
  std::int64_t chains_;
  AnnealingOptions options_;
};

EMPLACE_REGISTER_AGENT(
    Mcmc, {.name = "mcmc",
           .kind = AgentKind::kSearch,
           .summary = "Markov chain Monte Carlo: one random move at a time, at one temperature",
           .description = "The search of FlexFlow over placements: moves one random group to a "
                          "random device, and accepts a longer step with a probability that falls "
                          "exponentially with the increase. One chain begins at the best of the "
                          "heuristics, the others at random placements. simulated-annealing, which "
                          "proposes promising moves and cools down, finds better placements.",
           .reference = "FlexFlow: Jia, Zaharia, Aiken, MLSys 2019",
           .parameters = {{.name = "start",
                           .default_value = std::string(kBestHeuristic),
                           .choices = {kStarts.begin(), kStarts.end()},
                           .summary = "placement from which the first chain starts"},
                          {.name = "chains",
                           .default_value = std::int64_t{2},
                           .min = 1,
                           .max = 1000,
                           .summary = "chains, one after the other"},
                          {.name = "beta",
                           .default_value = 30.0,
                           .min = 0.01,
                           .max = 1e6,
                           .summary = "inverse temperature, in 1 / mean time of a group"}},
           .deterministic = false});

}  // namespace
}  // namespace emplace::agents
