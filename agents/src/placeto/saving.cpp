#include "placeto/agent.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

namespace emplace::agents::placeto {
namespace {

constexpr const char* kSchema = "emplace-policy";
constexpr const char* kTrainingSchema = "emplace-training";
constexpr std::int64_t kVersion = 1;

}  // namespace

std::vector<std::pair<std::string, std::string>> PlacetoAgent::shape() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& name : network_parameters()) {
    values.emplace_back(name, emplace::to_string(params_.values().at(name)));
  }
  return values;
}

void PlacetoAgent::expect_agent(const JsonCursor& root) const {
  if (root.at("agent").text() != name_) {
    root.at("agent").fail(fmt::format("expected '{}'", name_));
  }
}

std::string PlacetoAgent::save() const {
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

void PlacetoAgent::load(const JsonCursor& policy) {
  policy_ = read_policy(policy);
  training_.reset();
  loaded_.reset();
}

std::string PlacetoAgent::save_training() const {
  EMPLACE_CHECK(training_ != nullptr && !loaded_, "no training was started");
  std::string environments;
  for (const Environment& environment : training_->environments) {
    environments += (environments.empty() ? "\n" : ",\n") + environment.to_json();
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
      "\"policy\": {},\"learner\": {},\n\"environments\": [{}\n]{}\n}}\n",
      kTrainingSchema, kVersion, name_, training_->evaluations_before, training_->round,
      training_->next, training_->episodes, save(), training_->learner.to_json(), environments,
      grouper);
}

void PlacetoAgent::load_training(const JsonCursor& root) {
  root.expect_schema(kTrainingSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "evaluations_before", "round", "next", "episodes",
                    "policy", "learner", "environments", "grouper"});
  expect_agent(root);
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
    if (grouper.at("draws").elements().size() != root.at("environments").elements().size()) {
      grouper.at("draws").fail("expected one for each environment");
    }
  }
  policy_ = std::move(policy);
  training_ = std::move(training);
  loaded_ = root.copy();
}

std::unique_ptr<Policy> PlacetoAgent::read_policy(const JsonCursor& root) const {
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", "agent", "devices", "network", "layers", "grouper"});
  expect_agent(root);
  for (const auto& [name, value] : shape()) {
    const JsonCursor found = root.at("network").at(name);
    if (found.text() != value) {
      found.fail(fmt::format("the policy was trained with {0}={1}, not {0}={2}", name,
                             excerpt(found.text()), value));
    }
  }
  constexpr std::int64_t kMostDevices = 4096;
  auto policy = std::make_unique<Policy>(
      options_, static_cast<std::size_t>(root.at("devices").integer(
                    options_.network.score_candidates ? 0 : 1, kMostDevices)));
  policy->network.parameters().load(root.at("layers"));
  if (policy->grouper) {
    policy->grouper->parameters().load(root.at("grouper"));
  }
  return policy;
}

}  // namespace emplace::agents::placeto
