#pragma once

// An episode in which a placement improves move by move. Each step of it
//   1. draws moves at random (random_moves.hpp), lets the network value them and adds them to a
//      pool;
//   2. takes the move of the highest value from the pool (with probability epsilon: a random one)
//      and evaluates the placement after it;
//   3. keeps the move if the step becomes shorter, otherwise with probability exp(-increase / T),
//      where T falls geometrically with the episode (Kirkpatrick, Gelatt, Vecchi 1983).
// A pool lasts until a move is kept. Then the best of its moves are valued anew, and go into the
// next one. The gain of each evaluated move, kept or not, is the reward of a decision and a label
// for the value of that move. Memory has a price that adapts (memory_penalty.hpp).
//
// Embeddings of groups change little with a move, so they are computed anew only once in a while.
//
// An episode can learn while it runs: the last two layers of its network make steps of gradient
// descent on gains of this episode. Embeddings keep the parameters that were learned before
// (trainer.hpp).

#include "group_neighbours.hpp"
#include "learned_search/move_features.hpp"
#include "learned_search/observed_step.hpp"
#include "learned_search/value_learner.hpp"
#include "learned_search/value_network.hpp"
#include "nn/tape.hpp"
#include "search/memory_penalty.hpp"
#include "search/random_moves.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/move_evaluator.hpp>
#include <emplace/sim/placement.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace emplace::agents::learned_search {

/// Says how many groups move at once: one, a cluster of a coarser level, or a layer
/// (random_moves.hpp).
enum class Levels : std::uint8_t {
  kLearned,  ///< as many as the move of the highest value has
  kRandom,   ///< drawn at random; the values choose among moves of the same level
  kFinest,   ///< one
};

/// Says what an episode does.
struct MoveOptions {
  /// Moves that the network values after a move that is kept; after others, whose pool lasts, a
  /// quarter of that.
  std::int64_t moves = 128;
  Levels levels = Levels::kLearned;
  double epsilon = 0.1;             ///< probability of a random move
  double initial_temperature = 2;   ///< in mean times of a group
  double final_temperature = 0.01;  ///< in the same unit
  double learning_rate = 0.001;     ///< within the episode; 0: it does not learn
};

/// Holds what all episodes on one problem share.
struct MoveContext {
  MoveContext(const Problem& problem, Levels levels);

  Coarsening coarsening;
  GroupNeighbours neighbours;
  RandomMoves random_moves;
};

/// Returns the label of a move that gained so much: log2(1 + gain) in mean times of a group, and
/// a small part of that for losses. How bad a bad move is does not matter much.
float value_of_gain(double gain_us, double mean_time_us);

/// Holds what a placement and its step looked like when its groups were embedded, and the moves
/// that were tried from then on.
struct Transitions {
  std::vector<float> attributes{};
  nn::SegmentSum on_device{};
  MoveBatch moves{};
  std::vector<float> values{};  ///< labels, by move
  std::vector<bool> kept{};     ///< which of the moves were kept
};

/// Runs one episode.
class MoveEpisode {
 public:
  /// Begins at `start`, which takes an evaluation, and ends after `length` evaluations or with the
  /// budget. Requires: the evaluator and its problem's context outlive this.
  MoveEpisode(Evaluator& evaluator, const MoveContext& context, const ValueNetwork<float>& network,
              const MoveOptions& options, const Placement& start,
              std::int64_t length = std::numeric_limits<std::int64_t>::max());
  MoveEpisode(const MoveEpisode&) = delete;
  MoveEpisode& operator=(const MoveEpisode&) = delete;

  /// Runs to the end, at once where there is one placeable device. Appends what was tried to
  /// `transitions`, unless it is null.
  void run(std::vector<Transitions>* transitions = nullptr);

  /// Returns the objective of the last placement that was kept.
  double last_us() { return penalty_.objective_us(reached_); }

 private:
  // Moves that were not tried from here.
  struct Candidate {
    std::vector<Move> moves{};
    std::size_t level = 0;
    DeviceId origin = 0;  // of the first group
    std::uint64_t hash = 0;
    std::array<float, MoveBatch::kFeatures> features{};
    float value = 0;
  };

  void observe();
  void embed();
  bool fill_pool();
  void keep_best(std::size_t count);
  void describe(Candidate candidate);
  void value_fresh();
  Candidate choose();
  void add_to(std::vector<Transitions>& transitions, const Candidate& tried, float value,
              bool is_kept);
  nn::Value descriptions(const MoveBatch& moves);
  void learn(const Candidate& tried, float value);
  void remember(const Candidate& tried, float value);
  void improve();
  std::int64_t evaluations() const { return evaluator_.budget().evaluations() - first_evaluation_; }
  double temperature_us() const;

  Evaluator& evaluator_;
  MoveOptions options_;
  ValueNetwork<float> network_;  // which learns here
  std::int64_t length_;
  std::int64_t first_evaluation_;
  double from_share_;  // of the budget
  const MoveContext& context_;
  ObservedStep step_;
  MoveFeatures features_;
  MemoryPenalty penalty_;
  MoveEvaluator moves_;
  StepOutline outline_;  // of its base
  Evaluation reached_;

  std::int64_t observations_ = 0;
  // What the network knew of groups when they were embedded.
  std::vector<float> attributes_;
  nn::SegmentSum on_device_;
  nn::Value embeddings_;  // on embedding_tape_
  nn::Value pools_;       // on embedding_tape_
  bool is_embedded_anew_ = false;

  std::vector<Candidate> pool_;
  bool pool_is_stale_ = false;    // by a move that was kept
  std::vector<Candidate> fresh_;  // those that are to be valued
  MoveBatch batch_;               // the same
  // What moves gained that were tried in this episode; those that were tried from here or are or
  // were in the pool. They are known by hashes, whose order is never used.
  std::unordered_map<std::uint64_t, float> value_of_;
  std::unordered_set<std::uint64_t> known_here_;

  nn::Tape<float> embedding_tape_;
  nn::Tape<float> tape_;
  ValueLearner learner_;
  std::vector<float> gradient_;
  std::vector<float> replay_;         // descriptions
  std::vector<float> replay_values_;  // and what they gained
  std::size_t gains_ = 0;             // so far
};

}  // namespace emplace::agents::learned_search
