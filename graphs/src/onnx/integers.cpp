#include "integers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>

namespace emplace::onnx_model {
namespace {

// A shape has few dimensions; what is longer is data.
constexpr std::size_t kMaxElements = 1024;

using Inputs = std::span<const Integers* const>;
using Result = std::optional<Integers>;

template <class Stored>
std::vector<std::int64_t> read_raw(const std::string& raw) {
  std::vector<std::int64_t> values(raw.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored value;
    std::memcpy(&value, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<std::int64_t>(value);
  }
  return values;
}

std::optional<std::vector<std::int64_t>> read_elements(const onnx::TensorProto& tensor) {
  const bool is_raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64:
      return is_raw ? read_raw<std::int64_t>(tensor.raw_data())
                    : std::vector<std::int64_t>(tensor.int64_data().begin(),
                                                tensor.int64_data().end());
    case onnx::TensorProto::INT32:
      return is_raw ? read_raw<std::int32_t>(tensor.raw_data())
                    : std::vector<std::int64_t>(tensor.int32_data().begin(),
                                                tensor.int32_data().end());
    case onnx::TensorProto::BOOL:
      return is_raw ? read_raw<std::uint8_t>(tensor.raw_data())
                    : std::vector<std::int64_t>(tensor.int32_data().begin(),
                                                tensor.int32_data().end());
    default:
      return std::nullopt;
  }
}

// The element of a vector at `i`; a single element stands for all.
std::int64_t at(const Integers& input, std::size_t i) {
  return input.values.size() == 1 ? input.values[0] : input.values[i];
}

// The number of elements that vectors of these sizes are broadcast to, or nothing if they do not
// fit.
std::optional<std::size_t> broadcast_size(Inputs inputs) {
  std::size_t size = 1;
  for (const Integers* input : inputs) {
    if (input->values.size() != 1) {
      if (size != 1 && size != input->values.size()) {
        return std::nullopt;
      }
      size = input->values.size();
    }
  }
  return size;
}

template <class Function>
Result elementwise(Inputs inputs, Function function) {
  const auto size = broadcast_size(inputs);
  if (!size) {
    return std::nullopt;
  }
  Integers result{.is_scalar = std::ranges::all_of(inputs, &Integers::is_scalar)};
  for (std::size_t i = 0; i < *size; ++i) {
    const std::optional<std::int64_t> value = function(i);
    if (!value) {
      return std::nullopt;
    }
    result.values.push_back(*value);
  }
  return result;
}

std::optional<std::int64_t> apply(std::string_view kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (kind == "Add") {
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (kind == "Sub") {
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (kind == "Mul") {
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (kind == "Div" || kind == "Mod") {
    if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) {
      return std::nullopt;
    }
    if (kind == "Div") {
      return a / b;
    }
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;  // the sign of the divisor
  }
  if (kind == "Max") {
    return std::max(a, b);
  }
  if (kind == "Min") {
    return std::min(a, b);
  }
  if (kind == "Equal") {
    return a == b;
  }
  if (kind == "Greater") {
    return a > b;
  }
  if (kind == "Less") {
    return a < b;
  }
  if (kind == "And") {
    return a != 0 && b != 0;
  }
  if (kind == "Or") {
    return a != 0 || b != 0;
  }
  return std::nullopt;
}

Result concat(Inputs inputs) {
  Integers result;
  for (const Integers* input : inputs) {
    result.values.insert(result.values.end(), input->values.begin(), input->values.end());
  }
  return result;
}

Result gather(Inputs inputs) {
  const auto size = static_cast<std::int64_t>(inputs[0]->values.size());
  Integers result{.is_scalar = inputs[1]->is_scalar};
  for (const std::int64_t index : inputs[1]->values) {
    if (index < -size || index >= size) {
      return std::nullopt;
    }
    const std::int64_t position = index < 0 ? index + size : index;
    result.values.push_back(inputs[0]->values[static_cast<std::size_t>(position)]);
  }
  return result;
}

// The inputs are data, starts, ends, axes, steps; steps other than 1 do not occur in shapes.
Result slice(Inputs inputs) {
  const auto single = [&](std::size_t i, std::int64_t fallback) {
    return i < inputs.size() && inputs[i] != nullptr && inputs[i]->values.size() == 1
               ? inputs[i]->values[0]
               : fallback;
  };
  if (inputs.size() < 3 || single(4, 1) != 1) {
    return std::nullopt;
  }
  const auto& values = inputs[0]->values;
  const auto size = static_cast<std::int64_t>(values.size());
  const auto clamp = [&](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? std::max(index, -size) + size : index, 0, size);
  };
  const std::int64_t begin = clamp(single(1, 0));
  const std::int64_t end = std::max(begin, clamp(single(2, size)));
  return Integers{.values = {values.begin() + begin, values.begin() + end}};
}

Result fill(const Integers& shape, std::int64_t value) {
  const auto size = shape.values.empty() ? 1 : shape.values[0];
  if (shape.values.size() > 1 || size < 0 || size > static_cast<std::int64_t>(kMaxElements)) {
    return std::nullopt;
  }
  return Integers{.is_scalar = shape.values.empty(),
                  .values = std::vector(static_cast<std::size_t>(size), value)};
}

Result constant_of_shape(const onnx::NodeProto& node, const Integers& shape) {
  const onnx::AttributeProto* value = find_attribute(node, "value");
  const auto integers = value != nullptr ? read_integers(value->t()) : std::nullopt;
  return integers && integers->values.size() == 1 ? fill(shape, integers->values[0]) : std::nullopt;
}

Result expand(const Integers& data, const Integers& shape) {
  if (data.values.size() == 1) {
    return fill(shape, data.values[0]);
  }
  return shape.values.size() == 1 && shape.values[0] == 1 ? Result(data) : std::nullopt;
}

Result range(Inputs inputs) {
  const auto is_single = [](const Integers* input) { return input->values.size() == 1; };
  if (inputs.size() != 3 || !std::ranges::all_of(inputs, is_single)) {
    return std::nullopt;
  }
  const std::int64_t begin = inputs[0]->values[0];
  const std::int64_t end = inputs[1]->values[0];
  const std::int64_t step = inputs[2]->values[0];
  Integers result;
  for (std::int64_t value = begin; step > 0 ? value < end : value > end;) {
    result.values.push_back(value);
    if (step == 0 || result.values.size() > kMaxElements ||
        __builtin_add_overflow(value, step, &value)) {
      return std::nullopt;
    }
  }
  return result;
}

Result reduce(const onnx::NodeProto& node, const Integers& input) {
  Integers result{.is_scalar = integer_attribute(node, "keepdims", 1) == 0 || input.is_scalar};
  std::int64_t product = 1;
  for (const std::int64_t value : input.values) {
    if (__builtin_mul_overflow(product, value, &product)) {
      return std::nullopt;
    }
  }
  result.values = {product};
  return result;
}

bool is_integer_type(std::int64_t type) {
  return type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 ||
         type == onnx::TensorProto::BOOL;
}

Result evaluate_known(const onnx::NodeProto& node, Inputs inputs) {
  const std::string& kind = node.op_type();
  const Integers& first = *inputs[0];
  if (kind == "Identity") {
    return first;
  }
  if (kind == "Cast") {
    return is_integer_type(integer_attribute(node, "to", 0)) ? Result(first) : std::nullopt;
  }
  if (kind == "Concat") {
    return concat(inputs);
  }
  if (kind == "Gather" && inputs.size() == 2) {
    return gather(inputs);
  }
  if (kind == "Slice") {
    return slice(inputs);
  }
  if (kind == "Unsqueeze" && first.is_scalar) {
    return Integers{.values = first.values};
  }
  if (kind == "Squeeze" && first.values.size() == 1) {
    return Integers{.is_scalar = true, .values = first.values};
  }
  if (kind == "Reshape" && inputs.size() == 2 && inputs[1]->values.size() <= 1) {
    return Integers{.is_scalar = inputs[1]->values.empty(), .values = first.values};
  }
  if (kind == "ConstantOfShape") {
    return constant_of_shape(node, first);
  }
  if (kind == "Expand" && inputs.size() == 2) {
    return expand(first, *inputs[1]);
  }
  if (kind == "Range") {
    return range(inputs);
  }
  if (kind == "ReduceProd") {
    return reduce(node, first);
  }
  if (kind == "Not") {
    return elementwise(
        inputs, [&](std::size_t i) { return std::optional<std::int64_t>(at(first, i) == 0); });
  }
  if (kind == "Where" && inputs.size() == 3) {
    return elementwise(inputs, [&](std::size_t i) {
      return std::optional(at(first, i) != 0 ? at(*inputs[1], i) : at(*inputs[2], i));
    });
  }
  if (inputs.size() == 2) {
    return elementwise(inputs,
                       [&](std::size_t i) { return apply(kind, at(first, i), at(*inputs[1], i)); });
  }
  return std::nullopt;
}

}  // namespace

std::optional<Integers> read_integers(const onnx::TensorProto& tensor) {
  if (tensor.dims_size() > 1 || tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return std::nullopt;
  }
  const bool is_scalar = tensor.dims_size() == 0;
  const std::int64_t size = is_scalar ? 1 : tensor.dims(0);
  if (size < 0 || size > static_cast<std::int64_t>(kMaxElements)) {
    return std::nullopt;
  }
  auto values = read_elements(tensor);
  if (!values || values->size() != static_cast<std::size_t>(size)) {
    return std::nullopt;
  }
  return Integers{.is_scalar = is_scalar, .values = *std::move(values)};
}

onnx::TensorProto to_tensor(const Integers& integers) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (!integers.is_scalar) {
    tensor.add_dims(static_cast<std::int64_t>(integers.values.size()));
  }
  tensor.mutable_int64_data()->Add(integers.values.begin(), integers.values.end());
  return tensor;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name,
                               std::int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr ? attribute->i() : fallback;
}

std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr
             ? std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end())
             : std::vector<std::int64_t>();
}

std::optional<Integers> evaluate(const onnx::NodeProto& node,
                                 std::span<const Integers* const> inputs) {
  if (node.op_type() == "Constant") {
    if (const onnx::AttributeProto* value = find_attribute(node, "value")) {
      return read_integers(value->t());
    }
    if (const onnx::AttributeProto* value = find_attribute(node, "value_int")) {
      return Integers{.is_scalar = true, .values = {value->i()}};
    }
    const auto values = integers_attribute(node, "value_ints");
    return values.empty() ? std::nullopt : Result(Integers{.values = values});
  }
  if (inputs.empty() ||
      std::ranges::any_of(inputs, [](const Integers* i) { return i == nullptr; })) {
    return std::nullopt;
  }
  auto result = evaluate_known(node, inputs);
  return result && result->values.size() <= kMaxElements ? result : std::nullopt;
}

}  // namespace emplace::onnx_model
