#pragma once

// Steps that follow one another and may overlap, as in training and serving without end: a pipeline
// works on the next batch while it ends the last one. PipeDream-2BW (Narayanan et al., ICML 2021)
// has two steps in flight, PipeDream (SOSP 2019) as many as it has stages, GPipe one.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>

namespace emplace {

/// Returns a graph of `count` steps; at most `in_flight` run at a time. Each is a copy of `step`
/// with its own names (`op~1` and so on), in the order of steps: op i of step s is op s *
/// num_ops(step) + i. Earlier steps have priority on devices.
///
/// A step begins when the step `in_flight` earlier has ended. A variable then has the value to
/// which that one updated it; with one step in flight that is the last one, with two it misses an
/// update. Memory for weights is that of `in_flight` versions. What no step updates is read from
/// the first. The edges between steps are control edges between micro-batches, whose numbers go on
/// from step to step: no groups depend on each other for them.
///
/// Copies share the colocation label of the op, or its name as label. Throws kUnsupported if
/// numbers of micro-batches, priorities, ops or such edges get too large. Requires: `count` and
/// `in_flight` are at least 1.
OpGraph repeated_steps(const OpGraph& step, std::int64_t count, std::int64_t in_flight);

/// Returns the number of micro-batches of each replica in a step; 1 without any.
std::int64_t num_micro_batches(const OpGraph& step);

}  // namespace emplace
