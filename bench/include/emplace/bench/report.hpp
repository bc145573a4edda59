#pragma once

// The model of a finished run from which every format is written, so that numbers cannot differ
// between formats; report_columns.cpp says what each figure means. The repetitions of a cell are
// summarized by their median (of an even count, the mean of the two in the middle), its interval
// (median_interval.hpp), least and largest step time. Those that ran out of memory or failed are
// counted, but not included in these.
//
// If a suite has baselines, every agent is compared with the fastest of them, as in Table 1 of
// Addanki et al. 2019 with the RNN-based agent, both for our figures and for published ones.
// "Near the best" refers to an agent's own best, however slow. So agents are also compared by how
// soon they are as fast as the baseline's final median step time.
//
// If costs have relative deviations, each agent but the fastest has the share of draws of the costs
// (draws.hpp) in which its step is longer than that of the fastest. Below kSurelySlower, the
// difference is within the uncertainty of costs. Of several repetitions, the one with the upper
// median step time counts.
//
// On each cluster, agents are also compared over graphs: over the test graphs of each family, and
// over all graphs without a family, if there are several. They are compared in pairs with a
// reference on the same graph (paired_comparison.hpp), and with the fastest of all agents, by the
// geometric mean over graphs of median / least median of any agent (`over_best`).
//
// The reference is the fastest of the suite's baselines on that graph. Without baselines it is the
// first agent that has a step time on all graphs, in the order of `over_best`. The p of these tests
// are also corrected (holm.hpp) over all agents of the table.
//
// Means are never taken over different graphs. An agent that ran out of memory or failed on some
// graphs has no mean. Such agents are compared on the common graphs: those on which every agent
// with any step time has one.

#include <emplace/bench/best_known.hpp>
#include <emplace/bench/paired_comparison.hpp>
#include <emplace/bench/result_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Compares an agent with the fastest of the baselines.
struct BaselineComparison {
  std::optional<double> gain{};              ///< (baseline's step - step) / baseline's step
  std::optional<double> sampling_speedup{};  ///< baseline's evaluations to near its best / agent's
  std::optional<double> evaluations_to_baseline{};  ///< until it is as fast; median
  std::optional<double> speedup_to_baseline{};      ///< baseline's of these / agent's
};

/// The share of draws from which an agent counts as slower than another one.
inline constexpr double kSurelySlower = 0.95;

/// Compares step times with those of a reference, ours with ours and published with published.
struct PublishedRatio {
  std::string reference{};            ///< an agent; empty if it is the fastest baseline
  std::optional<double> ours{};       ///< step time / that of the reference
  std::optional<double> published{};  ///< the same of published figures alone
};

/// One agent's result on one graph and cluster.
struct ReportRow {
  std::string agent{};             ///< label
  std::int64_t repetitions = 0;    ///< finished ones, failed ones included
  std::int64_t out_of_memory = 0;  ///< of these
  std::int64_t failed = 0;         ///< of these
  /// Of these, how often an agent that learns put all groups on one device, as single-gpu does.
  std::int64_t on_one_device = 0;
  std::string message{};    ///< why the first of those failed
  double step_time_us = 0;  ///< median over the repetitions that are ok; 0 if none is
  std::optional<std::pair<double, double>> interval_us{};  ///< of that median
  double least_us = 0;
  double largest_us = 0;
  double gap = 0;                            ///< (step - bound) / bound; 0 if no repetition is ok
  std::optional<double> above_best_known{};  ///< (step - best known) / best known
  bool new_best = false;                     ///< a repetition is faster than the best known
  double speedup = 0;                        ///< 0 if this agent or single-gpu has no step time
  double evaluations = 0;                    ///< median
  double evaluations_to_best = 0;            ///< median
  std::optional<double> evaluations_to_near_best{};  ///< median; nothing if it evaluated nothing
  std::optional<double> episodes_to_near_best{};     ///< the same in episodes of a learning agent
  BaselineComparison against_baseline{};
  std::optional<PublishedFigure> published{};
  BaselineComparison published_against_baseline{};  ///< of published figures alone
  std::vector<PublishedRatio> published_ratios{};   ///< the same references in all rows
  std::int64_t decision_groups = 0;                 ///< on which it decided; 0 if all failed
  double wall_s = 0;                                ///< median
  std::int64_t peak_bytes = 0;                      ///< largest of any device and repetition
  /// The share of draws in which the fastest agent is faster, ties counting half; nothing for that
  /// agent, if costs are exact, or if no repetition is ok.
  std::optional<double> slower_share{};

