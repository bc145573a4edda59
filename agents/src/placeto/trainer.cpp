#include "trainer.hpp"

#include "policy_gradient/advantage.hpp"
#include "policy_gradient/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace emplace::agents::placeto {
namespace {

constexpr std::int64_t kGreedyPeriod = 999;  // rounds; of the authors' file

}  // namespace

PlacetoTrainer::PlacetoTrainer(const Options& options, PlacetoPolicy& policy,
                               std::span<Evaluator* const> evaluators)
    : options_(options), policy_(&policy), learner_(options, policy.network(), evaluators) {
  for (Evaluator* evaluator : evaluators) {
    environments_.emplace_back(*evaluator, options);
  }
}

void PlacetoTrainer::run(const TrainingCallback& callback) {
  const auto is_exhausted = [](const Environment& environment) {
    return environment.evaluator->budget().exhausted();
  };
  for (bool goes_on = true; goes_on && !std::ranges::all_of(environments_, is_exhausted);) {
    const std::int64_t round = round_++;
    const bool greedy =
        (round + 1) % kGreedyPeriod == 0 || (options_.episode.greedy_first && round == 0);
    learner_.begin_update();
    std::vector<EpisodeBatch> batches = next_episodes();
    run_episodes(batches, greedy);
    if (std::ranges::any_of(environments_, [](const Environment& environment) {
          return environment.evaluator->budget().stopped();
        })) {
      return;
    }
    goes_on = greedy || learn(batches, callback);
  }
}

// A round has an episode for each worker, on the problems in turn.
std::vector<PlacetoTrainer::EpisodeBatch> PlacetoTrainer::next_episodes() {
  std::vector<std::size_t> workers(environments_.size(), 0);
  for (std::size_t worker = 0; worker < options_.episode.workers; ++worker) {
    ++workers[next_++ % environments_.size()];
  }
  std::vector<EpisodeBatch> batches;
  for (std::size_t i = 0; i < environments_.size(); ++i) {
    const std::int64_t left = environments_[i].evaluator->budget().evaluations_left();
    if (left == 0 || workers[i] == 0) {
      continue;
    }
    // Nothing is learned from an incomplete episode.
    const std::int64_t complete =
        std::max<std::int64_t>(1, left / environments_[i].evaluations_per_episode());
    batches.push_back(
        {.problem = i, .workers = std::min(workers[i], static_cast<std::size_t>(complete))});
  }
  return batches;
}

// The workers of one problem share a forward pass; problems run in parallel.
void PlacetoTrainer::run_episodes(std::span<EpisodeBatch> batches, bool greedy) {
  policy_gradient::in_parallel(batches.size(), [&](std::size_t i) {
    EpisodeBatch& batch = batches[i];
    batch.is_complete =
        policy_->collector().collect(environments_[batch.problem], batch.workers, greedy);
  });
  for (const EpisodeBatch& batch : batches) {
    episodes_ += batch.is_complete ? static_cast<std::int64_t>(batch.workers) : 0;
  }
}

bool PlacetoTrainer::learn(std::span<const EpisodeBatch> batches,
                           const TrainingCallback& callback) {
  std::vector<Experience> experiences;
  std::vector<TrainingUpdate> reports;
  for (const EpisodeBatch& batch : batches) {
    if (!batch.is_complete) {
      continue;
    }
    Environment& environment = environments_[batch.problem];
    const Rollout& rollout = environment.rollout;
    Experience& experience = experiences.emplace_back(
        Experience{&environment.graph, &rollout, rollout.returns(options_.episode)});
    environment.baseline.subtract_from(experience.advantages, batch.workers);
    if (options_.learning.normalize_advantages) {
      policy_gradient::normalize(experience.advantages);
    }
    reports.push_back({.problem = batch.problem,
                       .last_us = rollout.last_us(),
                       .best_us = environment.evaluator->incumbent().evaluation().objective_us(),
                       .entropy = rollout.entropy(),
                       .is_last = false});
  }
  if (experiences.empty()) {
    return true;
  }
  const double norm = learner_.update(experiences);
  reports.back().is_last = true;
  bool goes_on = true;
  for (TrainingUpdate& report : reports) {
    report.update = learner_.updates();
    report.episodes = episodes_;
    report.gradient_norm = norm;
    goes_on = (!callback || callback(report)) && goes_on;
  }
  return goes_on;
}

std::string PlacetoTrainer::to_json() const {
  std::string environments;
  for (const Environment& environment : environments_) {
    environments += (environments.empty() ? "\n" : ",\n") + environment.to_json();
  }
  return fmt::format(
      "{{\n\"round\": {},\n\"next\": {},\n\"episodes\": {},\n\"learner\": {},\n"
      "\"environments\": [{}\n]\n}}",
      round_, next_, episodes_, learner_.to_json(), environments);
}

void PlacetoTrainer::load(const JsonCursor& json) {
  using policy_gradient::elements_by_problem;
  using policy_gradient::read_count;
  json.expect_only({"round", "next", "episodes", "learner", "environments"});
  round_ = read_count(json.at("round"));
  next_ = static_cast<std::size_t>(read_count(json.at("next")));
  episodes_ = read_count(json.at("episodes"));
  learner_.load(json.at("learner"));
  const auto environments = elements_by_problem(json.at("environments"), environments_.size());
  for (std::size_t i = 0; i < environments_.size(); ++i) {
    environments_[i].load(environments[i]);
  }
}

}  // namespace emplace::agents::placeto
