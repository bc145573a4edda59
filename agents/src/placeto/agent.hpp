#pragma once

// Placeto (Addanki et al. 2019): a policy that visits the groups in turn and chooses a device for
// each, with a graph neural network, trained by REINFORCE on the time that each action saves. Every
// placement on the way is evaluated; the answer is the best of all.

#include "placeto/options.hpp"
#include "placeto/training.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// Is the common base of placeto and its variants, which differ in the defaults of parameters.
class PlacetoAgent : public TrainableAgent {
 public:
  /// Reads `params`; `name` is written into saved policies and expected in loaded ones.
  explicit PlacetoAgent(const Params& params, std::string name = "placeto")
      : name_(std::move(name)), params_(params), options_(options_of(params)) {}

  Placement place(const Problem& problem, Session& session) override;
  Placement place_with_policy(const Problem& problem, Session& session) override;
  void train(std::span<Session* const> sessions, const TrainingCallback& callback) override;
  std::string save() const override;
  void load(const JsonCursor& policy) override;
  std::string save_training() const override;
  void load_training(const JsonCursor& root) override;
  std::vector<PolicyLayer> layers(DeviceId num_devices) const override;

  std::int64_t evaluations_per_episode(const Problem& problem) const override {
    return placeto::evaluations_per_episode(options_.episode, problem);
  }

 private:
  void ensure_policy(std::span<Session* const> sessions);
  void begin(std::span<Session* const> sessions);
  void resume(std::span<Session* const> sessions);
  void run_training(const TrainingCallback& callback);
  std::vector<EpisodeBatch> next_episodes(bool greedy);
  void run_episodes(std::span<EpisodeBatch> batches, bool greedy);
  // Makes an update; returns false where the callback stops the training.
  bool learn(std::span<const EpisodeBatch> batches, const TrainingCallback& callback);

  // The parameters that shape the network, as a user would write them.
  std::vector<std::pair<std::string, std::string>> shape() const;
  void expect_agent(const JsonCursor& root) const;
  std::unique_ptr<Policy> read_policy(const JsonCursor& root) const;

  std::string name_;
  Params params_;
  Options options_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Training> training_;  // the last one
  std::optional<JsonDocument> loaded_;  // a checkpoint that the next one resumes
};

}  // namespace emplace::agents::placeto
