#pragma once

// A report as a JSON value, for its JSON form and for its page.

#include <emplace/base/json.hpp>
#include <emplace/bench/report.hpp>

namespace emplace::bench {

/// Says whether rows have what is for the page only: wall times, which differ between equal runs,
/// and notes for people.
enum class Members { kOfFile, kOfPage };

/// Returns the report as JSON.
Json report_json(const Report& report, Members members);

}  // namespace emplace::bench
