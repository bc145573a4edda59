#include "memory_penalty.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/elementary.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace emplace::agents {
namespace {

// Temperatures from the first to the last; a power of two, so that the factor between two is a
// chain of square roots, which are the same bits everywhere (std::pow is not).
constexpr int kSquareRoots = 10;
constexpr std::int64_t kTemperatures = 1 << kSquareRoots;

// Simulated annealing: a random move is accepted if it improves the step, otherwise with
// probability exp(-increase / T), while T falls geometrically over the whole budget. A move puts
// one group on another device, sometimes with its neighbours in the graph, since separating them
// costs transfers. The initial temperature is a multiple of the mean change of the first moves, so
// that no parameter has a unit. Memory has a price that adapts (memory_penalty.hpp). Returns the
// best placement.
class SimulatedAnnealing final : public Agent {
 public:
  explicit SimulatedAnnealing(const Params& params)
      : initial_(params.get<double>("initial-temperature")),
        final_(params.get<double>("final-temperature")),
        neighbour_probability_(params.get<double>("neighbour-probability")) {}

  Placement place(const Problem& problem, Session& session) override {
    Placement current(problem.num_groups(), problem.placeable_devices().front());
    const std::int64_t budget = session.evaluations_left();
    Evaluation reached = session.evaluate(current);
    if (problem.placeable_devices().size() == 1) {
      return current;
    }

    MemoryPenalty penalty;
    const double first_us =
        initial_ * mean_change_us(problem, session, current, penalty, reached, budget);
    double factor = final_ / initial_;
    for (int i = 0; i < kSquareRoots; ++i) {
      factor = std::sqrt(factor);
    }
    double temperature_us = first_us;
    std::int64_t cooled = 0;
    const std::int64_t begin = session.evaluations();
    const std::int64_t moves = session.evaluations_left();
    while (!session.exhausted()) {
      const std::int64_t step = (session.evaluations() - begin) * kTemperatures / moves;
      for (; cooled < step; ++cooled) {
        temperature_us *= factor;
      }
      Placement next = moved(problem, session.random(), current);
      const Evaluation tried = session.evaluate(next);
      const double increase_us = penalty.objective_us(tried) - penalty.objective_us(reached);
      if (increase_us <= 0 || session.random().uniform() < exp_of(-increase_us / temperature_us)) {
        current = std::move(next);
        reached = tried;
      }
      penalty.update(reached);
    }
    return session.best_placement().value_or(std::move(current));
  }

 private:
  Placement moved(const Problem& problem, RandomStream& random, const Placement& from) const;
  double mean_change_us(const Problem& problem, Session& session, const Placement& from,
                        MemoryPenalty& penalty, const Evaluation& reached,
                        std::int64_t budget) const;

  double initial_;
  double final_;
  double neighbour_probability_;
};

Placement SimulatedAnnealing::moved(const Problem& problem, RandomStream& random,
                                    const Placement& from) const {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  const auto group =
      static_cast<GroupId>(random.below(static_cast<std::uint64_t>(problem.num_groups())));
  // One of the other devices: the last stands in for the present one.
  DeviceId device = devices[random.below(devices.size() - 1)];
  if (device == from[group]) {
    device = devices.back();
  }
  Placement to = from;
  to[group] = device;
  if (random.uniform() < neighbour_probability_) {
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      to[edge.producer] = device;
    }
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      to[edge.consumer] = device;
    }
  }
  return to;
}

// Spends a twentieth of the budget, at most 100 evaluations, on moves from the start.
double SimulatedAnnealing::mean_change_us(const Problem& problem, Session& session,
                                          const Placement& from, MemoryPenalty& penalty,
                                          const Evaluation& reached, std::int64_t budget) const {
  const double objective_us = penalty.objective_us(reached);
  double sum_us = 0;
  std::int64_t count = 0;
  for (std::int64_t left = std::min<std::int64_t>(100, budget / 20); left > 0; --left) {
    const double us =
        penalty.objective_us(session.evaluate(moved(problem, session.random(), from)));
    if (std::isfinite(us)) {
      sum_us += std::abs(us - objective_us);
      ++count;
    }
  }
  return count > 0 ? sum_us / static_cast<double>(count) : 0;
}

EMPLACE_REGISTER_AGENT(
    SimulatedAnnealing,
    {.name = "simulated-annealing",
     .kind = AgentKind::kSearch,
     .summary = "random moves; worse ones are accepted less and less often",
     .description = "Makes random moves and accepts worse placements with a "
                    "probability that falls with the temperature, from the first "
                    "evaluation to the last. It needs a budget of thousands of "
                    "evaluations and then escapes local optima in which "
                    "hill-climb may stay.",
     .reference = "Kirkpatrick, Gelatt, Vecchi, Science 220, 1983",
     .parameters = {{.name = "initial-temperature",
                     .default_value = 0.5,
                     .min = 1e-3,
                     .max = 100,
                     .summary =
                         "initial temperature, relative to the mean change of the first moves"},
                    {.name = "final-temperature",
                     .default_value = 0.01,
                     .min = 1e-6,
                     .max = 100,
                     .summary = "final temperature, relative to the same mean change"},
                    {.name = "neighbour-probability",
                     .default_value = 0.25,
                     .min = 0,
                     .max = 1,
                     .summary = "probability that a group's neighbours move along with it"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
