#include "heuristic/list_scheduling.hpp"
#include "heuristic/ranks.hpp"
#include "starts.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// The biased random-key genetic algorithm: an individual is a vector of keys in [0, 1), which a
// decoder turns into a placement. A generation consists of the elite of the one before, mutants
// (random keys), and children of a random elite parent and a random other one: a key comes from the
// elite parent with probability kBias. Keys are drawn in one thread and placements are evaluated
// in parallel, so the result does not depend on threads. The simulator orders ops itself, so there
// is no decoder to devices and priorities at once, as REGAL has it; there are two:
//   - devices: a group is on device floor(key * devices);
//   - priorities: groups are scheduled by decreasing key, producers first, each on the device with
//     room for it where it ends first, also into an idle slot. Decoding costs as much as HEFT.
// The first generation holds the heuristics' placements, or the upward ranks of HEFT as keys.
class Brkga final : public Agent {
 public:
  explicit Brkga(const Params& params)
      : decodes_priorities_(params.get<std::string>("decoder") == kPriorities) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    std::vector<Individual> population = first_generation(problem, evaluator);
    const Placement first = decoded(problem, population.front().keys);
    // With one device there is one placement.
    const bool has_choice = problem.placeable_devices().size() > 1;
    evaluate(problem, evaluator, population, 0);
    while (has_choice && !evaluator.budget().exhausted()) {
      population = next_generation(problem, evaluator.random(), population);
      evaluate(problem, evaluator, population, kElites);
    }
    return evaluator.incumbent().placement().value_or(first);
  }

  static constexpr const char* kDevices = "devices";
  static constexpr const char* kPriorities = "priorities";

 private:
  // Individuals of a generation; those that the next one keeps; and random ones.
  static constexpr std::size_t kPopulation = 100;
  static constexpr std::size_t kElites = 20;
  static constexpr std::size_t kMutants = 15;
  // With which a child takes a key of its elite parent.
  static constexpr double kBias = 0.7;

  using Keys = IdVector<GroupId, double>;

  struct Individual {
    Keys keys{};
    Evaluation evaluation{};
  };

  static Keys random_keys(const Problem& problem, RandomStream& random) {
    Keys keys(problem.num_groups());
    std::ranges::generate(keys, [&random] { return random.uniform(); });
    return keys;
  }

  std::vector<Individual> first_generation(const Problem& problem, Evaluator& evaluator) const {
    std::vector<Individual> population;
    if (decodes_priorities_) {
      population.push_back({upward_rank_keys(problem)});
    } else {
      for (const Evaluated& start : evaluated_starts(problem, evaluator)) {
        population.push_back({keys_of(problem, start.placement)});
      }
    }
    while (population.size() < kPopulation) {
      population.push_back({random_keys(problem, evaluator.random())});
    }
    return population;
  }

  static Keys upward_rank_keys(const Problem& problem) {
    Keys keys = times_to_end_us(problem, mean_costs_us(problem), Transfers::kMean);
    const double longest = std::ranges::max(keys);
    for (double& key : keys) {
      key = longest > 0 ? key / (2 * longest) + 0.25 : 0.5;
    }
    return keys;
  }

  // Returns keys in the middle of those that mean the same.
  static Keys keys_of(const Problem& problem, const Placement& placement) {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Keys keys;
    for (const DeviceId device : placement.devices()) {
      // A pinned group may be elsewhere; its key means nothing.
      const auto at = static_cast<double>(
          std::min(std::ranges::find(devices, device), devices.end() - 1) - devices.begin());
      keys.push_back((at + 0.5) / static_cast<double>(devices.size()));
    }
    return keys;
  }

  Placement decoded(const Problem& problem, const Keys& keys) const {
    if (decodes_priorities_) {
      const MemoryReserve none(problem.num_devices(), 0);
      MemorySchedule schedule(problem, IdleSlots::kFill, &none);
      for (const GroupId group : order_by_priority(problem, keys)) {
        schedule.assign(group, earliest_finish(schedule, group));
      }
      return std::move(schedule).take();
    }
    const std::span<const DeviceId> devices = problem.placeable_devices();
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      const auto at = static_cast<std::size_t>(keys[group] * static_cast<double>(devices.size()));
      placement[group] = devices[at];
    }
    return placement;
  }

  // Evaluates all but the first `known` individuals, and sorts all, best first.
  void evaluate(const Problem& problem, Evaluator& evaluator, std::vector<Individual>& population,
                std::size_t known) const {
    std::vector<Placement> placements;
    for (std::size_t i = known; i < population.size(); ++i) {
      placements.push_back(decoded(problem, population[i].keys));
    }
    const std::vector<Evaluation> evaluations = evaluator.evaluate(placements);
    for (std::size_t i = known; i < population.size(); ++i) {
      population[i].evaluation = evaluations[i - known];
    }
    std::ranges::stable_sort(population, [](const Individual& a, const Individual& b) {
      return a.evaluation.better_than(b.evaluation);
    });
  }

  static std::vector<Individual> next_generation(const Problem& problem, RandomStream& random,
                                                 const std::vector<Individual>& sorted) {
    std::vector<Individual> next(sorted.begin(), sorted.begin() + kElites);
    while (next.size() < kElites + kMutants) {
      next.push_back({random_keys(problem, random)});
    }
    while (next.size() < kPopulation) {
      const Keys& elite = sorted[random.below(kElites)].keys;
      const Keys& other = sorted[kElites + random.below(kPopulation - kElites)].keys;
      Keys child;
      for (GroupId group = 0; group < problem.num_groups(); ++group) {
        child.push_back(random.uniform() < kBias ? elite[group] : other[group]);
      }
      next.push_back({std::move(child)});
    }
    return next;
  }

  bool decodes_priorities_;
};

EMPLACE_REGISTER_AGENT(
    Brkga,
    {.name = "brkga",
     .kind = AgentKind::kSearch,
     .summary = "biased random-key genetic algorithm over priorities or devices",
     .description =
         "A genetic algorithm on vectors of random keys, one for each group. A key is a device, "
         "or, "
         "with decoder=priorities, the priority of the group in a list scheduler, which starts as "
         "heft. A generation keeps the best, adds random vectors, and crosses the best with "
         "others, "
         "of whom fewer keys are taken. It starts from the placements of the heuristics. REGAL "
         "tunes such an algorithm by learning.",
     .reference = "Goncalves, Resende, J. Heuristics 17(5), 2011; REGAL: Paliwal et al., ICLR 2020",
     .parameters = {{.name = "decoder",
                     .default_value = std::string(Brkga::kDevices),
                     .choices = {Brkga::kDevices, Brkga::kPriorities},
                     .summary = "what the keys are"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
