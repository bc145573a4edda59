#pragma once

// Summarizes a report by the families of its suite.

#include <emplace/bench/report.hpp>

#include <vector>

namespace emplace::bench {

/// Returns a table for each family and cluster of which there are results, in the suite's order.
std::vector<FamilyTable> summarize_families(const std::vector<ReportTable>& tables,
                                            const Suite& suite);

}  // namespace emplace::bench
