#include "multilevel_search.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <string>

namespace emplace::agents {
namespace {

// Multilevel search (multilevel_search.hpp) with the whole budget.
class Multilevel final : public Agent {
 public:
  explicit Multilevel(const Params& params)
      : heuristic_(params.get<std::string>("start") == kEtf ? etf : heft) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    search_levels(evaluator, Coarsening(problem), heuristic_);
    return evaluator.incumbent().placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

 private:
  ListScheduler* heuristic_;
};

EMPLACE_REGISTER_AGENT(
    Multilevel,
    {.name = "multilevel",
     .kind = AgentKind::kSearch,
     .summary = "places coarse groups first, then refines on finer and finer levels",
     .description = "Coarsens the graph level by level, lets a heuristic place the coarsest "
                    "level, and refines the placement by annealing on each finer level. Coarse "
                    "levels find which parts of the graph belong together. It is strong where a "
                    "graph has structure on a large scale, as nmt has; auto combines it with "
                    "annealing on the finest level.",
     .reference = "Walshaw, Annals of Operations Research 131, 2004; Karypis, Kumar, SIAM J. Sci. "
                  "Comput. 20(1), 1998",
     .parameters = {{.name = "start",
                     .default_value = std::string(kHeft),
                     .choices = {kHeft, kEtf},
                     .summary = "heuristic that places each level; the better of that and of what "
                                "the coarser level found is refined"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
