#include "inference.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::onnx_model {

void fail_shape(const std::string& message) { throw Error(ErrorCode::kFormat, message); }

std::optional<DataType> data_type(std::int64_t type) {
  using onnx::TensorProto;
  switch (type) {
    case TensorProto::FLOAT:
      return DataType::kFloat32;
    case TensorProto::FLOAT16:
      return DataType::kFloat16;
    case TensorProto::BFLOAT16:
      return DataType::kBfloat16;
    case TensorProto::DOUBLE:
      return DataType::kFloat64;
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::FLOAT8E4M3FN:
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2:
    case TensorProto::FLOAT8E5M2FNUZ:
    case TensorProto::FLOAT8E8M0:
    case TensorProto::INT4:
    case TensorProto::UINT4:
    case TensorProto::FLOAT4E2M1:
      return DataType::kInt8;
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return DataType::kInt16;
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return DataType::kInt32;
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return DataType::kInt64;
    case TensorProto::BOOL:
      return DataType::kBool;
    default:
      return std::nullopt;
  }
}

const KnownValue& NodeView::value(std::size_t index) const {
  if (!has_input(index)) {
    fail_shape(describe_missing_input(node_, index));
  }
  return *inputs_[index];
}

const Shape& NodeView::shape_of_rank(std::size_t index, std::size_t rank) const {
  const Shape& found = shape(index);
  if (found.size() < rank) {
    fail_shape(fmt::format("input {}: expected at least {} dimensions, found {}", index + 1, rank,
                           found.size()));
  }
  return found;
}

std::vector<Output> NodeView::inputs() const {
  std::vector<Output> inputs;
  for (const KnownValue* value : inputs_) {
    if (value != nullptr) {
      inputs.push_back(value->output);
    }
  }
  const bool is_pair = opset_ < 7 && inputs.size() == 2;
  const bool is_slope = is_pair && node_.op_type() == "PRelu" && inputs[1].shape.size() == 1;
  if (is_slope || (is_pair && flag("broadcast") && find_attribute(node_, "axis") != nullptr)) {
    const auto rank = std::ssize(inputs[0].shape);
    const auto axis = is_slope ? std::min<std::int64_t>(rank - 1, 1) : integer("axis", 0);
    Shape& part = inputs[1].shape;
    const auto behind = rank - (axis < 0 ? axis + rank : axis) - std::ssize(part);
    if (behind < 0 || behind > rank) {
      fail_shape(fmt::format("shapes [{}] and [{}] do not fit each other at axis {}",
                             fmt::join(inputs[0].shape, ", "), fmt::join(part, ", "), axis));
    }
    part.insert(part.end(), static_cast<std::size_t>(behind), 1);
  }
  return inputs;
}

Shape NodeView::integers(std::size_t index) const {
  const KnownValue& found = value(index);
  if (!found.numbers) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("input {}, '{}', decides on the shape of the result, and its numbers "
                            "are not known before the model runs",
                            index + 1, excerpt(node_.input(static_cast<int>(index)))));
  }
  const auto integers = integers_of(*found.numbers);
  if (!integers) {
    fail_shape(fmt::format("input {}: expected integers", index + 1));
  }
  return *integers;
}

std::optional<Shape> NodeView::integers_or_attribute(std::size_t index,
                                                     std::string_view name) const {
  if (has_input(index)) {
    return integers(index);
  }
  return find_attribute(node_, name) != nullptr ? std::optional(integers_attribute(node_, name))
                                                : std::nullopt;
}

const Numbers* NodeView::numbers(std::size_t index) const {
  return has_input(index) && value(index).numbers ? &*value(index).numbers : nullptr;
}

bool NodeView::is_bytes(std::size_t index) const {
  return value(index).output.bytes >= product(shape(index));
}

std::size_t NodeView::axis(std::int64_t fallback, std::size_t rank) const {
  return operators::axis_of(integer("axis", fallback), rank);
}

void Inference::give(Shape shape, DataType type) {
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMaxExtent) {
      fail_shape(fmt::format("its result would have a dimension of {}", extent));
    }
  }
  results_.push_back(make_output(std::move(shape), type));
}

Shape broadcast_shape(const Shape& left, const Shape& right) {
  return operators::broadcast(std::array{Output{.shape = left}, Output{.shape = right}});
}

}  // namespace emplace::onnx_model
