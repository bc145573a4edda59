#include "post/policy.hpp"

#include <emplace/agents/agent.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace emplace::agents {
namespace {

using namespace post;

// Post (Gao, Chen, Li 2018) learns a distribution of placements, group by group. It samples
// placements in batches. After each batch the policy makes some steps of proximal policy
// optimization; after every few batches it moves to the elite of their samples instead
// (cross-entropy method). The answer is the best sample.
//
// It is no TrainableAgent: its probabilities belong to the groups of one graph by number, so they
// cannot be used on another graph.
class Post final : public Agent {
 public:
  explicit Post(const Params& params)
      : batch_size_(static_cast<std::size_t>(params.get<std::int64_t>("batch-size"))),
        cross_entropy_every_(
            static_cast<std::size_t>(params.get<std::int64_t>("cross-entropy-every"))),
        elite_fraction_(params.get<double>("elite-fraction")),
        uniform_share_(params.get<double>("uniform-share")),
        proximal_{.steps = static_cast<int>(params.get<std::int64_t>("ppo-steps")),
                  .learning_rate = params.get<double>("learning-rate"),
                  .kl_penalty = params.get<double>("kl-penalty")} {}

  Placement place(const Problem& problem, Session& session) override {
    const std::span<const DeviceId> devices = problem.placeable_devices();
    if (devices.size() > 1) {
      learn(problem, session);
    }
    return session.best_placement().value_or(Placement(problem.num_groups(), devices.front()));
  }

 private:
  void learn(const Problem& problem, Session& session) const {
    Policy policy(static_cast<std::size_t>(problem.num_groups()),
                  problem.placeable_devices().size());
    std::vector<Choices> samples;  // since the last elite
    std::vector<Evaluation> evaluations;
    while (!session.exhausted()) {
      const std::size_t first = samples.size();
      const auto count = static_cast<std::size_t>(
          std::min(static_cast<std::int64_t>(batch_size_), session.evaluations_left()));
      std::vector<Placement> placements;
      for (std::size_t i = 0; i < count; ++i) {
        samples.push_back(policy.sample(session.random()));
        placements.push_back(placement_of(problem, samples.back()));
      }
      const std::vector<Evaluation> batch = session.evaluate(placements);
      evaluations.insert(evaluations.end(), batch.begin(), batch.end());
      if (evaluations.back().status == EvaluationStatus::kBudgetSpent) {
        return;  // the session was stopped
      }
      if (samples.size() >= batch_size_ * cross_entropy_every_) {
        policy.minimize_cross_entropy(elite(samples, evaluations), uniform_share_);
        samples.clear();
        evaluations.clear();
      } else {
        policy.optimize_proximally(std::span(samples).subspan(first), advantages(batch), proximal_);
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
  std::vector<Choices> elite(const std::vector<Choices>& samples,
                             const std::vector<Evaluation>& evaluations) const {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
      return evaluations[one].better_than(evaluations[other]);
    });
    const double share = std::ceil(elite_fraction_ * static_cast<double>(samples.size()));
    order.resize(std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, samples.size()));
    std::vector<Choices> best;
    for (const std::size_t i : order) {
      best.push_back(samples[i]);
    }
    return best;
  }

  // Returns by how many standard deviations each is below the mean, so that the learning rate fits
  // steps of milliseconds and of minutes.
  static std::vector<double> advantages(const std::vector<Evaluation>& evaluations) {
    const auto count = static_cast<double>(evaluations.size());
    double mean_us = 0;
    for (const Evaluation& evaluation : evaluations) {
      mean_us += evaluation.objective_us() / count;
    }
    double variance = 0;
    std::vector<double> advantages;
    for (const Evaluation& evaluation : evaluations) {
      advantages.push_back(mean_us - evaluation.objective_us());
      variance += advantages.back() * advantages.back() / count;
    }
    const double deviation_us = std::sqrt(variance);
    for (double& advantage : advantages) {
      advantage = deviation_us > 0 ? advantage / deviation_us : 0;
    }
    return advantages;
  }

  std::size_t batch_size_;
  std::size_t cross_entropy_every_;
  double elite_fraction_;
  double uniform_share_;
  ProximalOptions proximal_;
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
           .parameters =
               {whole_number("batch-size", 20, 1, 100'000, "placements sampled for an update"),
                whole_number("cross-entropy-every", 5, 1, 10'000,
                             "batches from one cross-entropy update to the next"),
                {.name = "elite-fraction",
                 .default_value = 0.1,
                 .min = 0,
                 .max = 1,
                 .summary = "fraction of the samples that a cross-entropy update learns from"},
                {.name = "uniform-share",
                 .default_value = 0.02,
                 .min = 0,
                 .max = 1,
                 .summary = "share of equal probabilities that a cross-entropy update mixes in"},
                whole_number("ppo-steps", 10, 0, 1000, "gradient steps of PPO after a batch"),
                {.name = "learning-rate",
                 .default_value = 1.0,
                 .min = 0,
                 .max = 1000,
                 .summary = "learning rate of a PPO step"},
                {.name = "kl-penalty",
                 .default_value = 1.0,
                 .min = 0,
                 .max = 1000,
                 .summary = "weight of the KL divergence from the distribution that was sampled",
                 .expert = true}},
           .deterministic = false,
           .default_groups = 128});

}  // namespace
}  // namespace emplace::agents
