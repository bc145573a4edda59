#pragma once

// How a training went: a row for each update and each problem that was played for it, as CSV for
// programs and as SVG for people.

#include <emplace/agents/agent.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Names a graph and the cluster on which it is placed.
struct ProblemName {
  std::string graph{};
  std::string cluster{};
};

/// Keeps the updates of a training.
class LearningCurve {
 public:
  /// Starts a curve over `problems`, which the sessions of updates count.
  explicit LearningCurve(std::vector<ProblemName> problems) : problems_(std::move(problems)) {}

  /// Adds an update. Requires: its session is one of the problems.
  void add(const agents::TrainingUpdate& update);

  /// Returns all that was added.
  const std::vector<agents::TrainingUpdate>& rows() const { return rows_; }

  /// Returns the episodes that were played up to the last row, over all problems.
  std::int64_t episodes() const { return rows_.empty() ? 0 : rows_.back().episodes; }

  /// Returns the problems.
  const std::vector<ProblemName>& problems() const { return problems_; }

  /// Returns the episodes, over all problems, since a better placement of any of them was found.
  std::int64_t episodes_without_gain() const;

  /// Returns a table: update, episodes, graph, cluster, last_us, best_us, entropy, gradient_norm,
  /// as in TrainingUpdate, under a line of these names. Numbers read back as the same bits.
  std::string to_csv() const;

  /// Returns a picture: for each problem, over the episodes of all, the time of the placements with
  /// which episodes end and of the best so far. Where there are several problems, a plot of all
  /// comes first, from when each was played: the geometric means of these times over the best of
  /// the training.
  std::string to_svg() const;

 private:
  std::vector<ProblemName> problems_;
  std::vector<agents::TrainingUpdate> rows_;
  std::vector<double> best_us_;  // by problem, of its last row; infinity before the first
  std::int64_t last_gain_ = 0;   // episodes at the last row with a better placement
};

}  // namespace emplace::bench
