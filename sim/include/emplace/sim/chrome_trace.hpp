#pragma once

// A simulated step as a Chrome trace, for chrome://tracing and ui.perfetto.dev: a process for each
// device with its ops, its outgoing channel and its memory, arrows from producers through transfers
// to consumers, and a row for the critical path. Timestamps are microseconds.

#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <string>

namespace emplace {

/// Returns the trace of `record`, which is a run on `problem`, as JSON text.
std::string write_chrome_trace(const Problem& problem, const StepRecord& record);

}  // namespace emplace
