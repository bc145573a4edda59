#pragma once

// The steps of a run's fastest placements, for the page of its report.

#include <emplace/bench/report_page.hpp>
#include <emplace/bench/result_store.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Simulates the fastest placement of each graph and cluster of the run in `folder`, in its order.
/// Where there is none, or where graph or cluster are no longer what they were, it says so.
std::vector<bench::PageStep> fastest_steps(const bench::StoredRun& run, const std::string& folder);

}  // namespace emplace::cli
