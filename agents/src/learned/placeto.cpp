#include "learned/placeto_options.hpp"
#include "learned/placeto_training.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

using namespace placeto;

constexpr const char* kSchema = "emplace-policy";
constexpr const char* kTrainingSchema = "emplace-training";
constexpr std::int64_t kVersion = 1;

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

// Placeto (Addanki et al. 2019): a graph network that visits the groups one after the other and
// chooses each one's device anew, trained by REINFORCE on what each choice gains. Every placement
// on the way is simulated; the answer is the best of all.
class Placeto : public TrainableAgent {
 public:
  explicit Placeto(const Params& params) : Placeto(params, "placeto") {}

  Placement place(const Problem& problem, Session& session) override {
    Session* const sessions[] = {&session};
    if (problem.placeable_devices().size() > 1) {
      if (policy_) {
        place_with_policy(problem, session);
      }
      train(sessions, {});
    }
    return best_of(problem, session);
  }

  Placement place_with_policy(const Problem& problem, Session& session) override;

  void train(std::span<Session* const> sessions, const TrainingWatch& watch) override;
  std::string save() const override;
  void load(std::string_view text, const std::string& source) override;
  std::string save_training() const override;
  void load_training(std::string_view text, const std::string& source) override;

  std::int64_t evaluations_per_episode(const Problem& problem) const override {
    return placeto::evaluations_per_episode(options_.episode, problem);
  }

