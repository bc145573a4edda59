#pragma once

// An ONNX model whose tensors all have known shapes. Symbolic dimensions get the user's sizes, then
// the shape of one node's results is inferred after another's (inference.hpp), while the numbers by
// which the model computes shapes are evaluated on the way (numbers.hpp). Calls of the model's own
// functions, control flow that is known, and sequences are replaced by what they stand for
// (expansion.hpp).

#include "inference.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Sizes of symbolic dimensions by name.
using Dimensions = std::map<std::string, std::int64_t, std::less<>>;

/// Holds a model and what is known of its tensors.
struct Model {
  onnx::ModelProto proto{};
  std::int64_t opset = 0;  ///< version of the standard operators, if it has any
  std::vector<const onnx::NodeProto*> nodes{};  ///< each after those whose results it reads
  std::deque<onnx::NodeProto> made{};           ///< nodes that the file does not have as they are
  std::map<std::string, KnownValue, std::less<>> values{};
  /// Weights that are others in another order: those, by name.
  std::map<std::string, std::vector<std::string>, std::less<>> stored{};
};

/// Reads the model in `bytes`; `source` begins each error. Throws kFormat where it is broken or
/// shapes do not fit each other, kUsage where `dimensions` lacks a symbolic dimension or has one
/// too many, kUnsupported for control flow, for shapes that depend on data, and for tensors that
/// are sparse, of texts or complex.
Model load_model(std::string_view bytes, const std::string& source, const Dimensions& dimensions);

/// Says which operators a model uses: "opset 17", or "ai.onnx.ml 1" if none are standard.
std::string describe_opsets(const onnx::ModelProto& model);

/// Says for errors which node it is: "node 'encoder/conv' (Conv)".
std::string describe(const onnx::NodeProto& node);

}  // namespace emplace::onnx_model
