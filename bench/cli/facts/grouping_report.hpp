#pragma once

// The numbers of all groupings, as `show --compare-groupings` tells them.

#include <emplace/base/json.hpp>
#include <emplace/bench/grouping_comparison.hpp>

#include <string>

namespace emplace::cli {

/// Returns lines for people: how was searched, and a table.
std::string to_text(const bench::GroupingComparison& comparison);

/// Returns an object.
Json to_json(const bench::GroupingComparison& comparison);

}  // namespace emplace::cli
