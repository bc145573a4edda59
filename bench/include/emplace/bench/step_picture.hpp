#pragma once

// A placed step as a timeline in SVG: for each device that did something a row of ops and a row of
// what it sends, the critical path as a line along both, and a time axis.
//
// A picture is some 900 pixels wide and a step has thousands of ops, so neighbouring ops of one
// phase and one layer are one box, and a box thinner than kLeastBox pixels is joined with its
// neighbour. A layer is given by as many elements of a scope as leave names that can be read for
// most of the time. So a picture stays small, whatever the graph.

#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <string>

namespace emplace::bench {

/// Ops that are drawn thinner than this many pixels join their neighbours.
inline constexpr double kLeastBox = 3;

/// Returns the timeline of `record`, which is a run on `problem`. `caption` is written below the
/// title, which has graph, cluster and step time. However many ops and devices there are, the
/// picture has at most about 100,000 marks: boxes get longer.
std::string draw_step(const Problem& problem, const StepRecord& record, const std::string& caption);

}  // namespace emplace::bench
