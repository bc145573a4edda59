#pragma once

// A simulated step as a trace of Perfetto's own format (track events in Protocol Buffers), for
// ui.perfetto.dev: the same processes, rows, arrows and counters as chrome_trace.hpp, in a third of
// the bytes or less, since names and categories stand in the file once. Use it for large steps.
// Times are whole nanoseconds.

#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <string>
#include <string_view>

namespace emplace {

/// How names of such files end.
inline constexpr std::string_view kPerfettoSuffix = ".pftrace";

/// Returns the trace of `record`, which is a run on `problem`. Throws Error of kUnsupported if this
/// build has no Protocol Buffers. Complexity: O(ops + uses + transfers log transfers).
std::string write_perfetto_trace(const Problem& problem, const StepRecord& record);

/// Throws Error of kUnsupported if this build cannot write such traces.
void require_perfetto_traces();

}  // namespace emplace
