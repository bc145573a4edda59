#pragma once

// What the models of this folder share that are used for inference, too: without `training` they
// have no loss and no dropout, and with `type` their variables may be of a shorter type.

#include "training_model.hpp"

#include <emplace/base/params.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string_view>

namespace emplace {

/// Returns training_model() of a model whose forward graph is inference unless `training`.
GraphModel inference_model(TrainingModel model);

/// Returns the parameter `type`: the type of variables and of what is made from them.
ParamSpec type_parameter();

/// Returns the data type that `params` choose by `type`.
DataType type_of(const Params& params);

/// Throws kUsage, naming the graph: these parameters do not go together.
[[noreturn]] void fail_parameters(std::string_view graph, std::string_view message);

}  // namespace emplace
