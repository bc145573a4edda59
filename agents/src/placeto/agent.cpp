#include "placeto/agent.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace emplace::agents::placeto {
namespace {

Placement best_of(const Problem& problem, const Session& session) {
  return session.best_placement().value_or(
      Placement(problem.num_groups(), problem.placeable_devices().front()));
}

// Scales advantages to a root mean square of 1, so that the entropy bonus has the same weight on
// every problem. Where action values are known, those minus their mean over the actions count
// instead.
void normalize(Experience& experience) {
  std::vector<double>& advantages = experience.advantages;
  std::vector<float>& action_values = experience.action_values;
  double square = 0;
  double count = 0;
  const auto add = [&](double number) {
    square += number * number;
    count += 1;
  };
  if (action_values.empty()) {
    std::ranges::for_each(advantages, add);
  }
  const std::size_t num_devices = action_values.size() / advantages.size();
  for (std::size_t first = 0; first < action_values.size(); first += num_devices) {
    const auto of_decision = std::span(action_values).subspan(first, num_devices);
    const double mean =
        std::reduce(of_decision.begin(), of_decision.end(), 0.0) / static_cast<double>(num_devices);
    for (const float value : of_decision) {
      add(static_cast<double>(value) - mean);
    }
  }
  if (square == 0) {
    return;
  }
  const double scale = std::sqrt(count / square);
  for (double& advantage : advantages) {
    advantage *= scale;
  }
  for (float& value : action_values) {
    value = static_cast<float>(static_cast<double>(value) * scale);
  }
}

}  // namespace

Placement PlacetoAgent::place(const Problem& problem, Session& session) {
  Session* const sessions[] = {&session};
  if (problem.placeable_devices().size() > 1) {
    if (policy_) {
      place_with_policy(problem, session);
    }
    train(sessions, {});
  }
  return best_of(problem, session);
}

std::vector<PolicyLayer> PlacetoAgent::layers(DeviceId num_devices) const {
  const Policy policy(options_, static_cast<std::size_t>(num_devices));
  std::vector<PolicyLayer> layers;
  const auto add = [&](const nn::Parameters<float>& parameters) {
    for (const nn::Layer& layer : parameters.layers()) {
      layers.push_back({layer.name, static_cast<std::int64_t>(layer.inputs),
                        static_cast<std::int64_t>(layer.outputs)});
    }
  };
  add(policy.network.parameters());
  if (policy.grouper) {
    add(policy.grouper->parameters());
  }
  return layers;
}

void PlacetoAgent::ensure_policy(std::span<Session* const> sessions) {
  const std::size_t num_devices = sessions.front()->problem().placeable_devices().size();
  if (!policy_) {
    policy_ = std::make_unique<Policy>(options_, num_devices);
    policy_->initialize(sessions.front()->random());
  }
  for (const Session* session : sessions) {
    const std::size_t found = session->problem().placeable_devices().size();
    if (!policy_->fits(found)) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("a policy of {} for {} devices cannot place {} on the {} of {}", name_,
                      policy_->num_devices, session->problem().graph()[boost::graph_bundle].name,
                      found, session->problem().cluster().name));
    }
  }
}

Placement PlacetoAgent::place_with_policy(const Problem& problem, Session& session) {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  Session* const sessions[] = {&session};
  ensure_policy(sessions);
  Environment environment(session, options_);
  if (policy_->grouper) {
    Regrouping regrouping(problem, options_);
    policy_->collectors.local().collect(regrouping.next(environment, *policy_->grouper, nullptr), 1,
                                        true);
  } else {
    policy_->collectors.local().collect(environment, 1, true);
  }
  return best_of(problem, session);
}

void PlacetoAgent::train(std::span<Session* const> sessions, const TrainingCallback& callback) {
  EMPLACE_CHECK(!sessions.empty(), "nothing to train on");
  ensure_policy(sessions);
  if (loaded_) {
    resume(sessions);
  } else {
    begin(sessions);
  }
  run_training(callback);
}

void PlacetoAgent::begin(std::span<Session* const> sessions) {
  training_ = std::make_unique<Training>(options_, *policy_);
  for (Session* session : sessions) {
    training_->environments.emplace_back(*session, options_);
    if (policy_->grouper) {
      training_->regroupings.emplace_back(session->problem(), options_);
    }
    training_->evaluations_before += session->evaluations();
  }
}

