// What nodes make of numbers that are known before the step.

#include "arithmetic.hpp"
#include "model/assemble.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace emplace::onnx_model {
namespace {

// --- Elements that move ---

// How far apart neighbours along each dimension are.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return strides;
}

// A tensor of shape `shape` whose neighbours along its dimensions stand `strides` apart in `from`.
Values pick(const Values& from, const Shape& shape, std::int64_t begin, const Shape& strides) {
  Values values;
  Shape index(shape.size(), 0);
  const std::int64_t count = product(shape);
  std::int64_t at = begin;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(from.at(static_cast<std::size_t>(at)));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return values;
}

// The elements as those of a tensor of `shape` that they are broadcast to.
Values broadcast(const Numbers& numbers, const Shape& shape) {
  Shape strides = strides_of(numbers.shape);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = numbers.shape[i] == 1 ? 0 : strides[i];
  }
  strides.insert(strides.begin(), shape.size() - strides.size(), 0);
  return pick(numbers.values, shape, 0, strides);
}

std::int64_t axis_of(const onnx::NodeProto& node, std::size_t rank, std::int64_t fallback) {
  const auto axis = integer_attribute(node, "axis", fallback);
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

Values tile(const Evaluation& call, const Numbers& data) {
  // Each dimension of the result is one of repeats, which do not move, and one of the data.
  Shape shape;
  Shape strides;
  const Shape own = strides_of(data.shape);
  for (std::size_t i = 0; i < own.size(); ++i) {
    shape.insert(shape.end(), {call.results[0].shape[i] / data.shape[i], data.shape[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  return pick(data.values, shape, 0, strides);
}

std::optional<Values> transpose(const Evaluation& call, const Numbers& data) {
  Shape axes = integers_attribute(call.node, "perm");
  const Shape from = strides_of(data.shape);
  Shape strides;
  for (std::size_t i = 0; i < from.size(); ++i) {
    strides.push_back(axes.empty() ? from[from.size() - 1 - i]
                                   : from[static_cast<std::size_t>(axes[i])]);
  }
  return pick(data.values, call.results[0].shape, 0, strides);
}

std::optional<Values> concat(const Evaluation& call) {
  const auto axis = static_cast<std::size_t>(axis_of(call.node, call.results[0].shape.size(), 1));
  const std::int64_t outer = product(std::span(call.results[0].shape).first(axis));
  Values values;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const Numbers* input : call.inputs) {
      const auto length = static_cast<std::int64_t>(input->values.size()) / outer;
      values.insert(values.end(), input->values.begin() + i * length,
                    input->values.begin() + (i + 1) * length);
    }
  }
  return values;
}

std::optional<Values> gather(const Evaluation& call, const Numbers& data, const Numbers& indices) {
  const auto axis = static_cast<std::size_t>(axis_of(call.node, data.shape.size(), 0));
  const std::int64_t extent = data.shape[axis];
  const std::int64_t inner = product(std::span(data.shape).subspan(axis + 1));
  const std::int64_t outer = product(std::span(data.shape).first(axis));
  Values values;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const Number number : indices.values) {
      const auto* index = std::get_if<std::int64_t>(&number);
      if (index == nullptr || *index < -extent || *index >= extent) {
        return std::nullopt;
      }
      const auto begin =
          data.values.begin() + (i * extent + (*index < 0 ? *index + extent : *index)) * inner;
      values.insert(values.end(), begin, begin + inner);
    }
  }
  return values;
}

// Starts, ends, axes and steps are inputs, or attributes up to opset 9.
std::optional<Values> slice(const Evaluation& call, const Numbers& data) {
  const auto list = [&](std::size_t i, std::string_view name) -> std::optional<Shape> {
    if (i >= call.inputs.size() || call.input_values[i] == nullptr) {
      return places_attribute(call.node, name).value_or(Shape());
    }
    return call.inputs[i] != nullptr ? integers_of(*call.inputs[i]) : std::nullopt;
  };
  const auto starts = list(1, "starts");
  auto axes = list(3, "axes");
  auto steps = list(4, "steps");
  if (!starts || !axes || !steps) {
    return std::nullopt;
  }
  Shape strides = strides_of(data.shape);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t axis = axes->empty() ? static_cast<std::int64_t>(i) : axes->at(i);
    const auto place = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(data.shape) : axis);
    const std::int64_t extent = data.shape.at(place);
    const std::int64_t step = steps->empty() ? 1 : steps->at(i);
    const std::int64_t start = starts->at(i);
    begin += strides.at(place) * std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0,
                                                          step < 0 ? extent - 1 : extent);
    strides[place] *= step;
  }
  return pick(data.values, call.results[0].shape, begin, strides);
}

