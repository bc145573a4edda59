// Shapes of what treats each number by itself, of reductions, and of what makes tensors.

#include "inference.hpp"
#include "library_attributes.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace emplace::onnx_model::shapes {
namespace {

DataType type_attribute(const Inference& node, std::string_view name, std::int64_t fallback) {
  const auto type = node.integer(name, fallback);
  const auto stored = data_type(type);
  if (!stored) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("tensors of element type {} are not supported", type));
  }
  return *stored;
}

const onnx::TensorProto* tensor_attribute(const Inference& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node.node(), name);
  return attribute != nullptr && attribute->has_t() ? &attribute->t() : nullptr;
}

DataType type_of(const onnx::TensorProto& tensor) {
  const auto type = data_type(tensor.data_type());
  if (!type) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("tensors of element type {} are not supported", tensor.data_type()));
  }
  return *type;
}

}  // namespace

void by_library(Inference& node, std::string_view name, const Attributes& attributes) {
  for (Output& result : operators::infer(name, attributes, node.inputs())) {
    node.give(std::move(result.shape), result.type);
  }
}

void same(Inference& node) { node.give(node.shape(0), node.type(0)); }

// The slope takes the shape of what it is applied to, never the other way round.
void prelu(Inference& node) {
  if (operators::broadcast(node.inputs()) != node.shape(0)) {
    fail_shape(fmt::format("a slope of [{}] does not fit [{}]", fmt::join(node.shape(1), ", "),
                           fmt::join(node.shape(0), ", ")));
  }
  same(node);
}

void cast(Inference& node) {
  node.give(node.shape(0), node.num_inputs() > 1 ? node.type(1) : type_attribute(node, "to", 0));
}

// Without axes, a reduction may be told to return its input.
void reduce(Inference& node) {
  const Attributes attributes = attributes::reduction(node);
  if (std::get<ReduceAttributes>(attributes).axes.empty() && node.flag("noop_with_empty_axes")) {
    return same(node);
  }
  by_library(node, "reduce_sum", attributes);
}

void constant(Inference& node) {
  if (const auto* tensor = tensor_attribute(node, "value")) {
    node.give({tensor->dims().begin(), tensor->dims().end()}, type_of(*tensor));
    return;
  }
  const auto find = [&](std::string_view name) { return find_attribute(node.node(), name); };
  if (find("value_float") != nullptr) {
    node.give({}, DataType::kFloat32);
  } else if (find("value_int") != nullptr) {
    node.give({}, DataType::kInt64);
  } else if (const auto* floats = find("value_floats")) {
    node.give({floats->floats_size()}, DataType::kFloat32);
  } else if (const auto* integers = find("value_ints")) {
    node.give({integers->ints_size()}, DataType::kInt64);
  } else {
    throw Error(ErrorCode::kUnsupported, "constants that are texts or sparse are not supported");
  }
}

void constant_of_shape(Inference& node) {
  const auto* value = tensor_attribute(node, "value");
  node.give(node.integers(0), value != nullptr ? type_of(*value) : DataType::kFloat32);
}

void random(Inference& node) {
  node.give(integers_attribute(node.node(), "shape"),
            type_attribute(node, "dtype", onnx::TensorProto::FLOAT));
}

void random_like(Inference& node) {
  const bool has_type = find_attribute(node.node(), "dtype") != nullptr;
  node.give(node.shape(0), has_type ? type_attribute(node, "dtype", 0) : node.type(0));
}

void multinomial(Inference& node) {
  const Shape& x = node.shape_of_rank(0, 2);
  node.give({x[0], node.integer("sample_size", 1)},
            type_attribute(node, "dtype", onnx::TensorProto::INT32));
}

void range(Inference& node) {
  double numbers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    node.shape(i);
    const Numbers* known = node.numbers(i);
    const auto number = known != nullptr ? single_of(*known) : std::nullopt;
    if (!number) {
      throw Error(ErrorCode::kUnsupported,
                  "its limits decide on the shape of the result, and they are not known before "
                  "the model runs");
    }
    numbers[i] = *number;
  }
  const double count = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (!std::isfinite(count) || count > static_cast<double>(kMaxExtent)) {
    fail_shape("its result would have no end");
  }
  node.give({count < 0 ? 0 : static_cast<std::int64_t>(count)}, node.type(0));
}

void shape(Inference& node) {
  const auto rank = std::ssize(node.shape(0));
  const auto place = [&](std::string_view name, std::int64_t fallback) {
    const auto index = node.integer(name, fallback);
    return std::clamp<std::int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const auto begin = place("start", 0);
  node.give({std::max<std::int64_t>(place("end", rank) - begin, 0)}, DataType::kInt64);
}

void size(Inference& node) {
  node.shape(0);
  node.give({}, DataType::kInt64);
}

void quantize(Inference& node) {
  node.give(node.shape(0), node.has_input(2)
                               ? node.type(2)
                               : type_attribute(node, "output_dtype", onnx::TensorProto::UINT8));
}

void dequantize(Inference& node) { node.give(node.shape(0), node.type(1)); }

void dynamic_quantize(Inference& node) {
  node.give(node.shape(0), DataType::kInt8);
  node.give({}, DataType::kFloat32);
  node.give({}, DataType::kInt8);
}

// The inputs are left side, its scale and zero, and the same of the right side.
void quantized_binary(Inference& node) {
  node.give(broadcast_shape(node.shape(0), node.shape(3)), node.type(0));
}

void data_dependent(Inference&) {
  throw Error(ErrorCode::kUnsupported,
              "the shape of its result depends on the data, so it is not known before the model "
              "runs");
}

void non_zero(Inference& node) {
  const Shape& shape = node.shape(0);
  const Numbers* numbers = node.numbers(0);
  if (numbers == nullptr) {
    data_dependent(node);
    return;
  }
  const auto is_set = [](Number number) {
    return std::visit([](auto value) { return value != 0; }, number);
  };
  node.give({std::ssize(shape), std::ranges::count_if(numbers->values, is_set)}, DataType::kInt64);
}

}  // namespace emplace::onnx_model::shapes
