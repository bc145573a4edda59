#pragma once

// The course of a training: a row for each update and each problem of its episodes, as CSV for
// programs and as SVG for people.

#include <emplace/agents/agent.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Names a graph and the cluster on which it is placed.
struct ProblemName {
  std::string graph{};
  std::string cluster{};
};

/// Describes an update, with the evaluations that had been spent by then.
struct CurveRow : agents::TrainingUpdate {
  std::int64_t evaluations = 0;  ///< over all problems
};

/// Step times with which those of a training are compared, such as a lower bound.
struct CurveReference {
  std::string name{};
  std::vector<double> us{};  ///< by problem; 0 where there is none
};

/// The mean over the problems of a training.
struct CurveMean {
  double at = 0;       ///< on the axis
  double last = 0;     ///< step time at the end of episodes
  double best = 0;     ///< of the best placement so far
  double entropy = 0;  ///< of a decision of the policy; 0 if it has none
};

/// Keeps the updates of a training.
class LearningCurve {
 public:
  /// Starts a curve over `problems`; TrainingUpdate::problem is an index of them.
  explicit LearningCurve(std::vector<ProblemName> problems) : problems_(std::move(problems)) {}

  /// Adds an update. Requires: its problem is one of them.
  void add(const CurveRow& update);

  /// Returns all that was added.
  const std::vector<CurveRow>& rows() const { return rows_; }

  /// Returns the number of episodes up to the last row, over all problems.
  std::int64_t episodes() const { return rows_.empty() ? 0 : rows_.back().episodes; }

  /// Returns the problems.
  const std::vector<ProblemName>& problems() const { return problems_; }

  /// Returns the number of episodes, over all problems, since a better placement of any of them was
  /// found.
  std::int64_t episodes_without_gain() const;

  /// Returns a table with a header line: update, episodes, evaluations, graph, cluster, last_us,
  /// best_us, entropy, gradient_norm, as in CurveRow. Numbers are read back exactly.
  std::string to_csv() const;

  /// Returns the course of the whole training: times relative to the best of the training, as
  /// geometric means over the problems, from the update on at which every problem has one. Updates
  /// within 2 % of one another are one point.
  std::vector<CurveMean> means() const;

  /// Returns means() over evaluations as one JSON object with schema_version: arrays evaluations,
  /// last, best and entropy.
  std::string means_json() const;

  /// Returns a plot for each problem, unless there are more than 12: over evaluations of all
  /// problems, the step time at the end of episodes, the best so far, and level lines of the
  /// references. If there are several problems, a plot of means() comes first. The last plot is
  /// that of the entropy, if the policy has one. Updates within 2 % of one another are drawn as
  /// their mean.
  std::string to_svg(std::span<const CurveReference> references = {}) const;

 private:
  std::vector<ProblemName> problems_;
  std::vector<CurveRow> rows_;
  std::vector<double> best_us_;  // by problem, of its last row; infinity before the first
  std::int64_t last_gain_ = 0;   // episodes at the last row with a better placement
};

/// Reads what means_json() wrote; `source` names it in errors. Throws kFormat.
std::vector<CurveMean> read_curve_means(std::string_view json, const std::string& source);

}  // namespace emplace::bench
