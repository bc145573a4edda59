#include "inference.hpp"

#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
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

const KnownValue& Inference::value(std::size_t index) const {
  if (!has_input(index)) {
    fail_shape(describe_missing_input(node_, index));
  }
  return *inputs_[index];
}

const Shape& Inference::shape_of_rank(std::size_t index, std::size_t rank) const {
  const Shape& found = shape(index);
  if (found.size() < rank) {
    fail_shape(fmt::format("input {}: expected at least {} dimensions, found {}", index + 1, rank,
                           found.size()));
  }
  return found;
}

Shape Inference::integers(std::size_t index) const {
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

std::optional<Shape> Inference::integers_or_attribute(std::size_t index,
                                                      std::string_view name) const {
  if (has_input(index)) {
    return integers(index);
  }
  return find_attribute(node_, name) != nullptr ? std::optional(integers_attribute(node_, name))
                                                : std::nullopt;
}

const Numbers* Inference::numbers(std::size_t index) const {
  const auto& found = value(index).numbers;
  return found ? &*found : nullptr;
}

Operands Inference::operands() const {
  Operands operands{.node = node_};
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    operands.shapes.push_back(has_input(i) ? &shape(i) : nullptr);
    operands.numbers.push_back(has_input(i) ? numbers(i) : nullptr);
  }
  return operands;
}

bool Inference::is_bytes(std::size_t index) const {
  return value(index).output.bytes >= product(shape(index));
}

std::size_t Inference::place(std::int64_t axis, std::size_t rank) const {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) {
    fail_shape(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::size_t Inference::axis(std::int64_t fallback, std::size_t rank) const {
  return place(integer_attribute(node_, "axis", fallback), rank);
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
  Shape result(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto extent = [&](const Shape& shape) {
      const std::size_t missing = result.size() - shape.size();
      return i < missing ? 1 : shape[i - missing];
    };
    if (extent(left) != extent(right) && extent(left) != 1 && extent(right) != 1) {
      fail_shape(fmt::format("shapes [{}] and [{}] do not fit each other", fmt::join(left, ", "),
                             fmt::join(right, ", ")));
    }
    result[i] = extent(left) == 1 ? extent(right) : extent(left);
  }
  return result;
}

Shape broadcast_part(const onnx::NodeProto& node, std::int64_t opset, const Shape& whole,
                     const Shape& part) {
  const bool is_slope = node.op_type() == "PRelu" && part.size() == 1;
  if (opset >= 7 || !(is_slope || find_attribute(node, "axis") != nullptr)) {
    return part;
  }
  const auto rank = std::ssize(whole);
  const auto axis =
      is_slope ? std::min<std::int64_t>(rank - 1, 1) : integer_attribute(node, "axis", 0);
  const auto behind = rank - (axis < 0 ? axis + rank : axis) - std::ssize(part);
  if (behind < 0 || behind > rank) {
    fail_shape(fmt::format("shapes [{}] and [{}] do not fit each other at axis {}",
                           fmt::join(whole, ", "), fmt::join(part, ", "), axis));
  }
  Shape extents = part;
  extents.insert(extents.end(), static_cast<std::size_t>(behind), 1);
  return extents;
}

std::int64_t extent_of(std::span<const std::int64_t> extents) { return product(extents); }

std::vector<bool> reduced_axes(const Inference& node) {
  const std::size_t rank = node.shape(0).size();
  const auto axes = node.integers_or_attribute(1, "axes");
  if (!axes || axes->empty()) {
    const bool keeps = integer_attribute(node.node(), "noop_with_empty_axes", 0) != 0;
    return std::vector<bool>(rank, !keeps);
  }
  std::vector<bool> is_reduced(rank, false);
  for (const std::int64_t axis : *axes) {
    is_reduced[node.place(axis, rank)] = true;
  }
  return is_reduced;
}

}  // namespace emplace::onnx_model
