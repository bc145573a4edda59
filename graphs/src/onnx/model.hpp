#pragma once

// An ONNX model whose tensors all have known shapes. Symbolic dimensions get the user's sizes, then
// libonnx infers the shape of one node's results after another's, while the integers by which the
// model computes shapes are evaluated on the way (integers.hpp).

#include "integers.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Sizes of symbolic dimensions by name.
using Dimensions = std::map<std::string, std::int64_t, std::less<>>;

/// Says where a tensor comes from.
enum class Origin : std::uint8_t {
  kInput,     ///< data that enters the step
  kWeight,    ///< an initializer of floating-point numbers with at least one dimension
  kConstant,  ///< known before the step: other initializers, constants and what depends on nothing
              ///< else
  kComputed,  ///< the result of a node
};

/// Describes one tensor of a model.
struct Value {
  Output output{};  ///< shape, type and bytes
  Origin origin = Origin::kComputed;
  std::optional<Integers> integers{};  ///< its elements, if it is a known small one of integers
};

/// Holds a model and what is known of its tensors.
struct Model {
  onnx::ModelProto proto{};
  std::int64_t opset = 0;  ///< version of the standard operators
  std::map<std::string, Value, std::less<>> values{};
};

/// Reads the model in `bytes`; `source` begins each error. Throws kFormat where it is broken or a
/// shape cannot be known, kUsage where `dimensions` lacks a symbolic dimension or has one too many,
/// kUnsupported for what is newer than libonnx, control flow, functions of the model's own and
/// tensors that are sparse, of texts or complex.
Model load_model(std::string_view bytes, const std::string& source, const Dimensions& dimensions);

}  // namespace emplace::onnx_model
