#pragma once

// An episode in which a placement improves move by move. Each step of it
//   1. draws moves at random (random_moves.hpp) and lets the network value them;
//   2. evaluates the placement after the move of the highest value (with probability epsilon: after
//      a random one) that was not tried in the present placement;
//   3. keeps the move if the step becomes shorter, otherwise with probability exp(-increase / T),
//      where T falls geometrically with the episode (Kirkpatrick, Gelatt, Vecchi 1983).
// The gain of each evaluated move, kept or not, is the reward of a decision and a label for the
// value of that move. Memory has a price that adapts (memory_penalty.hpp).
//
// An episode can learn while it runs: after each evaluation the last two layers of its network make
// a step of gradient descent on gains of this episode. Embeddings keep the parameters that were
// learned before (value_trainer.hpp).

#include "nn/optimizer.hpp"
#include "nn/tape.hpp"
#include "placeto/move_features.hpp"
#include "placeto/observed_step.hpp"
#include "placeto/value_network.hpp"
#include "search/memory_penalty.hpp"
#include "search/random_moves.hpp"

#include <emplace/agents/session.hpp>
#include <emplace/sim/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace emplace::agents::placeto {

/// Says what an episode does.
struct MoveOptions {
  std::int64_t candidates = 128;    ///< moves that the network values for each evaluation
  double epsilon = 0.1;             ///< probability of a random move
  double initial_temperature = 2;   ///< in mean times of a group
  double final_temperature = 0.01;  ///< in the same unit
  double learning_rate = 0.001;     ///< within the episode; 0: it does not learn
};

/// Returns the label of a move that gained so much: log2(1 + gain) in mean times of a group, and
/// a small part of that for losses. How bad a bad move is does not matter much.
float value_of_gain(double gain_us, double mean_time_us);

/// Holds what a placement and its step looked like, and the moves that were tried from there.
struct Trials {
  std::vector<float> attributes{};
  nn::SegmentSum on_device{};
  MoveBatch moves{};
  std::vector<float> values{};  ///< labels, by move
};

/// Runs one episode.
class MoveEpisode {
 public:
  /// Begins at `start`, which takes an evaluation, and ends after `length` evaluations or with the
  /// budget. Requires: the session outlives this.
  MoveEpisode(Session& session, const ValueNetwork<float>& network, const MoveOptions& options,
              const Placement& start,
              std::int64_t length = std::numeric_limits<std::int64_t>::max());
  MoveEpisode(const MoveEpisode&) = delete;
  MoveEpisode& operator=(const MoveEpisode&) = delete;

  /// Runs to the end. Appends what was tried to `trials`, unless it is null.
  void run(std::vector<Trials>* trials = nullptr);

  /// Returns the objective of the last placement that was kept.
  double last_us() { return penalty_.objective_us(reached_); }

 private:
  void observe();
  bool draw(std::size_t count);
  std::size_t most_valuable();
  Evaluation evaluate(const std::vector<Move>& moves);
  void learn(float value);
  std::int64_t evaluations() const { return session_.evaluations() - first_evaluation_; }
  double temperature_us() const;

  Session& session_;
  MoveOptions options_;
  ValueNetwork<float> network_;  // which learns here
  std::int64_t length_;
  std::int64_t first_evaluation_;
  double from_share_;  // of the budget
  Neighbourhoods neighbourhoods_;
  RandomMoves random_moves_;
  ObservedStep step_;
  MoveFeatures features_;
  MemoryPenalty penalty_;
  Placement current_;
  StepOutline outline_;
  StepOutline tried_outline_;
  Evaluation reached_;

  std::vector<float> attributes_;
  nn::SegmentSum on_device_;
  nn::Value embeddings_;  // on embedding_tape_
  std::vector<std::vector<Move>> candidates_;
  std::size_t num_candidates_ = 0;
  MoveBatch batch_;  // of the candidates
  std::vector<std::uint64_t> hashes_;
  std::vector<float> description_;  // of the chosen one
  std::vector<DeviceId> before_;    // of the groups that move
  // What moves gained that were tried in this episode, and those that were tried from here. They
  // are known by hashes; the order of these containers is never used.
  std::unordered_map<std::uint64_t, float> value_of_;
  std::unordered_set<std::uint64_t> tried_here_;

  nn::Tape<float> embedding_tape_;
  nn::Tape<float> tape_;
  nn::Optimizer optimizer_;
  std::vector<float> gradient_;
  std::vector<float> replay_;         // descriptions
  std::vector<float> replay_values_;  // and what they gained
  std::size_t oldest_ = 0;            // of the replay, once it is full
};

}  // namespace emplace::agents::placeto