std::vector<Numbers> split(const Evaluation& call, const Numbers& data) {
  const auto axis = static_cast<std::size_t>(axis_of(call.node, data.shape.size(), 0));
  const Shape strides = strides_of(data.shape);
  std::vector<Numbers> parts;
  std::int64_t begin = 0;
  for (const Output& result : call.results) {
    parts.push_back({result.shape, pick(data.values, result.shape, begin, strides)});
    begin += strides[axis] * result.shape[axis];
  }
  return parts;
}

// --- Elements that are computed ---

// Says whether numbers can be broadcast to `shape`; those of a product or a reduction cannot.
bool fits(const Numbers& numbers, const Shape& shape) {
  if (numbers.shape.size() > shape.size()) {
    return false;
  }
  const std::size_t more = shape.size() - numbers.shape.size();
  for (std::size_t i = 0; i < numbers.shape.size(); ++i) {
    if (numbers.shape[i] != 1 && numbers.shape[i] != shape[more + i]) {
      return false;
    }
  }
  return true;
}

// Applies `function` to the elements of the broadcast inputs.
template <class Apply>
std::optional<Values> elementwise(const Evaluation& call, Apply function) {
  std::vector<Values> inputs;
  for (const Numbers* input : call.inputs) {
    if (!fits(*input, call.results[0].shape)) {
      return std::nullopt;
    }
    inputs.push_back(broadcast(*input, call.results[0].shape));
  }
  Values values;
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    const std::optional<Number> value = function(inputs, i);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

// Applies an operator to the first two elements, to what that gives and the third one, and so on.
std::optional<Values> fold(const Evaluation& call, std::string_view kind) {
  return elementwise(call, [&](const auto& inputs, std::size_t i) {
    std::optional<Number> value = inputs[0][i];
    for (std::size_t k = 1; value && k < inputs.size(); ++k) {
      value = apply(kind, *value, inputs[k][i]);
    }
    return value ? as_result(*value, call.results[0].type) : std::nullopt;
  });
}

// Applies Max or Min to the elements and a limit: an input that may be left out, or an attribute up
// to opset 10.
std::optional<Values> limited(const Evaluation& call, Values values, std::string_view kind,
                              std::size_t input, std::string_view attribute) {
  std::optional<Number> limit;
  if (input < call.input_values.size() && call.input_values[input] != nullptr) {
    const Numbers* given = call.inputs[input];
    if (given == nullptr || given->values.size() != 1) {
      return std::nullopt;
    }
    limit = given->values[0];
  } else if (const onnx::AttributeProto* given = find_attribute(call.node, attribute)) {
    limit = static_cast<double>(given->f());
  }
  for (Number& value : values) {
    const auto result = limit ? apply(kind, value, *limit) : value;
    if (!result) {
      return std::nullopt;
    }
    value = *result;
  }
  return values;
}

std::optional<Values> clip(const Evaluation& call, const Numbers& data) {
  auto values = limited(call, data.values, "Max", 1, "min");
  return values ? limited(call, *std::move(values), "Min", 2, "max") : std::nullopt;
}

// Only the type of the second input counts.
std::optional<Values> cast_like(const Evaluation& call, const Numbers& data) {
  Values values;
  for (const Number number : data.values) {
    const auto value = as_result(number, call.results[0].type);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

std::optional<Values> fill(const Evaluation& call, Number value) {
  return Values(static_cast<std::size_t>(product(call.results[0].shape)), value);
}

std::optional<Values> constant_of_shape(const Evaluation& call) {
  const onnx::AttributeProto* value = find_attribute(call.node, "value");
  if (value == nullptr) {
    return fill(call, 0.0);
  }
  const auto numbers = read_numbers(value->t());
  return numbers && numbers->values.size() == 1 ? fill(call, numbers->values[0]) : std::nullopt;
}

std::optional<Values> range(const Evaluation& call) {
  Values values;
  Number value = call.inputs[0]->values[0];
  for (std::int64_t i = 0; i < product(call.results[0].shape); ++i) {
    values.push_back(value);
    const auto next = apply("Add", value, call.inputs[2]->values[0]);
    if (!next) {
      return std::nullopt;
    }
    value = *next;
  }
  return values;
}

std::optional<Values> reduce(const Evaluation& call, const Numbers& data, std::string_view kind) {
  if (product(call.results[0].shape) != 1 || data.values.empty()) {
    return std::nullopt;
  }
  Number result = data.values[0];
  for (std::size_t i = 1; i < data.values.size(); ++i) {
    const auto next = apply(kind, result, data.values[i]);
    if (!next) {
      return std::nullopt;
    }
    result = *next;
  }
  return Values{result};
}

std::optional<Values> non_zero(const Numbers& data) {
  Values places;
  const Shape strides = strides_of(data.shape);
  for (std::size_t axis = 0; axis < data.shape.size(); ++axis) {
    for (std::size_t i = 0; i < data.values.size(); ++i) {
      if (real(data.values[i]) != 0) {
        places.emplace_back(static_cast<std::int64_t>(i) / strides[axis] % data.shape[axis]);
      }
    }
  }
  return places;
}

std::optional<Values> constant(const Evaluation& call) {
  if (const onnx::AttributeProto* value = find_attribute(call.node, "value")) {
    const auto numbers = read_numbers(value->t());
    return numbers ? std::optional(numbers->values) : std::nullopt;
  }
  if (const onnx::AttributeProto* value = find_attribute(call.node, "value_int")) {
    return Values{value->i()};
  }
  if (const onnx::AttributeProto* value = find_attribute(call.node, "value_float")) {
    return Values{static_cast<double>(value->f())};
  }
  if (const onnx::AttributeProto* value = find_attribute(call.node, "value_ints")) {
    return Values(value->ints().begin(), value->ints().end());
  }
  if (const onnx::AttributeProto* value = find_attribute(call.node, "value_floats")) {
    return Values(value->floats().begin(), value->floats().end());
  }
  return std::nullopt;
}

// Shapes are known even where elements are not.
std::optional<Values> from_shapes(const Evaluation& call) {
  const std::string& kind = call.node.op_type();
  if (kind == "Constant") {
    return constant(call);
  }
  if (kind == "Size") {
    return Values{product(call.input_values[0]->shape)};
  }
  const Shape& shape = call.input_values[0]->shape;
  const auto rank = std::ssize(shape);
  const auto start = integer_attribute(call.node, "start", 0);
  const auto begin = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  Values values;
  for (std::int64_t i = 0; i < product(call.results[0].shape); ++i) {
    values.emplace_back(shape[static_cast<std::size_t>(begin + i)]);
  }
  return values;
}

std::optional<Values> evaluate_known(const Evaluation& call) {
  const std::string& kind = call.node.op_type();
  const Numbers& first = *call.inputs[0];
  if (kind == "Identity" || kind == "Reshape" || kind == "Unsqueeze" || kind == "Squeeze" ||
      kind == "Flatten") {
    return first.values;
  }
  if (kind == "Cast") {
    const auto type = integer_attribute(call.node, "to", 0);
    return elementwise(call,
                       [&](const auto& inputs, std::size_t i) { return cast(inputs[0][i], type); });
  }
  if (kind == "Concat") {
    return concat(call);
  }
  if (kind == "Gather" && call.inputs.size() == 2) {
    return gather(call, first, *call.inputs[1]);
  }
  if (kind == "Transpose") {
    return transpose(call, first);
  }
  if (kind == "ConstantOfShape") {
    return constant_of_shape(call);
  }
  if (kind == "Expand") {
    return broadcast(first, call.results[0].shape);
  }
  if (kind == "Range" && call.inputs.size() == 3) {
    return range(call);
  }
  if (kind == "NonZero") {
    return non_zero(first);
  }
  if (kind == "ReduceProd" || kind == "ReduceSum" || kind == "ReduceMax" || kind == "ReduceMin") {
    return reduce(call, first,
                  kind == "ReduceProd"  ? "Mul"
                  : kind == "ReduceSum" ? "Add"
                                        : kind.substr(6));
  }
  if (kind == "Where" && call.inputs.size() == 3) {
    return elementwise(call, [](const auto& inputs, std::size_t i) {
      return std::optional(inputs[real(inputs[0][i]) != 0 ? 1 : 2][i]);
    });
  }
  if (kind == "Sum" || kind == "Max" || kind == "Min") {
    return fold(call, kind == "Sum" ? "Add" : kind);
  }
  if (kind == "Mean") {
    auto values = fold(call, "Add");
    const auto count = static_cast<double>(call.inputs.size());
    if (values) {
      std::ranges::for_each(*values, [&](Number& value) { value = real(value) / count; });
    }
    return values;
  }
  if (kind == "Tile") {
    return tile(call, first);
  }
  if (call.inputs.size() == 1) {
    return elementwise(call, [&](const auto& inputs, std::size_t i) {
      const auto value = apply_to_one(kind, inputs[0][i]);
      return value ? as_result(*value, call.results[0].type) : std::nullopt;
    });
  }
  // Up to opset 6 an axis says how the second input is broadcast.
  if (call.inputs.size() == 2 && find_attribute(call.node, "axis") == nullptr) {
    return fold(call,
                kind == "Mod" && integer_attribute(call.node, "fmod", 0) != 0 ? "Fmod" : kind);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Numbers> evaluate(const Evaluation& call) {
  const std::string& kind = call.node.op_type();
  const auto is_small = [](const Output& result) { return product(result.shape) <= kMaxElements; };
  if (!is_standard_domain(call.node.domain()) || call.results.empty() ||
      !std::ranges::all_of(call.results, is_small)) {
    return {};
  }
  if (std::ranges::any_of(call.results,
                          [](const Output& result) { return product(result.shape) == 0; })) {
    return call.results.size() == 1 ? std::vector{Numbers{call.results[0].shape}}
                                    : std::vector<Numbers>();
  }
  std::optional<Values> values;
  if (kind == "Shape" || kind == "Size" || kind == "Constant") {
    values = from_shapes(call);
  } else if (kind == "CastLike" && call.inputs.size() == 2 && call.inputs[0] != nullptr) {
    values = cast_like(call, *call.inputs[0]);
  } else if (kind == "Clip" && !call.inputs.empty() && call.inputs[0] != nullptr) {
    values = clip(call, *call.inputs[0]);
  } else if (kind == "Slice" && !call.inputs.empty() && call.inputs[0] != nullptr) {
    values = slice(call, *call.inputs[0]);
  } else if (kind == "Split" && !call.inputs.empty() && call.inputs[0] != nullptr) {
    return split(call, *call.inputs[0]);
  } else if (!call.inputs.empty() &&
             std::ranges::none_of(call.inputs, [](auto* input) { return input == nullptr; })) {
    values = evaluate_known(call);
  }
  if (!values || !std::cmp_equal(values->size(), product(call.results[0].shape))) {
    return {};
  }
  return {Numbers{call.results[0].shape, *std::move(values)}};
}

}  // namespace emplace::onnx_model
