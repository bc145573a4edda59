#pragma once

// The steps that the page of a run's report shows.

#include <emplace/bench/report_page.hpp>
#include <emplace/bench/result_store.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Simulates placements of the run in `folder`: for each graph and cluster, the fastest of each
/// agent. The fastest of all come first, then the second fastest agents, and so on until
/// bench::kMostOtherStepBytes are full. Where there is no placement, or where graph or cluster are
/// no longer what they were, it says so.
std::vector<bench::PageStep> page_steps(const bench::StoredRun& run, const std::string& folder);

}  // namespace emplace::cli
