#pragma once

// Reads the attributes of nodes: what an operator is told beside its inputs.

#include "graphs/src/protobuf/onnx.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// The messages of a model's file (src/protobuf/onnx.proto).
namespace onnx = ::emplace::onnx_proto;

/// Extents of a tensor, outermost first, or any other list of integers.
using Shape = std::vector<std::int64_t>;

/// The largest size of a dimension, and the largest integer of an attribute that says how far,
/// how wide or how many: sums of some of them fit 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

/// Returns the attribute `name` of `node`, or null.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

/// Returns an attribute's integer, or `fallback` if the node has none; throws kFormat if it lies
/// beyond kMaxExtent.
std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name,
                               std::int64_t fallback);

/// Returns an attribute's integers, or none; throws kFormat if one lies beyond kMaxExtent.
Shape integers_attribute(const onnx::NodeProto& node, std::string_view name);

/// Returns the integers of an attribute that tells places in a tensor, if the node has it. What
/// lies beyond kMaxExtent means the begin or the end of any tensor, and is clamped.
std::optional<Shape> places_attribute(const onnx::NodeProto& node, std::string_view name);

/// Returns an attribute's text, or an empty one.
std::string_view text_attribute(const onnx::NodeProto& node, std::string_view name);

/// Says that a node has no input at `index`: it is left out, or there are too few.
std::string describe_missing_input(const onnx::NodeProto& node, std::size_t index);

/// Says whether a name is that of the standard operators' domain.
bool is_standard_domain(std::string_view domain);

}  // namespace emplace::onnx_model
