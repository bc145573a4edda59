#pragma once

// Training of one policy on many graphs and clusters, which can be cut at any update and taken up
// again with the same bits: a checkpoint holds the agent's training, the sessions and the learning
// curve. A session is seeded like the first repetition of a cell (cell.hpp) of the same agent,
// graph, cluster, grouping and root seed, and its budget is what the plan's episodes take at most;
// where they take less, training ends with the last episode and some of it is left.
//
// With patience P, training ends after the first update at which P episodes for each problem, all
// problems together, have passed since a better placement was found for any of them.

#include <emplace/agents/agent.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/problem_set.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Says why a training ended.
enum class TrainingEnd {
  kEpisodes,  ///< all episodes of the plan were played
  kPatience,  ///< no better placement was found for long
  kStopped,   ///< it was told to; it is not finished
};

/// Returns "episodes", "patience" or "stopped".
std::string_view to_string(TrainingEnd end);

/// Trains a policy.
class Training {
 public:
  /// Loads what `plan` names. Throws Error: kUsage for an agent that trains no policy, and for a
  /// graph or a cluster that comes twice.
  explicit Training(TrainingPlan plan);

  /// Goes on from a checkpoint; `source` is its name in errors. Throws kUsage if it is one of
  /// another plan or if a graph or a cluster has changed since, and kFormat if it is none.
  void resume(std::string_view checkpoint, const std::string& source);

  /// Trains on `threads` (0: all cores), which do not matter to the result, until the plan is done
  /// or `after_update` says no. It is asked after each update but the last, and may call the
  /// functions below. Throws what the agent's train() throws.
  TrainingEnd run(int threads, const std::function<bool()>& after_update);

  /// Returns all that resume() needs. Requires: run() was called.
  std::string checkpoint() const;

  /// Returns where the policy comes from.
  PolicyOrigin origin() const;

  /// Returns the text of a policy file with the policy as it is now. Requires: run() was called.
  std::string policy_file() const;

  /// Returns how the training went so far.
  const LearningCurve& curve() const { return curve_; }

  /// Returns the session of each of the curve's problems: simulations, and the best placement.
  const std::vector<std::unique_ptr<agents::Session>>& sessions() const { return sessions_; }

  /// Returns the episodes of the plan, over all problems.
  std::int64_t num_episodes() const;

 private:
  TrainingPlan plan_;
  std::unique_ptr<agents::TrainableAgent> agent_;
  std::vector<Cell> cells_;
  ProblemSet problems_;
  std::vector<std::unique_ptr<agents::Session>> sessions_;
  LearningCurve curve_;
};

}  // namespace emplace::bench