  /// Returns whether the agent is as fast as the fastest within the uncertainty of costs.
  bool within_uncertainty() const { return slower_share && *slower_share < kSurelySlower; }

  /// Returns whether any repetition gave a placement that fits.
  bool ok() const { return repetitions > out_of_memory + failed; }
};

/// The comparison on one graph and cluster: rows from fastest to slowest, then those out of memory,
/// then those that failed.
struct ReportTable {
  std::string graph{};
  std::string cluster{};
  std::string family{};                   ///< of the graph; may be empty
  std::optional<double> best_known_us{};  ///< of the same problem; nothing if none is known
  double bound_us = 0;
  std::int64_t groups = 0;  ///< of the problem; 0 if all cells failed
  std::string baseline{};   ///< label of the fastest of the suite's baselines; empty if none
  std::vector<ReportRow> rows{};
};

/// Means over graphs; see the head of this file.
struct FamilyMeans {
  double mean_us = 0;    ///< of step times
  double over_best = 0;  ///< 1 is the best
};

/// One agent's results on several graphs.
struct FamilyRow {
  std::string agent{};               ///< label
  std::int64_t graphs = 0;           ///< those with a step time
  std::int64_t on_one_device = 0;    ///< graphs that it put on one device at least once; see rows
  std::optional<FamilyMeans> all{};  ///< nothing unless every graph has a step time
  std::optional<FamilyMeans> common{};  ///< over the common graphs; nothing if there is none
  std::vector<double> times_best{};     ///< step time over the least of any agent, sorted
  /// Comparison with the reference, where both have a step time; nothing for the reference itself.
  std::optional<PairedComparison> against_reference{};
  double corrected_p = 1;  ///< of that comparison
};

/// Compares agents over graphs on one cluster: the rows nearest to the best come first, those with
/// fewer graphs last.
struct FamilyTable {
  std::string family{};  ///< empty for the graphs without a family
  std::string cluster{};
  std::int64_t graphs = 0;
  std::int64_t common_graphs = 0;  ///< fewer if an agent has no step time on some
  std::string reference{};  ///< an agent; empty if it is the fastest baseline, or if there is none
  std::vector<FamilyRow> rows{};
};

/// A whole run.
struct Report {
  std::string suite{};
  std::uint64_t root_seed = 0;
  std::int64_t cells_finished = 0;
  std::int64_t cells_total = 0;  ///< of the suite, or of the part of it that was to run
  std::int64_t cells_failed = 0;
  Shard shard{};                         ///< the part of the suite that was run
  std::int64_t cells_suite = 0;          ///< of the whole suite
  std::vector<std::string> agents{};     ///< labels, in the suite's order
  std::vector<std::string> baselines{};  ///< labels
  std::optional<Published> published{};
  std::vector<ReportTable> tables{};
  std::vector<FamilyTable> families{};
};

/// Summarizes a run. Entries of `best_known` are used if they are for its problems.
Report make_report(const StoredRun& run, std::span<const BestKnownStep> best_known = {});

/// Returns the report for a terminal of `width` columns, 0 for no limit; `color` marks the best
/// with escape codes. Graphs of families get no separate tables.
std::string write_terminal(const Report& report, bool color, std::size_t width = 0);

/// Returns the report as Markdown.
std::string write_markdown(const Report& report);

/// Returns the report as one JSON object with schema_version; wall times are left out, so that
/// equal runs give equal text.
std::string write_json(const Report& report);

/// Returns the report as LaTeX, for \input: tables that need the packages booktabs and graphicx.
/// Names with letters that are not Latin need LuaLaTeX or XeLaTeX.
std::string write_latex(const Report& report);

/// Returns a line of CSV for each agent, graph and cluster.
std::string write_csv(const Report& report);

}  // namespace emplace::bench
