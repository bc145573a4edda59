#include "policy_agent.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>

namespace emplace::agents::policy_gradient {
namespace {

constexpr const char* kPolicySchema = "emplace-policy";
constexpr const char* kTrainingSchema = "emplace-training";
constexpr std::int64_t kVersion = 1;

Placement best_of(const Problem& problem, const Evaluator& evaluator) {
  return evaluator.incumbent().placement().value_or(
      Placement(problem.num_groups(), problem.placeable_devices().front()));
}

}  // namespace

Placement PolicyAgent::place(const Problem& problem, Evaluator& evaluator) {
  Evaluator* const evaluators[] = {&evaluator};
  if (problem.placeable_devices().size() > 1) {
    const bool is_trained = policy_ != nullptr;
    ensure_policy(evaluators);
    if (!policy_->search(evaluator)) {
      if (is_trained) {
        policy_->run_greedy_episode(evaluator);
      }
      train(evaluators, {}, TrainingPurpose::kPlacement);
    }
  }
  return best_of(problem, evaluator);
}

Placement PolicyAgent::place_with_policy(const Problem& problem, Evaluator& evaluator) {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  Evaluator* const evaluators[] = {&evaluator};
  ensure_policy(evaluators);
  policy_->run_greedy_episode(evaluator);
  return best_of(problem, evaluator);
}

void PolicyAgent::train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback) {
  train(evaluators, callback, TrainingPurpose::kPolicy);
}

void PolicyAgent::train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback,
                        TrainingPurpose purpose) {
  EMPLACE_CHECK(!evaluators.empty(), "nothing to train on");
  ensure_policy(evaluators);
  if (!loaded_) {
    trainer_ = policy_->make_trainer(evaluators, purpose);
  } else {
    // The evaluators are in a later state than that in which a training begins.
    std::vector<RandomStream> states;
    for (Evaluator* evaluator : evaluators) {
      states.push_back(evaluator->random());
    }
    trainer_ = policy_->make_trainer(evaluators, purpose);
    for (std::size_t i = 0; i < evaluators.size(); ++i) {
      evaluators[i]->random() = states[i];
    }
    const JsonDocument state = std::move(*loaded_);
    loaded_.reset();
    trainer_->load(state.root());
  }
  trainer_->run(callback);
}

std::vector<PolicyLayer> PolicyAgent::layers(DeviceId num_devices) const {
  std::vector<PolicyLayer> layers;
  const auto policy = make_policy(static_cast<std::size_t>(num_devices));
  for (const auto& [member, parameters] : policy->networks()) {
    for (const nn::Layer& layer : parameters->layers()) {
      layers.push_back({layer.name, static_cast<std::int64_t>(layer.inputs),
                        static_cast<std::int64_t>(layer.outputs)});
    }
  }
  return layers;
}

void PolicyAgent::ensure_policy(std::span<Evaluator* const> evaluators) {
  if (!policy_) {
    policy_ = make_policy(evaluators.front()->problem().placeable_devices().size());
    policy_->initialize(evaluators.front()->random());
  }
  for (const Evaluator* evaluator : evaluators) {
    const std::size_t found = evaluator->problem().placeable_devices().size();
    if (policy_->num_devices() != 0 && policy_->num_devices() != found) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("a policy of {} for {} devices cannot place {} on the {} of {}",
                              name_, policy_->num_devices(),
                              evaluator->problem().graph()[boost::graph_bundle].name, found,
                              evaluator->problem().cluster().name));
    }
  }
}

// Both files begin with this.
std::string PolicyAgent::header(const char* schema) const {
  return fmt::format("{{\n\"schema\": \"{}\",\n\"version\": {},\n\"agent\": \"{}\",\n", schema,
                     kVersion, name_);
}

void PolicyAgent::expect_header(const JsonCursor& root, const char* schema) const {
  root.expect_schema(schema, kVersion);
  if (root.at("agent").text() != name_) {
    root.at("agent").fail(fmt::format("expected '{}'", name_));
  }
}

std::string PolicyAgent::save() const {
  EMPLACE_CHECK(policy_ != nullptr, "no policy was trained or loaded");
  std::string shape;
  for (const auto& [name, value] : shape_) {
    shape += fmt::format("{}\"{}\": \"{}\"", shape.empty() ? "" : ", ", name, value);
  }
  std::string networks;
  for (const auto& [member, parameters] : policy_->networks()) {
    networks += fmt::format(",\n\"{}\": {}", member, parameters->to_json());
  }
  return fmt::format("{}\"devices\": {},\n\"network\": {{{}}}{}\n}}\n", header(kPolicySchema),
                     policy_->num_devices(), shape, networks);
}

void PolicyAgent::load(const JsonCursor& policy) {
  std::unique_ptr<PolicyModel> read = read_policy(policy);
  trainer_.reset();
  loaded_.reset();
  policy_ = std::move(read);
}

std::unique_ptr<PolicyModel> PolicyAgent::read_policy(const JsonCursor& root) const {
  constexpr std::int64_t kMostDevices = 4096;
  expect_header(root, kPolicySchema);
  root.expect_only({"schema", "version", "agent", "devices", "network", "layers"});
  for (const auto& [name, value] : shape_) {
    const JsonCursor found = root.at("network").at(name);
    if (found.text() != value) {
      found.fail(fmt::format("the policy was trained with {0}={1}, not {0}={2}", name,
                             excerpt(found.text()), value));
    }
  }
  const std::int64_t fewest = make_policy(1)->num_devices() == 0 ? 0 : 1;
  auto policy =
      make_policy(static_cast<std::size_t>(root.at("devices").integer(fewest, kMostDevices)));
  for (const auto& [member, parameters] : policy->networks()) {
    parameters->load(root.at(member));
  }
  return policy;
}

std::string PolicyAgent::save_training() const {
  EMPLACE_CHECK(trainer_ != nullptr && !loaded_, "no training was started");
  return fmt::format("{}\"policy\": {},\"training\": {}\n}}\n", header(kTrainingSchema), save(),
                     trainer_->to_json());
}

// The trainer's state is checked by the next train(), which knows the problems.
void PolicyAgent::load_training(const JsonCursor& training) {
  expect_header(training, kTrainingSchema);
  training.expect_only({"schema", "version", "agent", "policy", "training"});
  JsonDocument state = training.at("training").copy();
  load(training.at("policy"));
  loaded_ = std::move(state);
}

std::vector<JsonCursor> elements_by_problem(const JsonCursor& json, std::size_t num_problems) {
  std::vector<JsonCursor> elements = json.elements();
  if (elements.size() != num_problems) {
    json.fail(fmt::format("expected {} problems, found {}", num_problems, elements.size()));
  }
  return elements;
}

std::int64_t read_count(const JsonCursor& json) { return json.integer(0, std::int64_t{1} << 53); }

}  // namespace emplace::agents::policy_gradient
