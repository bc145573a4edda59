#include <emplace/agents/agent.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/sim/repair.hpp>
#include <emplace/sim/simulator.hpp>

#include <numeric>
#include <string>

namespace emplace::agents {
namespace {

// Iterated local search: visits the groups in a random order and takes the first device that
// shortens the step, until no group can improve it (a local optimum). Then it perturbs the best
// placement so far, by random devices for some groups, and climbs again. The first climb starts
// from everything on the first placeable device, which is hard to beat where links are slow,
// repaired where it does not fit there, or from the placement of HEFT. Ends with the budget and
// returns the best placement. With perturbation = 1 every restart is random (Tarnawski et al.
// 2020).
class HillClimb final : public Agent {
 public:
  explicit HillClimb(const Params& params)
      : perturbation_(params.get<double>("perturbation")),
        start_(params.get<std::string>("start")) {}

  Placement place(const Problem& problem, Session& session) override {
    Placement start = start_ == kOneDevice
                          ? on_one_device(problem)
                          : AgentRegistry::global().make(Spec{start_})->place(problem, session);
    climb(problem, session, start);
    // With one device there is one placement.
    while (problem.placeable_devices().size() > 1 && !session.exhausted()) {
      climb(problem, session, perturbed(problem, session));
    }
    return session.best_placement().value_or(std::move(start));
  }

  static constexpr const char* kOneDevice = "one-device";

 private:
  // Returns all groups on the first device, or as many of them as fit there.
  static Placement on_one_device(const Problem& problem) {
    Simulator simulator(problem);
    const Placement all(problem.num_groups(), problem.placeable_devices().front());
    return repair(problem, simulator, all).placement;
  }

  // Returns the best placement so far with random devices for a share perturbation_ of the groups.
  Placement perturbed(const Problem& problem, Session& session) const {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Placement placement = *session.best_placement();
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (session.random().uniform() < perturbation_) {
        placement[group] = devices[session.random().below(devices.size())];
      }
    }
    return placement;
  }

  static void climb(const Problem& problem, Session& session, Placement current) {
    Evaluation reached = session.evaluate(current);
    std::vector<GroupId> order(static_cast<std::size_t>(problem.num_groups()));
    std::iota(order.begin(), order.end(), 0);
    session.random().shuffle(std::span(order));

    // Consecutive groups without an improvement; all of them make a local optimum.
    std::size_t unimproved = 0;
    for (std::size_t at = 0; unimproved < order.size() && !session.exhausted();
         at = (at + 1) % order.size()) {
      const GroupId group = order[at];
      const DeviceId before = current[group];
      ++unimproved;
      for (const DeviceId device : problem.placeable_devices()) {
        if (device == before) {
          continue;
        }
        current[group] = device;
        const Evaluation tried = session.evaluate(current);
        if (tried.better_than(reached)) {
          reached = tried;
          unimproved = 0;
          break;
        }
        current[group] = before;
      }
    }
  }

  double perturbation_;
  std::string start_;  // kOneDevice or the name of an agent
};

EMPLACE_REGISTER_AGENT(
    HillClimb,
    {.name = "hill-climb",
     .kind = AgentKind::kSearch,
     .summary = "moves one group at a time while that helps, with restarts "
                "near the best placement",
     .description = "Iterated local search: moves one group at a time to another "
                    "device and keeps each improvement, until no single move "
                    "helps; then changes a part of the best placement at random "
                    "and climbs again, until the budget is spent. A strong choice "
                    "for one graph when evaluations are cheap. With start=heft it "
                    "begins from the result of heft.",
     .reference = "Lourenco, Martin, Stutzle 2003; local search of Tarnawski et al. 2020",
     .parameters = {{.name = "perturbation",
                     .default_value = 0.2,
                     .min = 0.01,
                     .max = 1,
                     .summary = "share of the groups that a restart moves to random devices"},
                    {.name = "start",
                     .default_value = std::string(HillClimb::kOneDevice),
                     .choices = {HillClimb::kOneDevice, "heft"},
                     .summary = "placement from which the first climb starts"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
