#include "numbers.hpp"

#include "model/assemble.hpp"
#include "model/element_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace emplace::onnx_model {
namespace {

template <class Stored, class Decode>
Values read_raw(const std::string& raw, Decode decode) {
  Values values(raw.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored value;
    std::memcpy(&value, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = decode(value);
  }
  return values;
}

template <class Stored>
Values read_raw_integers(const std::string& raw) {
  return read_raw<Stored>(raw, [](Stored value) { return static_cast<std::int64_t>(value); });
}

template <class Field, class Decode>
Values read_field(const Field& field, Decode decode) {
  Values values;
  for (const auto value : field) {
    values.emplace_back(decode(value));
  }
  return values;
}

double from_half(std::uint32_t bits) {
  const auto exponent = static_cast<int>((bits >> 10U) & 31U);
  const auto fraction = static_cast<double>(bits & 1023U);
  const double beyond = fraction == 0 ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN();
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? beyond
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000U) != 0 ? -size : size;
}

double from_bfloat16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }

std::optional<Values> read_elements(const onnx::TensorProto& tensor) {
  const bool is_raw = tensor.has_raw_data();
  const std::string& raw = tensor.raw_data();
  const auto integer = [](auto value) { return static_cast<std::int64_t>(value); };
  const auto to_real = [](auto value) { return static_cast<double>(value); };
  const auto bits = [](auto decode) {
    return [decode](auto value) { return decode(static_cast<std::uint32_t>(value) & 0xFFFFU); };
  };
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return is_raw ? read_raw<float>(raw, to_real) : read_field(tensor.float_data(), to_real);
    case onnx::TensorProto::DOUBLE:
      return is_raw ? read_raw<double>(raw, to_real) : read_field(tensor.double_data(), to_real);
    case onnx::TensorProto::FLOAT16:
      return is_raw ? read_raw<std::uint16_t>(raw, bits(from_half))
                    : read_field(tensor.int32_data(), bits(from_half));
    case onnx::TensorProto::BFLOAT16:
      return is_raw ? read_raw<std::uint16_t>(raw, bits(from_bfloat16))
                    : read_field(tensor.int32_data(), bits(from_bfloat16));
    case onnx::TensorProto::INT64:
      return is_raw ? read_raw_integers<std::int64_t>(raw)
                    : read_field(tensor.int64_data(), integer);
    case onnx::TensorProto::INT32:
      return is_raw ? read_raw_integers<std::int32_t>(raw)
                    : read_field(tensor.int32_data(), integer);
    case onnx::TensorProto::UINT32:
      return is_raw ? read_raw_integers<std::uint32_t>(raw)
                    : read_field(tensor.uint64_data(), integer);
    case onnx::TensorProto::INT16:
      return is_raw ? read_raw_integers<std::int16_t>(raw)
                    : read_field(tensor.int32_data(), integer);
    case onnx::TensorProto::UINT16:
      return is_raw ? read_raw_integers<std::uint16_t>(raw)
                    : read_field(tensor.int32_data(), integer);
    case onnx::TensorProto::INT8:
      return is_raw ? read_raw_integers<std::int8_t>(raw)
                    : read_field(tensor.int32_data(), integer);
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      return is_raw ? read_raw_integers<std::uint8_t>(raw)
                    : read_field(tensor.int32_data(), integer);
    default:
      return std::nullopt;
  }
}

}  // namespace

double real(Number number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::optional<Numbers> read_numbers(const onnx::TensorProto& tensor) {
  Numbers numbers{.shape = {tensor.dims().begin(), tensor.dims().end()}};
  std::int64_t size = 1;
  for (const std::int64_t extent : numbers.shape) {
    if (extent < 0 || extent > kMaxElements || size * extent > kMaxElements) {
      return std::nullopt;
    }
    size *= extent;
  }
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return std::nullopt;
  }
  auto values = read_elements(tensor);
  if (!values || !std::cmp_equal(values->size(), size)) {
    return std::nullopt;
  }
  numbers.values = *std::move(values);
  return numbers;
}

std::optional<Shape> integers_of(const Numbers& numbers) {
  Shape integers;
  for (const Number number : numbers.values) {
    const auto* integer = std::get_if<std::int64_t>(&number);
    if (integer == nullptr) {
      return std::nullopt;
    }
    integers.push_back(*integer);
  }
  return integers;
}

std::optional<double> single_of(const Numbers& numbers) {
  return numbers.values.size() == 1 ? std::optional(real(numbers.values[0])) : std::nullopt;
}

}  // namespace emplace::onnx_model
