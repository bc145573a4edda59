#include "training_model.hpp"

#include "transforms/batch_division.hpp"

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/image_layout.hpp>
#include <emplace/graphs/mixed_precision.hpp>
#include <emplace/graphs/optimizer.hpp>
#include <emplace/graphs/recomputation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace emplace {

std::vector<ParamSpec> training_parameters(std::vector<ParamSpec> own, std::int64_t batch,
                                           std::string_view examples, std::string optimizer) {
  std::vector<ParamSpec> parameters = {
      whole_number("batch", batch, 1, 65536, fmt::format("{} in one step", examples)),
      {.name = "training",
       .default_value = true,
       .summary =
           "with backward pass and optimizer; otherwise only the forward pass of a training step"}};
  std::ranges::move(own, std::back_inserter(parameters));
  parameters.push_back({.name = "dtype",
                        .default_value = std::string("float32"),
                        .choices = {"float32", "float16", "bfloat16"},
                        .summary = "in which ops compute; float16 and bfloat16 are mixed "
                                   "precision, with parameters and slots in float32"});
  parameters.push_back({.name = "optimizer",
                        .default_value = std::move(optimizer),
                        .choices = optimizer_names(),
                        .summary = "what updates the parameters"});
  parameters.push_back(recompute_parameter());
  if (examples == "images") {
    parameters.push_back(layout_parameter());
  }
  std::ranges::move(batch_division_parameters(), std::back_inserter(parameters));
  return parameters;
}

OpGraph training_step(OpGraph forward, const Params& params) {
  if (params.values().contains("layout")) {
    forward = with_layout(std::move(forward), params.get<std::string>("layout"));
  }
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    if (params.get<std::string>("dtype") == to_string(type)) {
      forward = mixed_precision(forward, type);
    }
  }
  if (!params.get<bool>("training")) {
    return forward;
  }
  return recompute(training_graph(forward, find_optimizer(params.get<std::string>("optimizer"))),
                   params.get<std::string>("recompute"));
}

GraphModel training_model(TrainingModel model) {
  return {.name = std::move(model.name),
          .summary = std::move(model.summary),
          .reference = std::move(model.reference),
          .parameters = training_parameters(std::move(model.parameters), model.batch,
                                            model.examples, std::move(model.optimizer)),
          .build = [forward = std::move(model.forward)](const Params& params) {
            return divide_batch(
                params, [&](const Params& part) { return training_step(forward(part), part); });
          }};
}

}  // namespace emplace
