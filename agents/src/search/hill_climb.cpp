#include "move_proposals.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/move_evaluator.hpp>

#include <numeric>
#include <string>

namespace emplace::agents {
namespace {

// Iterated local search: takes the first move that shortens the step, until no move can (a local
// optimum). Then it perturbs the best placement so far, by random devices for some groups, and
// climbs again. Ends with the budget and returns the best placement. A climb visits the groups in a
// random order and tries each device, or it tries proposed moves (move_proposals.hpp) until
// kPatience times as many as there are groups in a row have failed.
class HillClimb final : public Agent {
 public:
  explicit HillClimb(const Params& params)
      : proposes_(params.get<std::string>("moves") == kProposed),
        start_(params.get<std::string>("start")) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const Coarsening coarsening(problem);
    Placement start = start_of_search(start_, coarsening, evaluator);
    climb(coarsening, evaluator, start);
    // With one device there is one placement.
    while (problem.placeable_devices().size() > 1 && !evaluator.budget().exhausted()) {
      climb(coarsening, evaluator,
            perturbed(problem, evaluator, evaluator.incumbent().placement().value_or(start)));
    }
    return evaluator.incumbent().placement().value_or(std::move(start));
  }

  static constexpr const char* kOneGroup = "one-group";
  static constexpr const char* kProposed = "proposed";

 private:
  static constexpr std::int64_t kPatience = 4;
  static constexpr double kPerturbation = 0.2;

  // Returns `placement` with random devices for a share kPerturbation of the groups.
  static Placement perturbed(const Problem& problem, Evaluator& evaluator, Placement placement) {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (evaluator.random().uniform() < kPerturbation) {
        placement[group] = devices[evaluator.random().below(devices.size())];
      }
    }
    return placement;
  }

  void climb(const Coarsening& coarsening, Evaluator& evaluator, const Placement& current) const {
    if (proposes_) {
      climb_by_proposals(coarsening, evaluator, current);
    } else {
      climb_by_groups(coarsening.problem(), evaluator, current);
    }
  }

  static void climb_by_groups(const Problem& problem, Evaluator& evaluator,
                              const Placement& current) {
    MoveEvaluator moves(evaluator);
    Evaluation reached = moves.start(current);
    std::vector<GroupId> order(static_cast<std::size_t>(problem.num_groups()));
    std::iota(order.begin(), order.end(), 0);
    evaluator.random().shuffle(std::span(order));

    // Consecutive groups without an improvement; all of them make a local optimum.
    std::size_t unimproved = 0;
    for (std::size_t at = 0; unimproved < order.size() && !evaluator.budget().exhausted();
         at = (at + 1) % order.size()) {
      const GroupId group = order[at];
      const DeviceId before = moves.base()[group];
      ++unimproved;
      for (const DeviceId device : problem.devices_for(group)) {
        if (device == before) {
          continue;
        }
        const Move move{group, device};
        const Evaluation tried = evaluate_rival(moves, {&move, 1}, reached);
        if (tried.better_than(reached)) {
          moves.accept();
          reached = tried;
          unimproved = 0;
          break;
        }
      }
    }
  }

  static void climb_by_proposals(const Coarsening& coarsening, Evaluator& evaluator,
                                 const Placement& current) {
    MoveProposals proposals(coarsening, {});
    MoveEvaluator moves(evaluator);
    Evaluation reached = moves.start(current);
    if (reached.status == EvaluationStatus::kBudgetSpent) {
      return;
    }
    StepOutline outline;
    moves.outline(outline);
    proposals.observe(current, outline, reached.step_time_us);
    for (std::int64_t unimproved = 0; unimproved < kPatience * coarsening.problem().num_groups() &&
                                      !evaluator.budget().exhausted();
         ++unimproved) {
      const Evaluation tried =
          evaluate_rival(moves, proposals.propose(moves.base(), evaluator.random()), reached);
      if (tried.better_than(reached)) {
        moves.accept();
        reached = tried;
        unimproved = 0;
      }
    }
  }

  // Evaluates moves that count only if the step is better than `reached`.
  static Evaluation evaluate_rival(MoveEvaluator& evaluator, std::span<const Move> moves,
                                   const Evaluation& reached) {
    return reached.status == EvaluationStatus::kOk ? evaluator.evaluate(moves, reached.step_time_us)
                                                   : evaluator.evaluate(moves);
  }

  bool proposes_;
  std::string start_;
};

EMPLACE_REGISTER_AGENT(
    HillClimb,
    {.name = "hill-climb",
     .kind = AgentKind::kSearch,
     .summary = "takes each move that shortens the step, with restarts near the "
                "best placement",
     .description = "Iterated local search: moves one group at a time to another "
                    "device and keeps each improvement, until no single move "
                    "helps; then changes a part of the best placement at random "
                    "and climbs again, until the budget is spent. With "
                    "moves=proposed it tries the moves of simulated-annealing. A "
                    "simple baseline for one graph when evaluations are cheap; "
                    "multilevel and auto find better placements.",
     .reference = "Lourenco, Martin, Stutzle 2003; local search of Tarnawski et al. 2020",
     .parameters = {{.name = "start",
                     .default_value = std::string(kOneDevice),
                     .choices = {kStarts.begin(), kStarts.end()},
                     .summary = "placement from which the first climb starts"},
                    {.name = "moves",
                     .default_value = std::string(HillClimb::kOneGroup),
                     .choices = {HillClimb::kOneGroup, HillClimb::kProposed},
                     .summary = "one group at a time, or moves of groups, clusters and layers by "
                                "their estimated gain"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
