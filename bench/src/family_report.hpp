#pragma once

// Sums up a report by the families of its suite.

#include <emplace/bench/report.hpp>
#include <emplace/bench/text_table.hpp>

#include <string>
#include <vector>

namespace emplace::bench {

/// Returns a table for each family and cluster of which there are results, in the suite's order.
std::vector<FamilyTable> sum_up_families(const std::vector<ReportTable>& tables,
                                         const Suite& suite);

/// Lays a family's table out.
TextTable layout(const FamilyTable& table);

/// Returns the title of a family's table.
std::string title_of(const FamilyTable& table);

/// Says what the columns of families' tables mean.
std::string legend_of_families(const Report& report);

}  // namespace emplace::bench
