#pragma once

// A training step whose batch is cut into micro-batches (GPipe: Huang et al. 2019, arXiv
// 1811.06965; gradient accumulation in frameworks). Forward and backward pass run once for each
// micro-batch, each variable and its update is there once, and gradients are added up in place. The
// copies of an op share its device, so a placement of the step is a pipeline: while one device
// works on a micro-batch, the device before it works on the next.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace emplace {

/// Says when micro-batches run. Of what is ready, a device takes the earliest micro-batch, unless
/// the order is kAsReady.
struct MicroBatchSchedule {
  enum class Order : std::uint8_t {
    kOneForwardOneBackward,  ///< backward passes come before forward passes
    /// So they do, but gradients of weights come last, since no other device waits for them (Qi et
    /// al., ICLR 2024).
    kZeroBubble,
    kGPipe,    ///< backward passes begin when all forward passes have ended
    kAsReady,  ///< what is ready first comes first
  };
  Order order = Order::kOneForwardOneBackward;
  /// At most so many are between the start of their forward and the end of their backward pass; 0
  /// for all. Requires: 0 for kGPipe.
  std::int64_t in_flight = 0;
};

/// Returns the step `whole` in micro-batches: `parts` are the same network for each of them, with
/// costs and shapes of its part of the batch. The copies of an op are called `op`, `op#1`, `op#2`
/// and so on, are numbered by `Op::micro_batch`, and have its colocation label, or its name as
/// label. What updates read from each copy is added up; where shapes differ from that of the whole
/// batch (rows of an embedding), it is concatenated. A schedule is control edges between
/// micro-batches, which groups ignore (orders_micro_batches() in op_graph.hpp), and priorities of
/// ops; inference has no such edges.
/// Throws kUnsupported, naming an op, if the graphs differ in ops or edges, or parts do not make
/// the whole. Requires: at least one part. O(parts (ops + edges)), and for a schedule O(parts ends
/// starts) of the ops at the ends and starts of passes.
OpGraph micro_batches(const OpGraph& whole,
                      std::span<const std::reference_wrapper<const OpGraph>> parts,
                      const MicroBatchSchedule& schedule = {});

}  // namespace emplace
