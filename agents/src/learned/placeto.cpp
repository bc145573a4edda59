#include "learned/placeto_episode.hpp"
#include "learned/placeto_learner.hpp"
#include "learned/placeto_network.hpp"
#include "learned/placeto_options.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

using namespace placeto;

constexpr const char* kSchema = "emplace-policy";
constexpr std::int64_t kVersion = 1;

// A policy with what trains it.
struct Policy {
  Policy(const Options& options, std::size_t num_devices)
      : network(options.network, num_devices),
        player(network),
        learner(options.learning, network) {}

  Network<float> network;
  Player player;
  Learner learner;
};

// Placeto (Addanki et al. 2019): a graph network that visits the groups one after the other and
// chooses each one's device anew, trained by REINFORCE on what each choice gains. Every placement
// on the way is simulated; the answer is the best of all.
class Placeto final : public TrainableAgent {
 public:
  explicit Placeto(const Params& params) : params_(params), options_(options_of(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    Session* const sessions[] = {&session};
    if (problem.placeable_devices().size() > 1) {
      train(sessions);
    }
    return session.best_placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

  void train(std::span<Session* const> sessions) override;
  std::string save() const override;
  void load(std::string_view text, const std::string& source) override;

  std::vector<PolicyLayer> layers(DeviceId num_devices) const override {
    const Network<float> network(options_.network, static_cast<std::size_t>(num_devices));
    std::vector<PolicyLayer> layers;
    for (const nn::Layer& layer : network.parameters().layers()) {
      layers.push_back({layer.name, static_cast<std::int64_t>(layer.inputs),
                        static_cast<std::int64_t>(layer.outputs)});
    }
    return layers;
  }

 private:
  // The parameters that shape the network, as a user would write them.
  std::vector<std::pair<std::string, std::string>> shape() const {
    std::vector<std::pair<std::string, std::string>> values;
    for (const char* name :
         {"memory", "start-time", "messages", "rounds", "pooling", "peers", "means", "small"}) {
      values.emplace_back(name, emplace::to_string(params_.values().at(name)));
    }
    return values;
  }

  void ensure_policy(std::span<Session* const> sessions);
  void play_and_learn(std::vector<Course>& courses);

  Params params_;
  Options options_;
  std::unique_ptr<Policy> policy_;
};

void Placeto::ensure_policy(std::span<Session* const> sessions) {
  const std::size_t num_devices = sessions.front()->problem().placeable_devices().size();
  if (!policy_) {
    policy_ = std::make_unique<Policy>(options_, num_devices);
    policy_->network.parameters().initialize(sessions.front()->random());
  }
  for (const Session* session : sessions) {
    const std::size_t found = session->problem().placeable_devices().size();
    if (found != policy_->network.num_devices()) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("a policy of placeto for {} devices cannot place {} on the {} of {}",
                              policy_->network.num_devices(),
                              session->problem().graph()[boost::graph_bundle].name, found,
                              session->problem().cluster().name));
    }
  }
}

void Placeto::train(std::span<Session* const> sessions) {
  EMPLACE_CHECK(!sessions.empty(), "nothing to train on");
  ensure_policy(sessions);
  std::vector<Course> courses;
  courses.reserve(sessions.size());
  for (Session* session : sessions) {
    courses.emplace_back(*session, options_);
  }
  play_and_learn(courses);
}

// Each round plays an episode for each worker, on one problem after the other.
void Placeto::play_and_learn(std::vector<Course>& courses) {
  const std::size_t workers = options_.episode.workers;
  std::int64_t episodes = 0;
  for (const Course& course : courses) {
    episodes += course.session->evaluations_left() / course.evaluations_per_episode();
  }
  const auto num_rounds = std::max<std::int64_t>(1, episodes / static_cast<std::int64_t>(workers));

  std::size_t next = 0;
  for (std::int64_t round = 0;; ++round) {
    const bool greedy =
        options_.learning.learns
            ? options_.episode.greedy_every > 0 && (round + 1) % options_.episode.greedy_every == 0
            : round == 0;
    std::vector<std::size_t> players(courses.size(), 0);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      ++players[next++ % courses.size()];
    }
    bool is_spent = true;
    std::vector<Experience> experiences;
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
      const bool is_whole = policy_->player.play(course, side_by_side, greedy);
      if (is_whole && !greedy && options_.learning.learns) {
        Experience& experience = experiences.emplace_back(
            Experience{&course.graph, &course.rollout, course.rollout.returns(options_.episode)});
        course.baseline.subtract_from(experience.advantages, side_by_side);
      }
    }
    if (is_spent) {
      return;
    }
    if (!experiences.empty()) {
      policy_->learner.set_progress(
          std::min(1.0, static_cast<double>(round) / static_cast<double>(num_rounds)));
      policy_->learner.update(experiences);
    }
  }
}

std::string Placeto::save() const {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  std::string network;
  for (const auto& [name, value] : shape()) {
    network += fmt::format("{}\"{}\": \"{}\"", network.empty() ? "" : ", ", name, value);
  }
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"placeto\",\n\"devices\": {},\n"
      "\"network\": {{{}}},\n\"layers\": {}\n}}\n",
      kSchema, kVersion, policy_->network.num_devices(), network,
      policy_->network.parameters().to_json());
}

void Placeto::load(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "devices", "network", "layers"});
  if (root.at("agent").text() != "placeto") {
    root.at("agent").fail("expected 'placeto'");
  }
  for (const auto& [name, value] : shape()) {
    const JsonCursor found = root.at("network").at(name);
    if (found.text() != value) {
      found.fail(fmt::format("the policy was trained with {0}={1}, not {0}={2}", name,
                             excerpt(found.text()), value));
    }
  }
  constexpr std::int64_t kMostDevices = 4096;
  auto policy = std::make_unique<Policy>(
      options_, static_cast<std::size_t>(root.at("devices").integer(1, kMostDevices)));
  policy->network.parameters().load(root.at("layers"));
  policy_ = std::move(policy);
}

EMPLACE_REGISTER_AGENT(
    Placeto,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "a graph network visits group after group, trained on what each move gains",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = parameter_table(),
     .deterministic = false,
     .trainable = true});

}  // namespace
}  // namespace emplace::agents
