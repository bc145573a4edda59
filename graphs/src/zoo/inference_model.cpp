#include "inference_model.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace emplace {

GraphModel inference_model(TrainingModel model) {
  GraphModel result = training_model(std::move(model));
  std::ranges::find(result.parameters, "training", &ParamSpec::name)->summary =
      "with loss, dropout, backward pass and optimizer; otherwise inference";
  return result;
}

ParamSpec type_parameter() {
  return {.name = "type",
          .default_value = std::string("float32"),
          .choices = {"float32", "float16", "bfloat16"},
          .summary = "of parameters, activations and gradients"};
}

DataType type_of(const Params& params) {
  const auto& name = params.get<std::string>("type");
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    if (to_string(type) == name) {
      return type;
    }
  }
  return DataType::kFloat32;
}

void fail_parameters(std::string_view graph, std::string_view message) {
  throw Error(ErrorCode::kUsage, fmt::format("graph '{}': {}", graph, message));
}

}  // namespace emplace
