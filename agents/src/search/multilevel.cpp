#include "multilevel_search.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/registry.hpp>

#include <string>

namespace emplace::agents {
namespace {

// Multilevel search (multilevel_search.hpp) with the whole budget.
class Multilevel final : public Agent {
 public:
  explicit Multilevel(const Params& params)
      : options_{.inner = params.get<std::string>("inner"),
                 .coarse_share = params.get<double>("coarse-share"),
                 .annealing = {}} {
    AgentRegistry::global().info(options_.inner);  // throws if there is none
  }

  Placement place(const Problem& problem, Session& session) override {
    search_levels(session, 1, options_);
    return session.best_placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

 private:
  MultilevelOptions options_;
};

EMPLACE_REGISTER_AGENT(
    Multilevel,
    {.name = "multilevel",
     .kind = AgentKind::kSearch,
     .summary = "places coarse groups first, then refines on finer and finer levels",
     .description = "Coarsens the graph level by level, lets another agent place the coarsest "
                    "level, and refines the placement by annealing on each finer level. Coarse "
                    "levels find which parts of the graph belong together. It is strong where "
                    "the structure of the graph is large, as in nmt; auto combines it with searches "
                    "that start on the finest level.",
     .reference = "Walshaw, Annals of Operations Research 131, 2004; Karypis, Kumar, SIAM J. Sci. "
                  "Comput. 20(1), 1998",
     .parameters = {{.name = "inner",
                     .default_value = MultilevelOptions{}.inner,
                     .summary = "agent that places the coarsest level; a heuristic is asked on "
                                "each level, and the better start is refined"},
                    {.name = "coarse-share",
                     .default_value = MultilevelOptions{}.coarse_share,
                     .min = 0.05,
                     .max = 0.95,
                     .summary = "share of the budget for all levels but the finest"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
