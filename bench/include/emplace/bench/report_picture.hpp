#pragma once

// Pictures of a run. Each agent has the same colour in all of them (agent_colors.hpp).
//
// A performance profile (Dolan and Moré 2002) shows, for each family and cluster, and over all
// graphs without a family, the share of graphs on which an agent's step time is at most a given
// multiple of that of the fastest agent.
//
// Convergence shows, for each graph and cluster, the median over repetitions of the best step time
// so far (convergence.hpp), over evaluations or over seconds. Agents that do not search, such as
// heuristics, are level lines. Published figures with a number of evaluations are rings.

#include <emplace/bench/log_plot.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/result_store.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The contents of a picture.
enum class ReportPlots : std::uint8_t {
  kAll,          ///< profiles, and convergence over evaluations for graphs without a family
  kProfiles,     ///< performance profiles
  kEvaluations,  ///< convergence over evaluations, of all graphs
  kSeconds,      ///< convergence over seconds, of all graphs
};

/// Returns "all", "profiles", "evaluations" or "seconds".
std::string_view to_string(ReportPlots plots);

/// Returns the names of all, in their order.
std::vector<std::string> report_plots_names();

/// Returns the value with this name; throws kUnknownName.
ReportPlots report_plots_of(std::string_view name);

/// Returns the picture of a run and its report as SVG, plots one below the other. Throws kUsage if
/// there is nothing to draw: no graphs to compare over, no history of any search.
std::string draw_report(const StoredRun& run, const Report& report, ReportPlots plots);

}  // namespace emplace::bench