  std::vector<PolicyLayer> layers(DeviceId num_devices) const override {
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

 protected:
  // `name` is whose policies they are.
  Placeto(const Params& params, const char* name)
      : name_(name), params_(params), options_(options_of(params)) {}

 private:
  // The parameters that shape the network, as a user would write them.
  std::vector<std::pair<std::string, std::string>> shape() const {
    std::vector<std::pair<std::string, std::string>> values;
    for (const char* name : {"devices", "stay", "logit-bound", "memory", "start-time", "messages",
                             "rounds", "pooling", "peers", "means", "small"}) {
      values.emplace_back(name, emplace::to_string(params_.values().at(name)));
    }
    return values;
  }

  static Placement best_of(const Problem& problem, const Session& session) {
    return session.best_placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

  void expect_own(const JsonCursor& root) const {
    if (root.at("agent").text() != name_) {
      root.at("agent").fail(fmt::format("expected '{}'", name_));
    }
  }

  void ensure_policy(std::span<Session* const> sessions);
  void begin(std::span<Session* const> sessions);
  void resume(std::span<Session* const> sessions);
  void play_and_learn(const TrainingWatch& watch);
  std::unique_ptr<Policy> read_policy(const JsonCursor& root) const;

  const char* name_;
  Params params_;
  Options options_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Training> training_;  // the last one
  std::optional<JsonDocument> loaded_;  // what the next one goes on from
};

void Placeto::ensure_policy(std::span<Session* const> sessions) {
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

Placement Placeto::place_with_policy(const Problem& problem, Session& session) {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  Session* const sessions[] = {&session};
  ensure_policy(sessions);
  Course course(session, options_);
  if (policy_->grouper) {
    Regrouping regrouping(problem, options_);
    policy_->player.play(regrouping.next(course, *policy_->grouper, nullptr), 1, true);
  } else {
    policy_->player.play(course, 1, true);
  }
  return best_of(problem, session);
}

void Placeto::train(std::span<Session* const> sessions, const TrainingWatch& watch) {
  EMPLACE_CHECK(!sessions.empty(), "nothing to train on");
  ensure_policy(sessions);
  if (loaded_) {
    resume(sessions);
  } else {
    begin(sessions);
  }
  play_and_learn(watch);
}

void Placeto::begin(std::span<Session* const> sessions) {
  training_ = std::make_unique<Training>(options_, *policy_);
  for (Session* session : sessions) {
    training_->courses.emplace_back(*session, options_);
    if (policy_->grouper) {
      training_->regroupings.emplace_back(session->problem(), options_);
    }
    training_->evaluations_before += session->evaluations();
  }
}

void Placeto::resume(std::span<Session* const> sessions) {
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

// Each round plays an episode for each worker, on one problem after the other.
void Placeto::play_and_learn(const TrainingWatch& watch) {
  Training& training = *training_;
  std::vector<Course>& courses = training.courses;
  for (bool goes_on = true; goes_on;) {
    const std::int64_t round = training.round++;
    const double progress = training.progress();
    const bool greedy =
        options_.episode.greedy_every > 0 && (round + 1) % options_.episode.greedy_every == 0;
    std::vector<std::size_t> players(courses.size(), 0);
    for (std::size_t worker = 0; worker < options_.episode.workers; ++worker) {
      ++players[training.next++ % courses.size()];
    }
    bool is_spent = true;
    std::vector<Experience> experiences;
    std::vector<GrouperLearner::Lesson> lessons;
    std::vector<TrainingUpdate> told;
    for (std::size_t i = 0; i < courses.size(); ++i) {
      Course& course = courses[i];
      const std::int64_t left = course.session->evaluations_left();
      is_spent = is_spent && left == 0;
      if (left == 0 || players[i] == 0) {
        continue;
      }
      // All likeliest choices are the same; and an episode that is cut short teaches nothing.
      const std::int64_t whole = std::max<std::int64_t>(1, left / course.evaluations_per_episode());
      const std::size_t side_by_side =
          greedy ? 1 : std::min(players[i], static_cast<std::size_t>(whole));
      Course& played = policy_->grouper ? training.regroupings[i].next(
                                              course, *policy_->grouper,
                                              greedy ? nullptr : &course.session->random())
                                        : course;
      const bool is_whole = policy_->player.play(played, side_by_side, greedy);
      training.episodes += is_whole ? static_cast<std::int64_t>(side_by_side) : 0;
      if (is_whole && !greedy) {
        Experience& experience = experiences.emplace_back(
            Experience{&played.graph, &played.rollout, played.rollout.returns(options_.episode),
                       played.rollout.gains()});
        course.baseline.subtract_from(experience.advantages, side_by_side);
        if (options_.learning.normalize) {
          normalize(experience);
        }
        told.push_back({.session = i,
                        .last_us = played.rollout.last_us(),
                        .best_us = course.session->best_evaluation().objective_us(),
                        .entropy = played.rollout.entropy(),
                        .is_last = false});
        if (policy_->grouper) {
          lessons.push_back(training.regroupings[i].lesson(course));
        }
      }
    }
    if (is_spent) {
      return;
    }
    if (!experiences.empty()) {
      training.learner.set_progress(progress);
      const double norm = training.learner.update(experiences);
      if (training.grouper_learner) {
        training.grouper_learner->update(lessons);
      }
      told.back().is_last = true;
      for (TrainingUpdate& update : told) {
        update.update = training.learner.updates();
        update.episodes = training.episodes;
        update.gradient_norm = norm;
        goes_on = (!watch || watch(update)) && goes_on;
      }
    }
  }
}

std::string Placeto::save() const {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  std::string network;
  for (const auto& [name, value] : shape()) {
    network += fmt::format("{}\"{}\": \"{}\"", network.empty() ? "" : ", ", name, value);
  }
  const std::string grouper =
      policy_->grouper ? ",\n\"grouper\": " + policy_->grouper->parameters().to_json() : "";
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"{}\",\n\"devices\": {},\n"
      "\"network\": {{{}}},\n\"layers\": {}{}\n}}\n",
      kSchema, kVersion, name_, policy_->num_devices, network,
      policy_->network.parameters().to_json(), grouper);
}

void Placeto::load(std::string_view text, const std::string& source) {
  policy_ = read_policy(JsonDocument::parse(text, source).root());
  training_.reset();
  loaded_.reset();
}

std::string Placeto::save_training() const {
  EMPLACE_CHECK(training_ != nullptr && !loaded_, "no training was begun");
  std::string courses;
  for (const Course& course : training_->courses) {
    courses += (courses.empty() ? "\n" : ",\n") + course.to_json();
  }
  std::string grouper;
  if (training_->grouper_learner) {
    std::string draws;
    for (const Regrouping& regrouping : training_->regroupings) {
      draws += (draws.empty() ? "" : ", ") + regrouping.baseline().to_json();
    }
    grouper = fmt::format(",\n\"grouper\": {{\"optimizer\": {}, \"draws\": [{}]}}",
                          training_->grouper_learner->to_json(), draws);
  }
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"{}\",\n"
      "\"evaluations_before\": {},\n\"round\": {},\n\"next\": {},\n\"episodes\": {},\n"
      "\"policy\": {},\"learner\": {},\n\"courses\": [{}\n]{}\n}}\n",
      kTrainingSchema, kVersion, name_, training_->evaluations_before, training_->round,
      training_->next, training_->episodes, save(), training_->learner.to_json(), courses, grouper);
}

void Placeto::load_training(std::string_view text, const std::string& source) {
  JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kTrainingSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "evaluations_before", "round", "next", "episodes",
                    "policy", "learner", "courses", "grouper"});
  expect_own(root);
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  auto policy = read_policy(root.at("policy"));
  auto training = std::make_unique<Training>(options_, *policy);
  training->evaluations_before = root.at("evaluations_before").integer(0, kMost);
  training->round = root.at("round").integer(0, kMost);
  training->next = static_cast<std::size_t>(root.at("next").integer(0, kMost));
  training->episodes = root.at("episodes").integer(0, kMost);
  training->learner.load(root.at("learner"));
  if (training->grouper_learner) {
    const JsonCursor grouper = root.at("grouper");
    training->grouper_learner->load(grouper.at("optimizer"));
    if (grouper.at("draws").elements().size() != root.at("courses").elements().size()) {
      grouper.at("draws").fail("expected as many as there are courses");
    }
  }
  policy_ = std::move(policy);
  training_ = std::move(training);
  loaded_ = std::move(document);
}

