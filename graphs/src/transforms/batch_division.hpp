#pragma once

// The batch of a step in parts, as users ask for it by parameters of a graph: each replica has its
// part of the batch (replicas.hpp), and passes it in micro-batches (micro_batches.hpp).

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emplace {

/// Returns the parameters: `replicas`, `micro-batches`, `schedule` and `in-flight`.
std::vector<ParamSpec> batch_division_parameters();

/// Says whether `params` ask for more parts than one.
bool divides_batch(const Params& params);

/// Returns the step of a batch in the parts that `params` ask for; `step(examples)` makes the step
/// of a part. Sizes of parts differ by at most one, the larger ones first, as torch.tensor_split
/// has them; a graph whose parts differ warns of it. Throws kUsage for more parts than examples and
/// for a limit of those in flight with GPipe's schedule, and as micro_batches() and replicas() do.
OpGraph divide_batch(const Params& params, std::int64_t batch,
                     const std::function<OpGraph(std::int64_t)>& step);

/// Does the same for a network whose batch is the parameter `batch`.
OpGraph divide_batch(const Params& params, const std::function<OpGraph(const Params&)>& step);

/// Returns the same parameters for a file whose batch has one size, and `recompute`.
std::vector<ParamSpec> batch_repetition_parameters();

/// Returns the training step `step` with these: each part has a batch of `step`, so R replicas with
/// K micro-batches train on R K of them. Throws kUsage as the transforms do, and for parts of a
/// step that has parts already; `source` names it in errors.
OpGraph repeat_batch(const Params& params, OpGraph step, const std::string& source);

}  // namespace emplace
