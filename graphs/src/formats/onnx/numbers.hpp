#pragma once

// Arithmetic on the small tensors by which exported models compute shapes: Shape, Gather, Concat,
// Mul and so on. What is known before the step is no op of the graph.

#include "attributes.hpp"

#include <emplace/graphs/op.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace emplace::onnx_model {

/// One element: an integer or a truth value, or a real number.
using Number = std::variant<std::int64_t, double>;

/// Returns the number as a real one.
double real(Number number);

/// Elements of a tensor.
using Values = std::vector<Number>;

/// The most elements that are known: a shape has few dimensions, what is longer is data.
inline constexpr std::int64_t kMaxElements = 1024;

/// Holds the elements of a small tensor.
struct Numbers {
  Shape shape{};    ///< empty for a scalar
  Values values{};  ///< the last dimension varies fastest
};

/// Returns the elements of `tensor`; nothing if they stand in another file, are too many to be a
/// shape, are of a type that has no numbers, or are not as many as its dimensions say.
std::optional<Numbers> read_numbers(const onnx::TensorProto& tensor);

/// Returns the elements of the integers of `numbers`; nothing if one is a real number.
std::optional<Shape> integers_of(const Numbers& numbers);

/// Returns the only element as a real number; nothing if there are several.
std::optional<double> single_of(const Numbers& numbers);

/// Describes a node for evaluate().
struct Evaluation {
  const onnx::NodeProto& node;
  std::span<const Numbers* const> inputs;       ///< null: unknown or left out
  std::span<const Output* const> input_values;  ///< null: left out
  std::span<const Output> results;              ///< as shape inference found them
};

/// Evaluates a node (evaluation.cpp); returns the elements of its results, or nothing if they
/// cannot be known.
std::vector<Numbers> evaluate(const Evaluation& evaluation);

}  // namespace emplace::onnx_model
