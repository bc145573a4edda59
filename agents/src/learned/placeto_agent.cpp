#include "learned/placeto_agent.hpp"

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

// Gives advantages a root mean square of 1, so that the entropy weighs as much on every problem;
// or what sets the gains of devices apart, where they are known.
void normalize(Experience& experience) {
  std::vector<double>& advantages = experience.advantages;
  std::vector<float>& gains = experience.gains;
  double square = 0;
  double count = 0;
  const auto add = [&](double number) {
    square += number * number;
    count += 1;
  };
  if (gains.empty()) {
    std::ranges::for_each(advantages, add);
  }
  const std::size_t num_devices = gains.size() / advantages.size();
  for (std::size_t first = 0; first < gains.size(); first += num_devices) {
    const auto of_decision = std::span(gains).subspan(first, num_devices);
    const double mean =
        std::reduce(of_decision.begin(), of_decision.end(), 0.0) / static_cast<double>(num_devices);
    for (const float gain : of_decision) {
      add(static_cast<double>(gain) - mean);
    }
  }
  if (square == 0) {
    return;
  }
  const double scale = std::sqrt(count / square);
  for (double& advantage : advantages) {
    advantage *= scale;
  }
  for (float& gain : gains) {
    gain = static_cast<float>(static_cast<double>(gain) * scale);
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
  Course course(session, options_);
  if (policy_->grouper) {
    Regrouping regrouping(problem, options_);
    policy_->players.local().play(regrouping.next(course, *policy_->grouper, nullptr), 1, true);
  } else {
    policy_->players.local().play(course, 1, true);
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
  play_and_learn(callback);
}

void PlacetoAgent::begin(std::span<Session* const> sessions) {
  training_ = std::make_unique<Training>(options_, *policy_);
  for (Session* session : sessions) {
    training_->courses.emplace_back(*session, options_);
    if (policy_->grouper) {
      training_->regroupings.emplace_back(session->problem(), options_);
    }
    training_->evaluations_before += session->evaluations();
  }
}

void PlacetoAgent::resume(std::span<Session* const> sessions) {
  const JsonCursor json = loaded_->root().at("courses");
  const std::vector<JsonCursor> courses = json.elements();
  if (courses.size() != sessions.size()) {
    json.fail(fmt::format("expected {} problems, found {}", sessions.size(), courses.size()));
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    training_->courses.push_back(Course::restored(*sessions[i], options_, courses[i]));
    if (policy_->grouper) {
      training_->regroupings.emplace_back(sessions[i]->problem(), options_)
          .baseline()
          .load(loaded_->root().at("grouper").at("draws").elements().at(i));
    }
  }
  loaded_.reset();
}

void PlacetoAgent::play_and_learn(const TrainingCallback& callback) {
  const auto is_spent = [](const Course& course) {
    return course.session->evaluations_left() == 0;
  };
  for (bool goes_on = true; goes_on && !std::ranges::all_of(training_->courses, is_spent);) {
    const std::int64_t round = training_->round++;
    const std::int64_t every = options_.episode.greedy_every;
    const bool greedy = every > 0 && (round + 1) % every == 0;
    training_->learner.set_progress(training_->progress());
    std::vector<Play> plays = take_turns(greedy);
    play(plays, greedy);
    goes_on = greedy || learn(plays, callback);
  }
}

// Each round has an episode for each worker, who take the problems in turn.
std::vector<Play> PlacetoAgent::take_turns(bool greedy) {
  std::vector<Course>& courses = training_->courses;
  std::vector<std::size_t> workers(courses.size(), 0);
  for (std::size_t worker = 0; worker < options_.episode.workers; ++worker) {
    ++workers[training_->next++ % courses.size()];
  }
  std::vector<Play> plays;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    const std::int64_t left = courses[i].session->evaluations_left();
    if (left == 0 || workers[i] == 0) {
      continue;
    }
    // All likeliest choices are the same; and an episode that is cut short teaches nothing.
    const std::int64_t whole =
        std::max<std::int64_t>(1, left / courses[i].evaluations_per_episode());
    plays.push_back({.problem = i,
                     .workers = greedy ? 1 : std::min(workers[i], static_cast<std::size_t>(whole)),
                     .course = &courses[i]});
  }
  return plays;
}

// Episodes of one problem are played side by side, and problems in parallel.
void PlacetoAgent::play(std::span<Play> plays, bool greedy) {
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, plays.size(), [&](std::size_t i) {
      Play& play = plays[i];
      if (policy_->grouper) {
        RandomStream* const random = greedy ? nullptr : &play.course->session->random();
        play.course =
            &training_->regroupings[play.problem].next(*play.course, *policy_->grouper, random);
      }
      play.is_whole = policy_->players.local().play(*play.course, play.workers, greedy);
    });
  });
  for (const Play& play : plays) {
    training_->episodes += play.is_whole ? static_cast<std::int64_t>(play.workers) : 0;
  }
}

bool PlacetoAgent::learn(std::span<const Play> plays, const TrainingCallback& callback) {
  Training& training = *training_;
  std::vector<Experience> experiences;
  std::vector<GrouperLearner::Lesson> lessons;
  std::vector<TrainingUpdate> told;
  for (const Play& play : plays) {
    if (!play.is_whole) {
      continue;
    }
    const Rollout& rollout = play.course->rollout;
    Course& course = training.courses[play.problem];
    Experience& experience = experiences.emplace_back(Experience{
        &play.course->graph, &rollout, rollout.returns(options_.episode), rollout.gains()});
    course.baseline.subtract_from(experience.advantages, play.workers);
    if (options_.learning.normalize) {
      normalize(experience);
    }
    told.push_back({.session = play.problem,
                    .last_us = rollout.last_us(),
                    .best_us = course.session->best_evaluation().objective_us(),
                    .entropy = rollout.entropy(),
                    .is_last = false});
    if (policy_->grouper) {
      lessons.push_back(training.regroupings[play.problem].lesson(course));
    }
  }
  if (experiences.empty()) {
    return true;
  }
  const double norm = training.learner.update(experiences);
  if (training.grouper_learner) {
    training.grouper_learner->update(lessons);
  }
  told.back().is_last = true;
  bool goes_on = true;
  for (TrainingUpdate& update : told) {
    update.update = training.learner.updates();
    update.episodes = training.episodes;
    update.gradient_norm = norm;
    goes_on = (!callback || callback(update)) && goes_on;
  }
  return goes_on;
}

}  // namespace emplace::agents::placeto
