#pragma once

// What agents that train a policy network have in common: an agent makes a policy, trains it,
// places with it, and keeps policy and training in files. What is its own is a PolicyModel and the
// Trainer that this makes.

#include "nn/parameters.hpp"
#include "option_table.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/random.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::policy_gradient {

/// What a policy is trained for: to be used on other problems, or to place one.
enum class TrainingPurpose : std::uint8_t { kPolicy, kPlacement };

/// Trains one policy on the problems of some evaluators.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Trains until all budgets are spent, `callback`, which may be empty, returns false, or the
  /// budgets are stopped; then the policy is that of the last update.
  virtual void run(const TrainingCallback& callback) = 0;

  /// Returns the state of the training besides the policy and the evaluators, as a JSON object.
  virtual std::string to_json() const = 0;

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is of something else.
  virtual void load(const JsonCursor& json) = 0;
};

/// Places with networks whose parameters can be learned.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;

  /// Returns the number of placeable devices for which it is; 0 for any number.
  virtual std::size_t num_devices() const = 0;

  /// Draws initial parameters, which were 0.
  virtual void initialize(RandomStream& random) = 0;

  /// Returns the parameters of each network, by the member that holds them in a policy file.
  virtual std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() = 0;

  /// Runs one episode of greedy actions.
  virtual void run_greedy_episode(Evaluator& evaluator) = 0;

  /// Places with the whole budget by a search that the policy guides, and leaves the policy as it
  /// is. Returns false, and does nothing, where there is no such search: then the agent trains.
  virtual bool search(Evaluator& /*evaluator*/) const { return false; }

  /// Begins a training. Requires: at least one evaluator; the policy and the evaluators outlive it.
  virtual std::unique_ptr<Trainer> make_trainer(std::span<Evaluator* const> evaluators,
                                                TrainingPurpose purpose) = 0;
};

/// Is the common base of agents that train a policy.
class PolicyAgent : public TrainableAgent {
 public:
  Placement place(const Problem& problem, Evaluator& evaluator) override;
  Placement place_with_policy(const Problem& problem, Evaluator& evaluator) override;
  void train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback) override;
  std::string save() const override;
  void load(const JsonCursor& policy) override;
  std::string save_training() const override;
  void load_training(const JsonCursor& training) override;
  std::vector<PolicyLayer> layers(DeviceId num_devices) const override;

 protected:
  /// `name` and the values of the parameters that shape the network are written into policy files
  /// and expected there.
  PolicyAgent(std::string name, ParameterTexts shape)
      : name_(std::move(name)), shape_(std::move(shape)) {}

  /// Returns a policy for so many placeable devices.
  virtual std::unique_ptr<PolicyModel> make_policy(std::size_t num_devices) const = 0;

 private:
  void train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback,
             TrainingPurpose purpose);
  // Makes a policy if there is none, and fails where one does not fit.
  void ensure_policy(std::span<Evaluator* const> evaluators);
  std::string header(const char* schema) const;
  void expect_header(const JsonCursor& root, const char* schema) const;
  std::unique_ptr<PolicyModel> read_policy(const JsonCursor& root) const;

  std::string name_;
  ParameterTexts shape_;
  std::unique_ptr<PolicyModel> policy_;
  std::unique_ptr<Trainer> trainer_;    // of the last training
  std::optional<JsonDocument> loaded_;  // the state of a training that the next one resumes
};

/// Returns the elements of an array in a trainer's state that has one for each problem; throws
/// kFormat where there are more or fewer.
std::vector<JsonCursor> elements_by_problem(const JsonCursor& json, std::size_t num_problems);

/// Reads a count of a trainer's state; throws kFormat if it would overflow soon after.
std::int64_t read_count(const JsonCursor& json);

}  // namespace emplace::agents::policy_gradient
