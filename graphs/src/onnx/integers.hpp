#pragma once

// Arithmetic on the small integers by which exported models compute shapes: Shape, Gather, Concat,
// Mul and so on. What is known before the step is no op of the graph.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::onnx_model {

/// Holds the elements of a scalar or a vector of integers or truth values.
struct Integers {
  bool is_scalar = false;  ///< a tensor without dimensions, of one element
  std::vector<std::int64_t> values{};
};

/// Returns the elements of `tensor`; nothing if they are no integers, stand in another file, have
/// two dimensions or more, are too many to be a shape, or are not as many as its dimensions say.
std::optional<Integers> read_integers(const onnx::TensorProto& tensor);

/// Returns a tensor of 64-bit integers.
onnx::TensorProto to_tensor(const Integers& integers);

/// Returns the attribute `name` of `node`, or null.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

/// Returns an attribute's integer, or `fallback` if the node has none.
std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name,
                               std::int64_t fallback);

/// Returns an attribute's integers, or none.
std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name);

/// Evaluates `node`, other than Shape and Size, whose inputs have these values (null: unknown or
/// left out); returns its first output, or nothing if it cannot be known.
std::optional<Integers> evaluate(const onnx::NodeProto& node,
                                 std::span<const Integers* const> inputs);

}  // namespace emplace::onnx_model
