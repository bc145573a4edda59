#include "multilevel_search.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/registry.hpp>

#include <optional>
#include <string>

namespace emplace::agents {
namespace {

// Share of the budget for an inner agent that evaluates placements.
constexpr double kInnerShare = 0.2;

// Multilevel search (multilevel_search.hpp) with the whole budget. An inner agent that evaluates
// nothing is asked on every level.
class Multilevel final : public Agent {
 public:
  explicit Multilevel(const Params& params)
      : inner_(params.get<std::string>("inner")),
        is_heuristic_(AgentRegistry::global().info(inner_).kind == AgentKind::kHeuristic) {}

  Placement place(const Problem& problem, Session& session) override {
    Placement first(problem.num_groups(), problem.placeable_devices().front());
    search_levels(session, Coarsening(problem),
                  is_heuristic_ ? heuristic_start(inner_) : start_of_coarsest());
    return session.best_placement().value_or(std::move(first));
  }

 private:
  // Returns a start that lets the inner agent search on the coarsest level.
  LevelStart start_of_coarsest() const {
    return [this](Session& session, const Problem& level, bool is_coarsest) {
      std::optional<Placement> placement;
      if (is_coarsest) {
        session.run_in_parallel(1, kInnerShare, [&](std::size_t, Session& child) {
          Session on_level(child, level);
          placement = AgentRegistry::global().make(Spec{inner_})->place(level, on_level);
        });
      }
      return placement;
    };
  }

  std::string inner_;
  bool is_heuristic_;
};

EMPLACE_REGISTER_AGENT(
    Multilevel,
    {.name = "multilevel",
     .kind = AgentKind::kSearch,
     .summary = "places coarse groups first, then refines on finer and finer levels",
     .description = "Coarsens the graph level by level, lets another agent place the coarsest "
                    "level, and refines the placement by annealing on each finer level. Coarse "
                    "levels find which parts of the graph belong together. It is strong where a "
                    "graph has structure on a large scale, as nmt has; auto combines it with "
                    "annealing on the finest level.",
     .reference = "Walshaw, Annals of Operations Research 131, 2004; Karypis, Kumar, SIAM J. Sci. "
                  "Comput. 20(1), 1998",
     .parameters = {{.name = "inner",
                     .default_value = std::string("heft"),
                     .summary = "agent that places the coarsest level; a heuristic is asked on "
                                "each level, and the better start is refined"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
