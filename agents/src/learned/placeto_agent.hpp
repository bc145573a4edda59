#pragma once

// Placeto (Addanki et al. 2019): a graph network that visits the groups one after the other and
// chooses each one's device anew, trained by REINFORCE on what each choice gains. Every placement
// on the way is simulated; the answer is the best of all.

#include "learned/placeto_options.hpp"
#include "learned/placeto_training.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// What placeto and its kin share; they differ in their parameters' defaults.
class PlacetoAgent : public TrainableAgent {
 public:
  /// Reads `params`; `name` is whose policies it saves and loads.
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
  void play_and_learn(const TrainingCallback& callback);
  std::vector<Play> take_turns(bool greedy);
  void play(std::span<Play> plays, bool greedy);
  // Says whether to go on.
  bool learn(std::span<const Play> plays, const TrainingCallback& callback);

  // The parameters that shape the network, as a user would write them.
  std::vector<std::pair<std::string, std::string>> shape() const;
  void expect_own(const JsonCursor& root) const;
  std::unique_ptr<Policy> read_policy(const JsonCursor& root) const;

  std::string name_;
  Params params_;
  Options options_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Training> training_;  // the last one
  std::optional<JsonDocument> loaded_;  // what the next one goes on from
};

}  // namespace emplace::agents::placeto
