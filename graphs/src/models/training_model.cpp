#include "training_model.hpp"

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/optimizer.hpp>

#include <fmt/format.h>

#include <utility>

namespace emplace {
namespace {

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : optimizers()) {
    names.emplace_back(optimizer.name);
  }
  return names;
}

}  // namespace

GraphModel training_model(TrainingModel model) {
  std::vector<ParamSpec> parameters = {
      {.name = "batch",
       .default_value = model.batch,
       .min = 1,
       .max = 65536,
       .summary = fmt::format("{} in one step", model.examples)},
      {.name = "training",
       .default_value = true,
       .summary = "with backward pass and optimizer; otherwise the forward pass of a training "
                  "step alone"}};
  for (ParamSpec& parameter : model.parameters) {
    parameters.push_back(std::move(parameter));
  }
  parameters.push_back({.name = "optimizer",
                        .default_value = model.optimizer,
                        .choices = optimizer_names(),
                        .summary = "what updates the parameters"});
  return {.name = std::move(model.name),
          .summary = std::move(model.summary),
          .reference = std::move(model.reference),
          .parameters = std::move(parameters),
          .build = [forward = std::move(model.forward)](const Params& params) {
            OpGraph graph = forward(params);
            return params.get<bool>("training")
                       ? training_graph(graph, find_optimizer(params.get<std::string>("optimizer")))
                       : graph;
          }};
}

}  // namespace emplace
