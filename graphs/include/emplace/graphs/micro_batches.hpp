#pragma once

// A training step whose batch is cut into micro-batches (GPipe: Huang et al. 2019, arXiv
// 1811.06965; gradient accumulation in frameworks). Forward and backward pass run once for each
// micro-batch, each variable and its update is there once, and gradients are added up in place. The
// copies of an op share its device, so a placement of the step is a pipeline: while one device
// works on a micro-batch, the device before it works on the next.

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace emplace {

/// Says when micro-batches run. By default an op runs once its inputs are there.
struct MicroBatchSchedule {
  bool is_gpipe = false;  ///< backward passes begin when all forward passes have ended
  /// At most so many are between the start of their forward and the end of their backward pass; 0
  /// for all. Requires: 0 if is_gpipe.
  std::int64_t in_flight = 0;
};

/// Returns the step `whole` in micro-batches: `parts` are the same network for each of them, with
/// costs and shapes of its part of the batch. The copies of an op are called `op`, `op#1`, `op#2`
/// and so on, are numbered by `Op::micro_batch`, and have its colocation label, or its name as
/// label. What updates read from each copy is added up; where shapes differ from that of the whole
/// batch (rows of an embedding), it is concatenated. A schedule is control edges between
/// micro-batches, which groups ignore (orders_micro_batches() in op_graph.hpp); inference has none.
/// Throws kUnsupported, naming an op, if the graphs differ in ops or edges, or parts do not make
/// the whole. Requires: at least one part. O(parts (ops + edges)), and for a schedule O(parts ends
/// starts) of the ops at the ends and starts of passes.
OpGraph micro_batches(const OpGraph& whole,
                      std::span<const std::reference_wrapper<const OpGraph>> parts,
                      const MicroBatchSchedule& schedule = {});

/// Returns the parameters by which users ask for them: `micro-batches`, `schedule` and `in-flight`.
std::vector<ParamSpec> micro_batch_parameters();

/// Returns the step of a batch, as `step(examples)` makes it, in as many micro-batches as `params`
/// ask for. Their sizes differ by at most one, the larger ones first, as torch.tensor_split has
/// them; a graph whose micro-batches differ warns of it. Throws kUsage for more than the batch has
/// examples and for a limit of those in flight with GPipe's schedule, and as micro_batches() does.
OpGraph in_micro_batches(const Params& params, std::int64_t batch,
                         const std::function<OpGraph(std::int64_t)>& step);

/// Does the same for a network whose batch is the parameter `batch`.
OpGraph in_micro_batches(const Params& params, const std::function<OpGraph(const Params&)>& step);

}  // namespace emplace
