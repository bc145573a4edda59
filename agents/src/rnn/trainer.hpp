#pragma once

// The training of the recurrent agents: REINFORCE on the cost R = sqrt(step time in seconds). Each
// update samples and evaluates some placements of one problem, or of each of several. The loss is
// the mean of (R - b) log p over them, where p is the probability of all actions that made a
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
#include <emplace/agents/session.hpp>
#include <emplace/base/json_cursor.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::rnn {

/// Returns the cost of an evaluation: the square root of its seconds, or of `out_of_memory_s` if it
/// does not fit.
double cost_of(const Evaluation& evaluation, double out_of_memory_s);

/// Trains a policy on the problems of some sessions.
class RecurrentTrainer final : public policy_gradient::Trainer {
 public:
  /// Starts with no update. Requires: `policy` and the sessions outlive this.
  RecurrentTrainer(const Options& options, RecurrentPolicy<float>& policy,
                   std::span<Session* const> sessions);
  ~RecurrentTrainer() override;

  void run(const TrainingCallback& callback) override;
  std::string to_json() const override;
  void load(const JsonCursor& json) override;

 private:
  // One problem, with what lasts from update to update.
  struct Task {
    Session* session;
    std::vector<Item> items;
    policy_gradient::MovingBaseline baseline;
  };

  // What an update samples on one problem, and the gradient of its loss.
  struct Batch;
  // What a batch is computed with.
  struct Workspace;
  class Workspaces;

  // Returns the problems of the next update, in turn; none when all budgets are spent.
  std::vector<Batch> next_batches();
  void sample(Batch& batch, Workspace& workspace);
  // Seeds the derivatives of the loss; returns false if no placement counts.
  bool seed(Task& task, const std::vector<Evaluation>& evaluations, Workspace& workspace) const;
  // Makes a step along the mean gradient; returns its norm.
  double step(std::span<const Batch> batches);

  SamplingOptions sampling_;
  RewardOptions reward_;
  bool normalizes_advantages_;
  RecurrentPolicy<float>* policy_;
  policy_gradient::PolicyOptimizer optimizer_;
  std::unique_ptr<Workspaces> workspaces_;
  std::vector<Task> tasks_;
  std::size_t next_ = 0;  // task of the next update, modulo their number
  std::int64_t episodes_ = 0;
  std::vector<float> gradient_;
};

/// Says whether derivatives are kept.
enum class Learns : std::uint8_t { kNo, kYes };

/// Throws Error of kUnsupported if `tapes` tapes of so many placements of all groups, or of the
/// learned groups, take too much memory: the attention of each group reads all groups.
void check_size(const Options& options, const Problem& problem, std::size_t placements,
                std::size_t tapes, Learns learns);

/// Sets `placements` to the sampled ones, draw by draw.
void read_placements(const std::deque<GroupedDraw>& draws, const Problem& problem,
                     std::span<const Item> items, std::vector<Placement>& placements);

}  // namespace emplace::agents::rnn
