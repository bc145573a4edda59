#pragma once

// A simulated step as a trace in Perfetto's own format (track events in Protocol Buffers), for
// ui.perfetto.dev: the same processes, rows, arrows and counters as chrome_trace.hpp, in a third of
// the bytes or less, because names and categories are in the file once. Use it for large steps.
// Times are whole nanoseconds.

#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <string>
#include <string_view>

namespace emplace {

/// The suffix of such file names.
inline constexpr std::string_view kPerfettoSuffix = ".pftrace";

/// Returns the trace of `record`, which is a run on `problem`. Throws Error of kUnsupported if this
/// build has no Protocol Buffers. Complexity: O(ops + uses + transfers log transfers).
std::string write_perfetto_trace(const Problem& problem, const StepRecord& record);

/// Throws Error of kUnsupported if this build cannot write such traces.
void require_perfetto_traces();

}  // namespace emplace
