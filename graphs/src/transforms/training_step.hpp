#pragma once

// A forward graph becomes the step that users ask for: built-in networks and files of models share
// the parameters.

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <vector>

namespace emplace {

/// Returns `dtype`, `loss-scaling` and `optimizer`, by default this one.
std::vector<ParamSpec> precision_and_optimizer(std::string optimizer);

/// Returns `training`, false by default, and these, for a file of a model.
std::vector<ParamSpec> training_parameters_of_file();

/// Returns `forward` in the precision for which `params` ask, or its training graph if they ask for
/// that. Throws as mixed_precision() and training_graph() do.
OpGraph training_step(const OpGraph& forward, const Params& params);

}  // namespace emplace
