#pragma once

// Compares two runs A and B, such as those of a program before and after a change. Results belong
// together if graph, cluster and label of the agent are the same; any other difference between them
// (parameters, budget, grouping, policy, costs, program, seed) is reported.
//
//     ratio = step time of B / step time of A
//
// On one graph, the repetitions of A and B are independent samples (two_samples.hpp). Deterministic
// agents have one repetition, and their ratio is exact. In tests, a repetition that is out of
// memory or failed is slower than all that fit. Over graphs, the medians on one graph are a pair
// (paired_comparison.hpp); only graphs on which both runs have a step time count, and the number of
// others is reported as well. Tests are corrected over all agents and clusters, and separately over
// all rows by graph (significance.hpp).
//
// Step times can be compared only if the problems have the same step hash. If not, a row has its
// ratio, but no test and no verdict.

#include <emplace/bench/paired_comparison.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/significance.hpp>
#include <emplace/bench/two_samples.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emplace::bench {

/// Names what two runs do not have in common.
struct InputDifference {
  std::string what{};
  std::string a{};
  std::string b{};
};

/// One run's results for an agent on one graph and cluster.
struct ComparedResult {
  std::int64_t repetitions = 0;                      ///< finished ones
  std::int64_t out_of_memory = 0;                    ///< of these
  std::int64_t failed = 0;                           ///< of these
  std::optional<double> step_time_us{};              ///< median of those that are ok, if any
  std::optional<double> evaluations_to_near_best{};  ///< median; nothing if all failed
};

/// Compares an agent's results on one graph and cluster.
struct GraphComparison {
  std::string graph{};
  std::string cluster{};
  std::string agent{};  ///< label
  ComparedResult a{};
  ComparedResult b{};
  bool same_costs = true;                      ///< see the head of this file
  bool identical = false;                      ///< all repetitions end alike, to the last bit
  bool exact = false;                          ///< the agent is deterministic
  std::optional<SampleRatio> ratio{};          ///< nothing if either run has no step time
  std::optional<Significance> significance{};  ///< nothing if exact, or if costs differ
  Verdict verdict = Verdict::kUnsure;
};

/// Compares an agent's results over graphs, on one cluster.
struct AgentComparison {
  std::string agent{};  ///< label
  std::string cluster{};
  std::int64_t only_a = 0;                  ///< graphs of both runs on which only A has a step time
  std::int64_t only_b = 0;                  ///< ... only B
  std::optional<PairedComparison> pairs{};  ///< nothing if there is no pair
  std::optional<Significance> significance{};  ///< its `p` is that of `pairs`, corrected
  Verdict verdict = Verdict::kUnsure;
};

/// Names results that only one run has.
struct MissingResults {
  bool in_a = false;  ///< A has them
  std::string agent{};
  std::string cluster{};
  std::vector<std::string> graphs{};
};

/// Names a run.
struct ComparedRun {
  std::string suite{};
  std::int64_t cells_finished = 0;
  std::int64_t cells_total = 0;
};

/// The comparison of two runs.
struct RunComparison {
  ComparedRun a{};
  ComparedRun b{};
  double threshold = 0;
  std::vector<InputDifference> differences{};
  std::vector<MissingResults> missing{};  ///< in the order of A, then of B
  std::vector<AgentComparison> agents{};  ///< in the order of A
  std::vector<GraphComparison> graphs{};  ///< in the order of A

  /// Returns how many comparisons have this verdict.
  std::int64_t count(Verdict verdict) const;
};

/// Compares two runs. Throws kFormat if no agent of one ran on the same problem in the other.
RunComparison compare_runs(const StoredRun& a, const StoredRun& b, double threshold);

/// Returns the comparison for a terminal of `width` columns, 0 for no limit; `color` marks what is
/// slower or faster. Rows by graph that are identical are counted, not listed.
std::string write_terminal(const RunComparison& comparison, bool color, std::size_t width = 0);

/// Returns the same as Markdown.
std::string write_markdown(const RunComparison& comparison);

/// Returns all of the comparison as one JSON object with schema_version.
std::string write_json(const RunComparison& comparison);

}  // namespace emplace::bench
