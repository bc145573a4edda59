#include "option_table.hpp"
#include "policy_gradient/advantage.hpp"
#include "post/policy.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace emplace::agents::post {
namespace {

constexpr std::size_t kBatch = 20;      // placements sampled for an update
constexpr double kEliteFraction = 0.1;  // of the samples, from which cross-entropy learns

// Says how Post learns.
struct Options {
  std::size_t cross_entropy_every = 5;
  double uniform_share = 0.02;
  ProximalOptions proximal{.steps = 10, .learning_rate = 1, .kl_penalty = 1};
};

OptionTable<Options> declare() {
  OptionTable<Options> table;
  auto sampling = table.group("");
  sampling.number("cross-entropy-every", &Options::cross_entropy_every, 1, 10'000,
                  "batches from one cross-entropy update to the next");
  sampling.number("uniform-share", &Options::uniform_share, 0, 1,
                  "share of equal probabilities that a cross-entropy update mixes in");
  auto proximal = table.group("", &Options::proximal);
  proximal.number("ppo-steps", &ProximalOptions::steps, 0, 1000,
                  "gradient steps of PPO after a batch");
  proximal.number("learning-rate", &ProximalOptions::learning_rate, 0, 1000,
                  "learning rate of a PPO step");
  return table;
}

const OptionTable<Options>& option_table() {
  static const OptionTable<Options> table = declare();
  return table;
}

// Post (Gao, Chen, Li 2018) learns a distribution of placements, group by group. It samples
// placements in batches. After each batch the policy makes some steps of proximal policy
// optimization; after every few batches it moves to the elite of their samples instead
// (cross-entropy method). The answer is the best sample.
//
// It is no TrainableAgent: its probabilities belong to the groups of one graph by number, so they
// cannot be used on another graph.
class Post final : public Agent {
 public:
  explicit Post(const Params& params) : options_(option_table().read(params)) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    if (devices.size() > 1) {
      learn(problem, evaluator);
    }
    return evaluator.incumbent().placement().value_or(
        Placement(problem.num_groups(), devices.front()));
  }

 private:
  void learn(const Problem& problem, Evaluator& evaluator) const {
    CategoricalPolicy policy(static_cast<std::size_t>(problem.num_groups()),
                             problem.placeable_devices().size());
    std::vector<Choices> samples;  // since the last elite
    std::vector<Evaluation> evaluations;
    while (!evaluator.budget().exhausted()) {
      const std::size_t first = samples.size();
      const auto count = static_cast<std::size_t>(
          std::min(static_cast<std::int64_t>(kBatch), evaluator.budget().evaluations_left()));
      std::vector<Placement> placements;
      for (std::size_t i = 0; i < count; ++i) {
        samples.push_back(policy.sample(evaluator.random()));
        placements.push_back(placement_of(problem, samples.back()));
      }
      const std::vector<Evaluation> batch = evaluator.evaluate(placements);
      evaluations.insert(evaluations.end(), batch.begin(), batch.end());
      if (evaluations.back().status == EvaluationStatus::kBudgetSpent) {
        return;  // the budget was stopped
      }
      if (samples.size() >= kBatch * options_.cross_entropy_every) {
        policy.minimize_cross_entropy(elite(samples, evaluations), options_.uniform_share);
        samples.clear();
        evaluations.clear();
      } else {
        policy.optimize_proximally(std::span(samples).subspan(first), advantages(batch),
                                   options_.proximal);
      }
    }
  }

  static Placement placement_of(const Problem& problem, const Choices& choices) {
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      placement[group] = problem.placeable_devices()[choices[static_cast<std::size_t>(group)]];
    }
    return placement;
  }

  // Returns the samples with the best evaluations, the earlier among equals.
  static std::vector<Choices> elite(const std::vector<Choices>& samples,
                                    const std::vector<Evaluation>& evaluations) {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
      return evaluations[one].better_than(evaluations[other]);
    });
    const double share = std::ceil(kEliteFraction * static_cast<double>(samples.size()));
    order.resize(std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, samples.size()));
    std::vector<Choices> best;
    best.reserve(order.size());
    for (const std::size_t i : order) {
      best.push_back(samples[i]);
    }
    return best;
  }

  // In standard deviations, so that the learning rate fits steps of milliseconds and of minutes.
  static std::vector<double> advantages(const std::vector<Evaluation>& evaluations) {
    std::vector<double> costs_us;
    costs_us.reserve(evaluations.size());
    for (const Evaluation& evaluation : evaluations) {
      costs_us.push_back(evaluation.objective_us());
    }
    return policy_gradient::standardized(costs_us);
  }

  Options options_;
};

EMPLACE_REGISTER_AGENT(
    Post, {.name = "post",
           .kind = AgentKind::kLearned,
           .summary = "probabilities of devices for each group, by the "
                      "cross-entropy method and PPO",
           .description = "Learns the probabilities of the devices for each group, "
                          "without a network. It samples batches of placements, "
                          "improves the probabilities by PPO after each batch, and "
                          "moves them to the best samples (cross-entropy method) every "
                          "few batches. A fast choice for one graph with a budget of "
                          "thousands of evaluations. It has no policy to use on other "
                          "graphs.",
           .reference = "Gao, Chen, Li, NeurIPS 2018",
           .parameters = option_table().parameters(),
           .deterministic = false,
           .default_groups = 128});

}  // namespace
}  // namespace emplace::agents::post
