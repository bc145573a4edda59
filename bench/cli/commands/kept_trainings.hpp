#pragma once

// The courses of a run's trainings, for the page of its report.

#include <emplace/bench/report_page.hpp>
#include <emplace/bench/result_store.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Reads the learning curves of the policies that the run in `folder` trained, in its order; those
/// of trainings that are not finished are empty. Throws kIo or kFormat.
std::vector<bench::PageTraining> kept_trainings(const bench::StoredRun& run,
                                                const std::string& folder);

}  // namespace emplace::cli
