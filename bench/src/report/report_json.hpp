#pragma once

// A report as a JSON value, for its JSON form and for its page.

#include <emplace/bench/report.hpp>
#include <emplace/graphs/json.hpp>

namespace emplace::bench {

/// Says whether rows have what only this machine's clock knows.
enum class WallTimes { kLeftOut, kShown };

/// Returns the report as JSON.
Json report_json(const Report& report, WallTimes wall_times);

}  // namespace emplace::bench
