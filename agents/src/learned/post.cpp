#include "learned/post_policy.hpp"

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

// Post (Gao, Chen, Li 2018) learns a distribution of placements, group by group. It draws
// placements in batches; after each batch the policy takes some steps of proximal policy
// optimization, and after every `batches` of them it moves to the elite of these instead. The
// answer is the best placement drawn.
//
// It is no TrainableAgent: its probabilities belong to the groups of one graph by number, and there
// is nothing in them that could be used on another.
class Post final : public Agent {
 public:
  explicit Post(const Params& params)
      : batch_(static_cast<std::size_t>(params.get<std::int64_t>("batch"))),
        batches_(static_cast<std::size_t>(params.get<std::int64_t>("batches"))),
        elite_(params.get<double>("elite")),
        uniform_(params.get<double>("uniform")),
        proximal_{.steps = static_cast<int>(params.get<std::int64_t>("steps")),
                  .rate = params.get<double>("rate"),
                  .penalty = params.get<double>("penalty")} {}

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
          std::min(static_cast<std::int64_t>(batch_), session.evaluations_left()));
      std::vector<Placement> placements;
      for (std::size_t i = 0; i < count; ++i) {
        samples.push_back(policy.sample(session.random()));
        placements.push_back(placement_of(problem, samples.back()));
      }
      const std::vector<Evaluation> news = session.evaluate(placements);
      evaluations.insert(evaluations.end(), news.begin(), news.end());
      if (evaluations.back().status == EvaluationStatus::kBudgetSpent) {
        return;  // the session was stopped
      }
      if (samples.size() >= batch_ * batches_) {
        policy.minimize_cross_entropy(elite(samples, evaluations), uniform_);
        samples.clear();
        evaluations.clear();
      } else {
        policy.optimize_proximally(std::span(samples).subspan(first), advantages(news), proximal_);
      }
    }
  }

  static Placement placement_of(const Problem& problem, const Choices& choices) {
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      placement[group] = problem.placeable_devices()[static_cast<std::size_t>(
          choices[static_cast<std::size_t>(group)])];
    }
    return placement;
  }

  // The samples with the best evaluations, the earlier among equals.
  std::vector<Choices> elite(const std::vector<Choices>& samples,
                             const std::vector<Evaluation>& evaluations) const {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
      return evaluations[one].better_than(evaluations[other]);
    });
    const double share = std::ceil(elite_ * static_cast<double>(samples.size()));
    order.resize(std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, samples.size()));
    std::vector<Choices> best;
    for (const std::size_t i : order) {
      best.push_back(samples[i]);
    }
    return best;
  }

  // How much less than the mean each takes, over the standard deviation: so the rate fits steps of
  // milliseconds and of minutes.
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

  std::size_t batch_;
  std::size_t batches_;
  double elite_;
  double uniform_;
  ProximalOptions proximal_;
};

EMPLACE_REGISTER_AGENT(
    Post,
    {.name = "post",
     .kind = AgentKind::kLearned,
     .summary = "probabilities of devices for each group, by cross-entropy minimization and PPO",
     .reference = "Gao, Chen, Li, NeurIPS 2018",
     .parameters =
         {whole_number("batch", 20, 1, 100'000, "placements drawn between two changes"),
          whole_number("batches", 5, 1, 10'000, "until the elite of all of them is taken"),
          {.name = "elite",
           .default_value = 0.1,
           .min = 0,
           .max = 1,
           .summary = "share of the placements that count as elite"},
          {.name = "uniform",
           .default_value = 0.02,
           .min = 0,
           .max = 1,
           .summary = "share of equal probabilities in those of the elite"},
          whole_number("steps", 10, 0, 1000, "of proximal policy optimization after a batch"),
          {.name = "rate", .default_value = 1.0, .min = 0, .max = 1000, .summary = "of a step"},
          {.name = "penalty",
           .default_value = 1.0,
           .min = 0,
           .max = 1000,
           .summary = "for the divergence from the probabilities that were drawn from"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