void PlacetoAgent::resume(std::span<Session* const> sessions) {
  const JsonCursor json = loaded_->root().at("environments");
  const std::vector<JsonCursor> environments = json.elements();
  if (environments.size() != sessions.size()) {
    json.fail(fmt::format("expected {} problems, found {}", sessions.size(), environments.size()));
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    training_->environments.push_back(
        Environment::restored(*sessions[i], options_, environments[i]));
    if (policy_->grouper) {
      training_->regroupings.emplace_back(sessions[i]->problem(), options_)
          .baseline()
          .load(loaded_->root().at("grouper").at("draws").elements().at(i));
    }
  }
  loaded_.reset();
}

void PlacetoAgent::run_training(const TrainingCallback& callback) {
  const auto is_exhausted = [](const Environment& environment) {
    return environment.session->exhausted();
  };
  for (bool goes_on = true;
       goes_on && !std::ranges::all_of(training_->environments, is_exhausted);) {
    const std::int64_t round = training_->round++;
    const std::int64_t every = options_.episode.greedy_every;
    const bool greedy = every > 0 && (round + 1) % every == 0;
    training_->learner.set_progress(training_->progress());
    std::vector<EpisodeBatch> batches = next_episodes(greedy);
    run_episodes(batches, greedy);
    goes_on = greedy || learn(batches, callback);
  }
}

// A round has an episode for each worker, on the problems in turn.
std::vector<EpisodeBatch> PlacetoAgent::next_episodes(bool greedy) {
  std::vector<Environment>& environments = training_->environments;
  std::vector<std::size_t> workers(environments.size(), 0);
  for (std::size_t worker = 0; worker < options_.episode.workers; ++worker) {
    ++workers[training_->next++ % environments.size()];
  }
  std::vector<EpisodeBatch> batches;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    const std::int64_t left = environments[i].session->evaluations_left();
    if (left == 0 || workers[i] == 0) {
      continue;
    }
    // Greedy episodes are all the same; and nothing is learned from an incomplete episode.
    const std::int64_t complete =
        std::max<std::int64_t>(1, left / environments[i].evaluations_per_episode());
    batches.push_back(
        {.problem = i,
         .workers = greedy ? 1 : std::min(workers[i], static_cast<std::size_t>(complete)),
         .environment = &environments[i]});
  }
  return batches;
}

// The workers of one problem share a forward pass; problems run in parallel.
void PlacetoAgent::run_episodes(std::span<EpisodeBatch> batches, bool greedy) {
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, batches.size(), [&](std::size_t i) {
      EpisodeBatch& batch = batches[i];
      if (policy_->grouper) {
        RandomStream* const random = greedy ? nullptr : &batch.environment->session->random();
        batch.environment = &training_->regroupings[batch.problem].next(*batch.environment,
                                                                        *policy_->grouper, random);
      }
      batch.is_complete =
          policy_->collectors.local().collect(*batch.environment, batch.workers, greedy);
    });
  });
  for (const EpisodeBatch& batch : batches) {
    training_->episodes += batch.is_complete ? static_cast<std::int64_t>(batch.workers) : 0;
  }
}

bool PlacetoAgent::learn(std::span<const EpisodeBatch> batches, const TrainingCallback& callback) {
  Training& training = *training_;
  std::vector<Experience> experiences;
  std::vector<GrouperLearner::Sample> samples;
  std::vector<TrainingUpdate> reports;
  for (const EpisodeBatch& batch : batches) {
    if (!batch.is_complete) {
      continue;
    }
    const Rollout& rollout = batch.environment->rollout;
    Environment& environment = training.environments[batch.problem];
    Experience& experience = experiences.emplace_back(
        Experience{&batch.environment->graph, &rollout, rollout.returns(options_.episode),
                   rollout.action_values()});
    environment.baseline.subtract_from(experience.advantages, batch.workers);
    if (options_.learning.normalize_advantages) {
      normalize(experience);
    }
    reports.push_back({.session = batch.problem,
                       .last_us = rollout.last_us(),
                       .best_us = environment.session->best_evaluation().objective_us(),
                       .entropy = rollout.entropy(),
                       .is_last = false});
    if (policy_->grouper) {
      samples.push_back(training.regroupings[batch.problem].sample(environment));
    }
  }
  if (experiences.empty()) {
    return true;
  }
  const double norm = training.learner.update(experiences);
  if (training.grouper_learner) {
    training.grouper_learner->update(samples);
  }
  reports.back().is_last = true;
  bool goes_on = true;
  for (TrainingUpdate& report : reports) {
    report.update = training.learner.updates();
    report.episodes = training.episodes;
    report.gradient_norm = norm;
    goes_on = (!callback || callback(report)) && goes_on;
  }
  return goes_on;
}

}  // namespace emplace::agents::placeto
