#pragma once

// Arithmetic on numbers that are known before the step, as ONNX Runtime does it: operators on
// elements, and the types that they end in.

#include "numbers.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace emplace::onnx_model {

/// Says whether a number is no real one.
bool is_integer(Number number);

/// Returns the result of an operator of ONNX on two numbers; nothing if it is not known. `Fmod` is
/// Mod with the sign of the dividend.
std::optional<Number> apply(std::string_view op_type, Number a, Number b);

/// Returns the result of an operator on one number; nothing if it is not known.
std::optional<Number> apply_to_one(std::string_view op_type, Number x);

/// Returns the number as an element of `type`, one of ONNX' numbers of types. Integers keep the
/// lowest bits. Nothing for a real number beyond a type of integers, and for types that have no
/// numbers here.
std::optional<Number> cast(Number number, std::int64_t type);

/// Returns the result of arithmetic in a type of ours, which does not tell unsigned integers from
/// others: nothing where that makes a difference.
std::optional<Number> as_result(Number number, DataType type);

}  // namespace emplace::onnx_model
