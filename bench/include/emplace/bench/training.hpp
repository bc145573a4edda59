#pragma once

// Trains one policy on many problems: each graph of a plan on each of its clusters. A training can
// be stopped after any update and resumed with the same result, to the last bit: a checkpoint has
// the state of the agent's training, of the evaluators and of the learning curve. It can be stopped
// at any other moment, too; then it is resumed from the last checkpoint.
//
// An evaluator is seeded like the first repetition of a cell (cell.hpp) of the same agent, graph,
// cluster, grouping and root seed. Its budget is the most that the plan's episodes can need. If
// they need less, training ends with the last episode.
//
// With validation graphs the policy that is kept is not the last one but the best of kValidations
// that are evenly spread over the training: that whose episodes of greedy actions place these
// graphs best, by the geometric mean of the objective over them and the clusters. They do not
// change the training.
//
// With patience P and N problems, training ends after the first update at which P x N episodes have
// passed since a better placement was found for any of them.

#include <emplace/agents/agent.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/problem_set.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The reasons for which a training ends.
enum class TrainingEnd {
  kEpisodes,  ///< all episodes of the plan were run
  kPatience,  ///< no better placement was found for as long as the plan allows
  kStopped,   ///< it was stopped from outside and is not finished
};

/// Returns "episodes", "patience" or "stopped".
std::string_view to_string(TrainingEnd end);

/// How often policies are validated.
inline constexpr std::int64_t kValidations = 20;

/// Describes how well a policy places the validation graphs.
struct Validation {
  std::int64_t episodes = 0;  ///< after which it was, over all problems
  std::int64_t updates = 0;
  double objective_us = 0;  ///< geometric mean, of one episode on each
};

/// Trains a policy.
class Training {
 public:
  /// Loads what `plan` names. Throws Error: kUsage for an agent that trains no policy, and for a
  /// graph or a cluster that is given twice, also to train and to validate; kUnsupported for a
  /// cluster with one placeable device, on which there is nothing to choose. The training ends as
  /// soon as `stop` turns true; it may be null.
  explicit Training(TrainingPlan plan, const std::atomic<bool>* stop = nullptr);

  /// Continues from a checkpoint; `source` is its name in errors. Throws kUsage if its plan differs
  /// or if a graph or a cluster has changed since, and kFormat if it is not a checkpoint.
  void resume(std::string_view checkpoint, const std::string& source);

  /// Trains until the plan is done, `after_update` returns false or the training is stopped.
  /// `after_update` is called after each update but the last, and may call the functions below.
  /// Where the training is stopped in the midst of an update, checkpoint() is of use there only.
  /// The number of `threads` (0: all cores) does not change the result. Throws what the agent's
  /// train() throws.
  TrainingEnd run(int threads, const std::function<bool()>& after_update);

  /// Returns all that resume() needs. Requires: run() was called, and was not stopped in the midst
  /// of an update.
  std::string checkpoint() const;

  /// Returns where the policy comes from.
  PolicyOrigin origin() const;

  /// Returns the text of a policy file with the policy as it is now, or the best one so far if it
  /// was validated. Requires: run() was called.
  std::string policy_file() const;

  /// Returns the validations so far; none without validation graphs.
  const std::vector<Validation>& validations() const { return validations_; }

  /// Returns the best validation, which is of the policy that is kept; of equals the last.
  /// Requires: there is one.
  const Validation& best_validation() const;

  /// Returns the learning curve so far.
  const LearningCurve& curve() const { return curve_; }

  /// Returns what the curve is compared with: the lower bounds of the problems, and the steps of
  /// HEFT where its placements fit.
  std::vector<CurveReference> references() const;

  /// Returns the evaluator of each of the curve's problems: evaluations, and the best placement.
  const std::vector<std::unique_ptr<agents::Evaluator>>& evaluators() const { return evaluators_; }

  /// Returns the episodes of the plan, over all problems.
  std::int64_t num_episodes() const;

 private:
  std::int64_t max_evaluations(const Problem& problem) const;
  bool is_due(std::int64_t episodes) const;
  bool validate(const agents::TrainingUpdate& update);
  void load_validations(const JsonCursor& root, const std::string& source);

  TrainingPlan plan_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<agents::TrainableAgent> agent_;
  std::vector<Cell> cells_;
  ProblemSet problems_;
  std::vector<std::unique_ptr<agents::Evaluator>> evaluators_;
  LearningCurve curve_;
  std::vector<Cell> validation_cells_;
  ProblemSet validation_problems_;
  std::vector<Validation> validations_;
  std::string best_policy_;  // that of best_validation()
};

}  // namespace emplace::bench
