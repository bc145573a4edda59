#include "agent.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <fmt/format.h>

#include <utility>

namespace emplace::agents::rnn {
namespace {

constexpr const char* kSchema = "emplace-policy";
constexpr const char* kTrainingSchema = "emplace-training";
constexpr std::int64_t kVersion = 1;

Placement best_of(const Problem& problem, const Session& session) {
  return session.best_placement().value_or(
      Placement(problem.num_groups(), problem.placeable_devices().front()));
}

void expect_agent(const JsonCursor& root, const std::string& name) {
  if (root.at("agent").text() != name) {
    root.at("agent").fail(fmt::format("expected '{}'", name));
  }
}

}  // namespace

RnnAgent::RnnAgent(std::string name, const Params& params)
    : name_(std::move(name)), params_(params), options_(options_of(params)) {}

Placement RnnAgent::place(const Problem& problem, Session& session) {
  Session* const sessions[] = {&session};
  if (problem.placeable_devices().size() > 1) {
    if (policy_) {
      place_with_policy(problem, session);
    }
    train(sessions, {});
  }
  return best_of(problem, session);
}

void RnnAgent::ensure_policy(std::span<Session* const> sessions) {
  if (!policy_) {
    policy_ = std::make_unique<RecurrentPolicy<float>>(
        options_.policy, sessions.front()->problem().placeable_devices().size());
    policy_->parameters().initialize(sessions.front()->random());
  }
  for (const Session* session : sessions) {
    const std::size_t found = session->problem().placeable_devices().size();
    if (found != policy_->num_devices()) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("a policy of {} for {} devices cannot place {} on the {} of {}", name_,
                      policy_->num_devices(), session->problem().graph()[boost::graph_bundle].name,
                      found, session->problem().cluster().name));
    }
  }
}

void RnnAgent::train(std::span<Session* const> sessions, const TrainingCallback& callback) {
  EMPLACE_CHECK(!sessions.empty(), "nothing to train on");
  ensure_policy(sessions);
  training_ = std::make_unique<Training>(options_.learning, *policy_, sessions);
  if (loaded_) {
    const JsonDocument document = std::move(*loaded_);
    loaded_.reset();
    training_->load(document.root());
  }
  training_->run(callback);
}

Placement RnnAgent::place_with_policy(const Problem& problem, Session& session) {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  Session* const sessions[] = {&session};
  ensure_policy(sessions);
  const std::vector<Item> items = items_of(problem);
  nn::Tape<float> tape(policy_->parameters());
  ActionSampler greedy(nullptr);
  std::deque<GroupedDraw> draws(1);
  draws.front().draw.placements = 1;
  policy_->place(tape, items, greedy, 0, draws);
  std::vector<Placement> placements;
  read_placements(draws, problem, items, placements);
  session.evaluate(placements.front());
  return best_of(problem, session);
}

std::string RnnAgent::save() const {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  std::string network;
  for (const std::string& name : policy_parameters(options_)) {
    network += fmt::format("{}\"{}\": \"{}\"", network.empty() ? "" : ", ", name,
                           emplace::to_string(params_.values().at(name)));
  }
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"{}\",\n\"devices\": {},\n"
      "\"network\": {{{}}},\n\"layers\": {}\n}}\n",
      kSchema, kVersion, name_, policy_->num_devices(), network, policy_->parameters().to_json());
}

void RnnAgent::load(const JsonCursor& policy) {
  policy_ = read_policy(policy);
  training_.reset();
  loaded_.reset();
}

std::unique_ptr<RecurrentPolicy<float>> RnnAgent::read_policy(const JsonCursor& root) const {
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "devices", "network", "layers"});
  expect_agent(root, name_);
  for (const std::string& name : policy_parameters(options_)) {
    const JsonCursor found = root.at("network").at(name);
    const std::string value = emplace::to_string(params_.values().at(name));
    if (found.text() != value) {
      found.fail(fmt::format("the policy was trained with {0}={1}, not {0}={2}", name,
                             excerpt(found.text()), value));
    }
  }
  constexpr std::int64_t kMostDevices = 4096;
  auto policy = std::make_unique<RecurrentPolicy<float>>(
      options_.policy, static_cast<std::size_t>(root.at("devices").integer(1, kMostDevices)));
  policy->parameters().load(root.at("layers"));
  return policy;
}

std::string RnnAgent::save_training() const {
  EMPLACE_CHECK(training_ != nullptr && !loaded_, "no training was started");
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"{}\",\n\"policy\": {},"
      "\"training\": {}\n}}\n",
      kTrainingSchema, kVersion, name_, save(), training_->to_json());
}

void RnnAgent::load_training(const JsonCursor& training) {
  training.expect_schema(kTrainingSchema, kVersion);
  training.expect_only({"schema", "version", "agent", "policy", "training"});
  expect_agent(training, name_);
  JsonDocument rest = training.at("training").copy();
  policy_ = read_policy(training.at("policy"));
  loaded_ = std::move(rest);
}

std::vector<PolicyLayer> RnnAgent::layers(DeviceId num_devices) const {
  const RecurrentPolicy<float> policy(options_.policy, static_cast<std::size_t>(num_devices));
  std::vector<PolicyLayer> layers;
  for (const nn::Layer& layer : policy.parameters().layers()) {
    layers.push_back({layer.name, static_cast<std::int64_t>(layer.inputs),
                      static_cast<std::int64_t>(layer.outputs)});
  }
  return layers;
}

}  // namespace emplace::agents::rnn
