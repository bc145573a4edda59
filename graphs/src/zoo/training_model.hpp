#pragma once

// What the models of this folder share: a step over a batch, with or without backward pass and
// optimizer, in float32 or in mixed precision. A model says how its forward graph is built, in
// float32; `batch`, `training`, those of training_step.hpp, `clip` and those of micro-batches are
// parameters of each.

#include <emplace/base/params.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes a model that is trained batch by batch.
struct TrainingModel {
  std::string name{};                   ///< as in GraphModel
  std::string summary{};                ///< as in GraphModel
  std::string reference{};              ///< as in GraphModel
  std::int64_t batch = 64;              ///< examples in one step, unless the user says otherwise
  std::string examples = "images";      ///< what a batch consists of
  std::string optimizer = "adam";       ///< unless the user says otherwise
  std::vector<ParamSpec> parameters{};  ///< besides the ones that all models have
  std::function<OpGraph(const Params&)> forward{};  ///< makes the forward graph, loss included
};

/// Returns the catalog's model, with training_parameters() and model_step().
GraphModel training_model(TrainingModel model);

/// Returns `batch` and `training`, then `own`, then those of training_step.hpp, `clip` and those of
/// micro-batches. `examples` is what a batch consists of; `batch` and `optimizer` are defaults.
std::vector<ParamSpec> training_parameters(std::vector<ParamSpec> own, std::int64_t batch,
                                           std::string_view examples, std::string optimizer);

/// Returns `forward` in the precision for which `params` ask, or its training graph if they ask for
/// that.
OpGraph model_step(OpGraph forward, const Params& params);

}  // namespace emplace