std::unique_ptr<Policy> Placeto::read_policy(const JsonCursor& root) const {
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "devices", "network", "layers", "grouper"});
  expect_own(root);
  for (const auto& [name, value] : shape()) {
    const JsonCursor found = root.at("network").at(name);
    if (found.text() != value) {
      found.fail(fmt::format("the policy was trained with {0}={1}, not {0}={2}", name,
                             excerpt(found.text()), value));
    }
  }
  constexpr std::int64_t kMostDevices = 4096;
  auto policy =
      std::make_unique<Policy>(options_, static_cast<std::size_t>(root.at("devices").integer(
                                             options_.network.candidates ? 0 : 1, kMostDevices)));
  policy->network.parameters().load(root.at("layers"));
  if (policy->grouper) {
    policy->grouper->parameters().load(root.at("grouper"));
  }
  return policy;
}

// The same with what lets it learn from few simulations: each choice is judged by what soon comes
// of it (a low discount) instead of by all that other choices bring; episodes start at the best
// placement and leave most groups where they are, so that they refine it; what did not change is
// not simulated again; devices are told apart by what they are; and PPO takes several steps for
// each episode.
class PlacetoPlus final : public Placeto {
 public:
  using Placeto::Placeto;
};

// The same for policies that shall place graphs which they have not seen: at each visit they learn
// what every device would have gained, which is as true on other graphs, and nothing else; and they
// start where no one has been before, not at the best placement.
class PlacetoTransfer final : public Placeto {
 public:
  using Placeto::Placeto;
};

// The same where the groups themselves are learned: before each episode a second network merges the
// problem's groups into coarser ones, which are visited instead.
class PlacetoJoint final : public Placeto {
 public:
  explicit PlacetoJoint(const Params& params) : Placeto(params, "placeto-joint") {}
};

EMPLACE_REGISTER_AGENT(
    Placeto,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "a graph network visits group after group, trained on what each move gains",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoPlus,
    {.name = "placeto-plus",
     .kind = AgentKind::kLearned,
     .summary =
         "placeto that refines the best placement, by PPO, on any number and kind of devices",
     .reference = "ours, after Addanki et al. 2019 and Schulman et al. 2017, arXiv 1707.06347",
     .parameters = plus_parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoTransfer,
    {.name = "placeto-transfer",
     .kind = AgentKind::kLearned,
     .summary = "placeto for unseen graphs: it learns what every device would gain at each visit",
     .reference = "ours, after Addanki et al. 2019 and Sutton et al., NIPS 12, 2000",
     .parameters = transfer_parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoJoint,
    {.name = "placeto-joint",
     .kind = AgentKind::kLearned,
     .summary = "a second graph network merges the groups before placeto-plus visits them",
     .reference = "future work of Addanki et al. 2019; compare HSDAG, Duan et al., NeurIPS 2024",
     .parameters = joint_parameter_table(),
     .deterministic = false,
     .trainable = true});

}  // namespace
}  // namespace emplace::agents
