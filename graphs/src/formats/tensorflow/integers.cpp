// The integers by which graphs compute shapes: Shape, StridedSlice, Pack and so on.

#include "model/assemble.hpp"
#include "shape_rules.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace emplace::tensorflow {
namespace {

std::optional<std::int64_t> apply(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add" || op == "AddV2") {
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "Sub") {
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "Mul") {
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "FloorDiv" || op == "FloorMod") {
    if (b == 0 || b == -1) {
      return std::nullopt;
    }
    const std::int64_t rest = a % b;
    const bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
    return op == "FloorDiv" ? a / b - (rounds_down ? 1 : 0) : rest + (rounds_down ? b : 0);
  }
  if (op == "Maximum") {
    return std::max(a, b);
  }
  if (op == "Minimum") {
    return std::min(a, b);
  }
  return std::nullopt;
}

std::optional<Shape> apply_each(const NodeCall& call) {
  const Shape& a = call.integers(0);
  const Shape& b = call.integers(1);
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
    return std::nullopt;
  }
  Shape result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto number = apply(call.node.op(), a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!number || a.empty() || b.empty()) {
      return std::nullopt;
    }
    result.push_back(*number);
  }
  return result;
}

// The integers in a type of 32 or 64 bits, of which the shorter one keeps the lowest bits.
std::optional<Shape> cast(Shape integers, const proto::AttrValue* type) {
  const int target = type != nullptr ? static_cast<int>(type->type()) : proto::DT_INVALID;
  if (target == proto::DT_INT32 || target == proto::DT_UINT32) {
    for (std::int64_t& integer : integers) {
      integer = target == proto::DT_INT32 ? std::int64_t{static_cast<std::int32_t>(integer)}
                                          : std::int64_t{static_cast<std::uint32_t>(integer)};
    }
  } else if (target != proto::DT_INT64) {
    return std::nullopt;
  }
  return integers;
}

}  // namespace

std::optional<Shape> fold(const NodeCall& call, const Shape& result) {
  const std::string& op = call.node.op();
  if (op == "Shape") {
    return call.shape(0);
  }
  if (op == "Rank") {
    return Shape{std::ssize(call.shape(0))};
  }
  if (op == "Size") {
    return Shape{product(call.shape(0))};
  }
  const std::size_t num_read = op == "ExpandDims" || op == "Squeeze" || op == "Reshape" ||
                                       op == "Identity" || op == "Cast" || op == "StopGradient"
                                   ? 1
                                   : call.inputs.size();
  for (std::size_t i = 0; i < num_read; ++i) {
    if (!call.inputs[i].integers || !call.inputs[i].shape) {
      return std::nullopt;
    }
  }
  if (num_read == 0) {
    return std::nullopt;
  }
  const Shape& first = call.integers(0);
  if (op == "Cast") {
    return cast(first, find_attribute(call.node, "DstT"));
  }
  if (num_read == 1 && !call.inputs.empty() &&
      (op == "ExpandDims" || op == "Squeeze" || op == "Reshape" || op == "Identity" ||
       op == "StopGradient")) {
    return first;
  }
  if (op == "Pack" || op == "ConcatV2") {
    Shape joined;
    for (std::size_t i = 0; i < num_read - (op == "ConcatV2" ? 1 : 0); ++i) {
      joined.insert(joined.end(), call.integers(i).begin(), call.integers(i).end());
    }
    return result.size() == 1 ? std::optional(joined) : std::nullopt;
  }
  if (op == "StridedSlice" && call.rank(0) == 1 && call.integers(1).size() == 1 &&
      call.integer("new_axis_mask", 0) == 0 && call.integer("ellipsis_mask", 0) == 0) {
    const shapes::Range range = shapes::range_of(call, 0, std::ssize(first));
    Shape part;
    for (std::int64_t i = 0; i < range.count; ++i) {
      part.push_back(first[static_cast<std::size_t>(range.begin + i * range.step)]);
    }
    return part;
  }
  if (op == "Slice" && call.rank(0) == 1) {
    const auto begin = first.begin() + call.integers(1)[0];
    return Shape(begin, begin + result[0]);
  }
  if ((op == "GatherV2" || op == "Gather") && call.rank(0) == 1) {
    Shape part;
    for (const std::int64_t index : call.integers(1)) {
      part.push_back(first[axis_of(index, first.size())]);
    }
    return part;
  }
  if (op == "Range") {
    Shape numbers;
    for (std::int64_t i = 0; i < std::min(result[0], kMaxElements); ++i) {
      numbers.push_back(first[0] + i * call.integers(2)[0]);
    }
    return numbers;
  }
  if (op == "Fill" && result.size() <= 1 && product(result) <= kMaxElements) {
    return Shape(static_cast<std::size_t>(product(result)), call.scalar(1));
  }
  if (op == "Prod" && result.empty()) {
    return Shape{product(first)};
  }
  if (op == "Neg") {
    Shape negative = first;
    std::ranges::for_each(negative, [](std::int64_t& number) { number = 0 - number; });
    return std::ranges::count(first, INT64_MIN) == 0 ? std::optional(negative) : std::nullopt;
  }
  return num_read == 2 ? apply_each(call) : std::nullopt;
}

std::optional<Shape> read_integers(const proto::TensorProto& tensor) {
  const DataType type = data_type(static_cast<int>(tensor.dtype()));
  const auto& dims = tensor.tensor_shape().dim();
  std::int64_t elements = 1;
  for (const auto& dim : dims) {
    if (dim.size() < 0 || dim.size() > kMaxElements) {
      return std::nullopt;
    }
    elements *= dim.size();
    if (elements > kMaxElements) {
      return std::nullopt;
    }
  }
  Shape values;
  const auto read_content = [&]<class Stored>(Stored) {
    for (std::size_t at = 0; at + sizeof(Stored) <= tensor.tensor_content().size();
         at += sizeof(Stored)) {
      Stored value;
      std::memcpy(&value, tensor.tensor_content().data() + at, sizeof(Stored));
      values.push_back(static_cast<std::int64_t>(value));
    }
  };
  if (tensor.dtype() == proto::DT_INT64) {
    values.assign(tensor.int64_val().begin(), tensor.int64_val().end());
    read_content(std::int64_t());
  } else if (type == DataType::kInt32) {
    values.assign(tensor.int_val().begin(), tensor.int_val().end());
    read_content(std::int32_t());
  } else {
    return std::nullopt;
  }
  if (std::ssize(values) > elements) {
    return std::nullopt;
  }
  // The last number that a tensor gives stands for all that follow; zeros are left out.
  values.resize(static_cast<std::size_t>(elements), values.empty() ? 0 : values.back());
  return values;
}

}  // namespace emplace::tensorflow
