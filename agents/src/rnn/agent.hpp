#pragma once

// The common base of the recurrent agents: training, placement, saving and loading.

#include "rnn/options.hpp"
#include "rnn/policy.hpp"
#include "rnn/training.hpp"

#include <emplace/agents/agent.hpp>

#include <memory>
#include <optional>
#include <string>

namespace emplace::agents::rnn {

/// Trains one of the recurrent policies.
class RnnAgent : public TrainableAgent {
 public:
  /// Makes the agent `name` with these parameters.
  RnnAgent(std::string name, const Params& params);

  Placement place(const Problem& problem, Session& session) override;
  void train(std::span<Session* const> sessions, const TrainingCallback& callback) override;
  Placement place_with_policy(const Problem& problem, Session& session) override;
  std::int64_t evaluations_per_episode(const Problem&) const override { return 1; }
  std::string save() const override;
  void load(const JsonCursor& policy) override;
  std::string save_training() const override;
  void load_training(const JsonCursor& training) override;
  std::vector<PolicyLayer> layers(DeviceId num_devices) const override;

 private:
  void ensure_policy(std::span<Session* const> sessions);
  std::unique_ptr<RecurrentPolicy<float>> read_policy(const JsonCursor& root) const;

  std::string name_;
  Params params_;
  Options options_;
  std::unique_ptr<RecurrentPolicy<float>> policy_;
  std::unique_ptr<Training> training_;  // the last one
  std::optional<JsonDocument> loaded_;  // a checkpoint that the next one resumes
};

}  // namespace emplace::agents::rnn
