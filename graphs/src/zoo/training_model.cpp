#include "training_model.hpp"

#include "transforms/batch_division.hpp"
#include "transforms/gradient_scaling.hpp"
#include "transforms/training_step.hpp"

#include <emplace/graphs/image_layout.hpp>
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
  std::ranges::move(precision_and_optimizer(std::move(optimizer)), std::back_inserter(parameters));
  parameters.push_back(clip_parameter());
  parameters.push_back(recompute_parameter());
  if (examples == "images") {
    parameters.push_back(layout_parameter());
  }
  std::ranges::move(batch_division_parameters(), std::back_inserter(parameters));
  return parameters;
}

OpGraph model_step(OpGraph forward, const Params& params) {
  if (params.values().contains("layout")) {
    forward = with_layout(std::move(forward), params.get<std::string>("layout"));
  }
  const std::string scopes =
      params.get<bool>("training") ? params.get<std::string>("recompute") : "none";
  return recompute(training_step(forward, params), scopes);
}

GraphModel training_model(TrainingModel model) {
  return {.name = std::move(model.name),
          .summary = std::move(model.summary),
          .reference = std::move(model.reference),
          .parameters = training_parameters(std::move(model.parameters), model.batch,
                                            model.examples, std::move(model.optimizer)),
          .build = [forward = std::move(model.forward)](const Params& params) {
            return divide_batch(
                params, [&](const Params& part) { return model_step(forward(part), part); });
          }};
}

}  // namespace emplace
