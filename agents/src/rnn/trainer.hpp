#pragma once

// The training of the recurrent agents: REINFORCE on the cost R = sqrt(step time in seconds). Each
// update samples and evaluates some placements of one problem, the problems taking turns. The loss
// is the mean of (R - b) log p over them, where p is the probability of all actions that made a
// placement, those of the grouping included. The baseline b is a moving average of the mean R on
// the problem, initialized with the first. A placement that does not fit counts as one of
// `out_of_memory_s` seconds, and after `feasible_only_after` updates not at all.
//
// Ours: the advantages R - b of an update may be brought to a root mean square of 1, so that an
// entropy bonus weighs the same on every problem, and the bonus and the learning rate follow
// schedules over the budget.

#include "policy_gradient/baseline.hpp"
#include "policy_gradient/policy_agent.hpp"
#include "policy_gradient/policy_optimizer.hpp"
#include "rnn/options.hpp"
#include "rnn/policy.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/evaluator.hpp>
#include <emplace/base/json_cursor.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::rnn {

/// Returns the cost of an evaluation: the square root of its seconds, or of `out_of_memory_s` if it
/// does not fit.
double cost_of(const Evaluation& evaluation, double out_of_memory_s);

/// Trains a policy on the problems of some evaluators.
class RecurrentTrainer final : public policy_gradient::Trainer {
 public:
  /// Starts with no update. Requires: `policy` and the evaluators outlive this.
  RecurrentTrainer(const Options& options, RecurrentPolicy<float>& policy,
                   std::span<Evaluator* const> evaluators);

  void run(const TrainingCallback& callback) override;
  std::string to_json() const override;
  void load(const JsonCursor& json) override;

 private:
  // One problem, with what lasts from update to update.
  struct Task {
    Evaluator* evaluator;
    std::vector<Item> items;
    policy_gradient::MovingBaseline baseline;
  };

  // Returns the problem of the next update; null when all budgets are spent.
  Task* next_task();
  // Samples placements of a problem and evaluates them.
  std::vector<Evaluation> sample(const Task& task);
  // Seeds the derivatives of the loss; returns false if no placement counts.
  bool seed(Task& task, const std::vector<Evaluation>& evaluations);
  // Makes a step along the gradient; returns its norm.
  double step();

  SamplingOptions sampling_;
  RewardOptions reward_;
  bool normalizes_advantages_;
  RecurrentPolicy<float>* policy_;
  policy_gradient::PolicyOptimizer optimizer_;
  nn::Tape<float> tape_;
  GroupedDraw drawn_;
  std::vector<Task> tasks_;
  std::size_t next_ = 0;  // task of the next update, modulo their number
  std::int64_t episodes_ = 0;
  std::vector<float> gradient_;
};

/// Says whether derivatives are kept.
enum class Learns : std::uint8_t { kNo, kYes };

/// Throws Error of kUnsupported if a tape of so many placements of all groups takes too much
/// memory: the attention of each group reads all groups.
void check_size(const Options& options, const Problem& problem, std::size_t placements,
                Learns learns);

/// Returns the sampled placements.
std::vector<Placement> read_placements(const GroupedDraw& drawn, const Problem& problem,
                                       std::span<const Item> items);

}  // namespace emplace::agents::rnn
