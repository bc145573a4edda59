#include "training_step.hpp"

#include "gradient_scaling.hpp"

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/mixed_precision.hpp>
#include <emplace/graphs/optimizer.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace emplace {

std::vector<ParamSpec> precision_and_optimizer(std::string optimizer) {
  return {{.name = "dtype",
           .default_value = std::string("float32"),
           .choices = {"float32", "float16", "bfloat16"},
           .summary = "in which ops compute; float16 and bfloat16 are mixed precision, with "
                      "parameters and slots in float32"},
          loss_scaling_parameter(),
          {.name = "optimizer",
           .default_value = std::move(optimizer),
           .choices = optimizer_names(),
           .summary = "what updates the parameters"}};
}

std::vector<ParamSpec> training_parameters_of_file() {
  std::vector<ParamSpec> parameters = {
      {.name = "training",
       .default_value = false,
       .summary = "with a loss on the model's result, backward pass and optimizer"}};
  std::ranges::move(precision_and_optimizer("adam"), std::back_inserter(parameters));
  return parameters;
}

OpGraph training_step(const OpGraph& forward, const Params& params) {
  const auto& dtype = params.get<std::string>("dtype");
  const OpGraph graph = dtype == "float16"    ? mixed_precision(forward, DataType::kFloat16)
                        : dtype == "bfloat16" ? mixed_precision(forward, DataType::kBfloat16)
                                              : forward;
  if (!params.get<bool>("training")) {
    return graph;
  }
  return training_graph(graph, find_optimizer(params.get<std::string>("optimizer")));
}

}  // namespace emplace
