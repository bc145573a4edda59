#include "arithmetic.hpp"

#include "model/element_type.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace emplace::onnx_model {
namespace {

std::optional<Number> power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (exponent < 0 || exponent > 64) {
    return std::nullopt;
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Number> apply_to_integers(std::string_view kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (kind == "Add") {
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
  }
  if (kind == "Sub") {
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
  }
  if (kind == "Mul") {
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional<Number>(result);
  }
  if (kind == "Div" || kind == "Mod") {
    if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) {
      return std::nullopt;
    }
    const std::int64_t rest = a % b;  // Mod has the sign of the divisor
    return kind == "Div" ? a / b : rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (kind == "Fmod" && b != 0) {
    return b == -1 ? 0 : a % b;  // the sign of the dividend
  }
  if (kind == "BitwiseAnd") {
    return a & b;
  }
  if (kind == "BitwiseOr") {
    return a | b;
  }
  if (kind == "BitwiseXor") {
    return a ^ b;
  }
  if (kind == "Pow") {
    return power(a, b);
  }
  if (kind == "And") {
    return std::int64_t{a != 0 && b != 0};
  }
  if (kind == "Or") {
    return std::int64_t{a != 0 || b != 0};
  }
  if (kind == "Xor") {
    return std::int64_t{(a != 0) != (b != 0)};
  }
  return std::nullopt;
}

std::optional<Number> apply_to_reals(std::string_view kind, double a, double b) {
  if (kind == "Add") {
    return a + b;
  }
  if (kind == "Sub") {
    return a - b;
  }
  if (kind == "Mul") {
    return a * b;
  }
  if (kind == "Div" && b != 0) {
    return a / b;
  }
  if (kind == "Fmod" && b != 0) {
    return std::fmod(a, b);
  }
  if (kind == "Pow") {
    return std::pow(a, b);
  }
  return std::nullopt;
}

// Operators that treat integers and real numbers alike.
template <class Value>
std::optional<Number> compare(std::string_view kind, Value a, Value b) {
  if (kind == "Max") {
    return std::max(a, b);
  }
  if (kind == "Min") {
    return std::min(a, b);
  }
  if (kind == "Equal") {
    return std::int64_t{a == b};
  }
  if (kind == "Greater") {
    return std::int64_t{a > b};
  }
  if (kind == "GreaterOrEqual") {
    return std::int64_t{a >= b};
  }
  if (kind == "Less") {
    return std::int64_t{a < b};
  }
  if (kind == "LessOrEqual") {
    return std::int64_t{a <= b};
  }
  return std::nullopt;
}

// Returns the real number with a significand of `bits` bits.
double rounded(double value, int bits) {
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}

// The real number as an element of a type of real numbers; nothing where a short one ends.
std::optional<Number> cast_to_real(double value, DataType type) {
  if (type == DataType::kFloat16) {
    const double half = rounded(value, 11);
    const double size = std::abs(half);
    return half == 0 || std::isinf(half) || (size >= 0x1p-14 && size <= 65504)
               ? std::optional<Number>(half)
               : std::nullopt;
  }
  return type == DataType::kFloat64    ? value
         : type == DataType::kBfloat16 ? rounded(value, 8)
                                       : static_cast<double>(static_cast<float>(value));
}

// How many bits an integer has, of which one may be its sign.
struct IntegerType {
  int bits = 64;
  bool is_signed = true;
};

// Casts of integers keep the lowest bits, as ONNX Runtime's do; a real number beyond the type's
// range has no such element.
std::optional<Number> cast_to_integer(Number number, IntegerType type) {
  const int unused = 64 - type.bits;
  if (is_integer(number)) {
    const auto low = static_cast<std::uint64_t>(std::get<std::int64_t>(number)) << unused;
    return type.is_signed ? static_cast<std::int64_t>(low) >> unused
                          : static_cast<std::int64_t>(low >> unused);
  }
  const double value = std::trunc(std::get<double>(number));
  const int bits = type.is_signed ? type.bits - 1 : type.bits;
  const double limit = std::ldexp(1.0, std::min(bits, 63));  // what does not fit ours is unknown
  return value >= (type.is_signed ? -limit : 0) && value < limit
             ? std::optional<Number>(static_cast<std::int64_t>(value))
             : std::nullopt;
}

// Functions of one real number.
struct Function {
  std::string_view op_type;
  double (*apply)(double);
};

// Sorted by operator. Where a function has no value, or none is a number, nothing is known.
constexpr std::array kFunctions = {
    Function{"Abs", [](double x) { return std::abs(x); }},
    Function{"Acos", [](double x) { return std::acos(x); }},
    Function{"Acosh", [](double x) { return std::acosh(x); }},
    Function{"Asin", [](double x) { return std::asin(x); }},
    Function{"Asinh", [](double x) { return std::asinh(x); }},
    Function{"Atan", [](double x) { return std::atan(x); }},
    Function{"Atanh", [](double x) { return std::atanh(x); }},
    Function{"Ceil", [](double x) { return std::ceil(x); }},
    Function{"Cos", [](double x) { return std::cos(x); }},
    Function{"Cosh", [](double x) { return std::cosh(x); }},
    Function{"Erf", [](double x) { return std::erf(x); }},
    Function{"Exp", [](double x) { return std::exp(x); }},
    Function{"Floor", [](double x) { return std::floor(x); }},
    Function{"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    Function{"Log", [](double x) { return std::log(x); }},
    Function{"Neg", [](double x) { return -x; }},
    Function{"Reciprocal", [](double x) { return 1 / x; }},
    Function{"Relu", [](double x) { return std::max(x, 0.0); }},
    Function{"Round", [](double x) { return std::nearbyint(x); }},
    Function{"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    Function{"Sign", [](double x) { return x > 0   ? 1.0
                                           : x < 0 ? -1.0
                                                   : 0.0; }},
    Function{"Sin", [](double x) { return std::sin(x); }},
    Function{"Sinh", [](double x) { return std::sinh(x); }},
    Function{"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    Function{"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    Function{"Sqrt", [](double x) { return std::sqrt(x); }},
    Function{"Tan", [](double x) { return std::tan(x); }},
    Function{"Tanh", [](double x) { return std::tanh(x); }},
};

static_assert(std::ranges::is_sorted(kFunctions, {}, &Function::op_type));

std::optional<Number> apply_to_integer(std::string_view kind, std::int64_t x) {
  if (kind == "Neg" || (kind == "Abs" && x < 0)) {
    return apply_to_integers("Sub", 0, x);
  }
  if (kind == "Abs") {
    return x;
  }
  if (kind == "Relu") {
    return std::max<std::int64_t>(x, 0);
  }
  if (kind == "BitwiseNot") {
    return ~x;
  }
  if (kind == "Sign") {
    return std::int64_t{x > 0} - std::int64_t{x < 0};
  }
  return std::nullopt;
}

}  // namespace

bool is_integer(Number number) { return std::holds_alternative<std::int64_t>(number); }

std::optional<Number> apply(std::string_view op_type, Number a, Number b) {
  if (op_type == "Pow" && is_integer(a) && !is_integer(b)) {
    return apply_to_reals(op_type, real(a), real(b));
  }
  if (is_integer(a) && is_integer(b)) {
    const auto x = std::get<std::int64_t>(a);
    const auto y = std::get<std::int64_t>(b);
    const auto compared = compare(op_type, x, y);
    return compared ? compared : apply_to_integers(op_type, x, y);
  }
  const auto compared = compare(op_type, real(a), real(b));
  return compared ? compared : apply_to_reals(op_type, real(a), real(b));
}

std::optional<Number> apply_to_one(std::string_view op_type, Number x) {
  if (op_type == "Not") {
    return std::int64_t{real(x) == 0};
  }
  if (is_integer(x)) {
    return apply_to_integer(op_type, std::get<std::int64_t>(x));
  }
  const double value = std::get<double>(x);
  if (op_type == "IsNaN") {
    return std::int64_t{std::isnan(value)};
  }
  const auto function = std::ranges::lower_bound(kFunctions, op_type, {}, &Function::op_type);
  if (function == kFunctions.end() || function->op_type != op_type) {
    return std::nullopt;
  }
  const double result = function->apply(value);
  return std::isnan(result) ? std::nullopt : std::optional<Number>(result);
}

std::optional<Number> cast(Number number, std::int64_t type) {
  using onnx::TensorProto;
  switch (type) {
    case TensorProto::FLOAT:
      return cast_to_real(real(number), DataType::kFloat32);
    case TensorProto::DOUBLE:
      return cast_to_real(real(number), DataType::kFloat64);
    case TensorProto::FLOAT16:
      return cast_to_real(real(number), DataType::kFloat16);
    case TensorProto::BFLOAT16:
      return cast_to_real(real(number), DataType::kBfloat16);
    case TensorProto::BOOL:
      return std::int64_t{real(number) != 0};
    case TensorProto::INT4:
    case TensorProto::UINT4:
      return cast_to_integer(number, {.bits = 4, .is_signed = type == TensorProto::INT4});
    case TensorProto::INT8:
    case TensorProto::UINT8:
      return cast_to_integer(number, {.bits = 8, .is_signed = type == TensorProto::INT8});
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return cast_to_integer(number, {.bits = 16, .is_signed = type == TensorProto::INT16});
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return cast_to_integer(number, {.bits = 32, .is_signed = type == TensorProto::INT32});
    case TensorProto::INT64:
      return cast_to_integer(number, {});
    case TensorProto::UINT64:  // of which we have the lower half
      return real(number) >= 0 ? cast_to_integer(number, {}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Number> as_result(Number number, DataType type) {
  if (is_floating(type)) {
    return cast_to_real(real(number), type);
  }
  if (type == DataType::kBool) {
    return std::int64_t{real(number) != 0};
  }
  const int bits = type == DataType::kInt8    ? 8
                   : type == DataType::kInt16 ? 16
                   : type == DataType::kInt32 ? 32
                                              : 64;
  if (bits == 64 || !is_integer(number)) {
    const bool may_be_real = bits == 8;  // short floats are stored so
    return may_be_real ? std::nullopt : cast_to_integer(number, {.bits = bits});
  }
  const auto integer = std::get<std::int64_t>(number);
  const std::int64_t limit = std::int64_t{1} << (bits - 1);
  return integer < limit && integer >= (bits < 32 ? 0 : -limit) ? std::optional(number)
                                                                : std::nullopt;
}

}  // namespace emplace::onnx_model
