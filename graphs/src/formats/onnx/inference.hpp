#pragma once

// Shape inference: what a node's results are, given what its inputs are and, where shapes are
// computed, what numbers they hold. There is one rule for each operator, or for several that are
// alike; the table of operators.cpp names it. A rule sees its node through an Inference and throws
// Error without naming file or node, which the caller puts before it.

#include "attributes.hpp"
#include "model/element_type.hpp"
#include "numbers.hpp"

#include <emplace/graphs/attributes.hpp>
#include <emplace/graphs/op.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::onnx_model {

/// Says where a tensor comes from.
enum class Origin : std::uint8_t {
  kInput,     ///< data that enters the step
  kWeight,    ///< floating-point numbers of the model that are trained
  kConstant,  ///< known before the step
  kComputed,  ///< the result of a node
};

/// The most numbers of a constant that is a setting of its reader.
inline constexpr std::int64_t kMaxSetting = 16;

/// Describes one tensor of a model.
struct KnownValue {
  Output output{};  ///< shape, type and bytes
  Origin origin = Origin::kComputed;
  std::optional<Numbers> numbers{};  ///< its elements, if they are known and few
};

/// Returns how an element type of ONNX is stored, or nothing for what is no number. Only sizes
/// matter: unsigned integers count as signed ones of their width, 8-bit and smaller floats as
/// 8-bit integers.
std::optional<DataType> data_type(std::int64_t type);

/// Shows a node: its attributes, and what is known of its inputs.
class NodeView {
 public:
  /// Describes `node` of a model whose standard operators have version `opset`; null in `inputs` is
  /// an input that is left out.
  NodeView(const onnx::NodeProto& node, std::int64_t opset, std::vector<const KnownValue*> inputs)
      : node_(node), opset_(opset), inputs_(std::move(inputs)) {}

  const onnx::NodeProto& node() const { return node_; }
  std::int64_t opset() const { return opset_; }

  /// Returns the number of inputs, left out ones included, and of results.
  std::size_t num_inputs() const { return inputs_.size(); }
  std::size_t num_outputs() const { return static_cast<std::size_t>(node_.output_size()); }

  /// Says whether there is an input at `index`.
  bool has_input(std::size_t index) const {
    return index < inputs_.size() && inputs_[index] != nullptr;
  }

  /// Returns what an input is; throws kFormat if there is none.
  const KnownValue& value(std::size_t index) const;
  const Output& input(std::size_t index) const { return value(index).output; }
  const Shape& shape(std::size_t index) const { return input(index).shape; }
  DataType type(std::size_t index) const { return input(index).type; }

  /// Returns an input's shape; throws kFormat unless it has at least `rank` dimensions.
  const Shape& shape_of_rank(std::size_t index, std::size_t rank) const;

  /// Returns all inputs as our library of operators sees them. Before opset 7 the attribute `axis`
  /// may say at which dimension of the first the second begins, and a slope of PRelu has a number
  /// for each channel.
  std::vector<Output> inputs() const;

  /// Returns the integers that an input holds; throws kUnsupported if they are not known before
  /// the step, kFormat if they are no integers.
  Shape integers(std::size_t index) const;

  /// Returns the integers of an input, of the attribute `name` where there is no such input, or
  /// nothing where there is neither.
  std::optional<Shape> integers_or_attribute(std::size_t index, std::string_view name) const;

  /// Returns the numbers that an input holds, or null if they are not known or there is none.
  const Numbers* numbers(std::size_t index) const;

  /// Says whether each element of an input takes a byte or more; a type of 4 bits does not.
  bool is_bytes(std::size_t index) const;

  /// Returns an attribute's integer, or `fallback`.
  std::int64_t integer(std::string_view name, std::int64_t fallback) const {
    return integer_attribute(node_, name, fallback);
  }

  /// Says whether an attribute is there and not 0.
  bool flag(std::string_view name) const { return integer(name, 0) != 0; }

  /// Returns the attribute `axis` as a place.
  std::size_t axis(std::int64_t fallback, std::size_t rank) const;

 private:
  const onnx::NodeProto& node_;
  std::int64_t opset_;
  std::vector<const KnownValue*> inputs_;
};

/// Shows a node to its shape rule and takes the results.
class Inference : public NodeView {
 public:
  using NodeView::NodeView;

  /// Says what the next result is; throws kFormat if an extent is negative or beyond kMaxExtent.
  void give(Shape shape, DataType type);

  /// Returns what was given.
  const std::vector<Output>& results() const { return results_; }

 private:
  std::vector<Output> results_;
};

/// Says what a node's results are.
using ShapeRule = void (*)(Inference&);

/// Throws kFormat with this message.
[[noreturn]] void fail_shape(const std::string& message);

/// Returns the shape that two are broadcast to; throws kFormat if they do not fit.
Shape broadcast_shape(const Shape& left, const Shape& right);

namespace shapes {

/// Gives the results that our library says an operator has.
void by_library(Inference& node, std::string_view name, const Attributes& attributes);

// --- Elementwise, reductions and what has shapes of its own (shape_rules.cpp) ---

void same(Inference& node);  ///< one result like the first input
void prelu(Inference& node);
void cast(Inference& node);
void reduce(Inference& node);
void constant(Inference& node);
void constant_of_shape(Inference& node);
void random(Inference& node);
void random_like(Inference& node);
void multinomial(Inference& node);
void range(Inference& node);
void shape(Inference& node);
void size(Inference& node);
void quantize(Inference& node);
void dequantize(Inference& node);
void dynamic_quantize(Inference& node);
void quantized_binary(Inference& node);
void data_dependent(Inference& node);  ///< throws kUnsupported: only the data tells
void non_zero(Inference& node);

// --- Layers (shape_rules_layers.cpp) ---

void batch_norm(Inference& node);
void conv_integer(Inference& node);
void cross_entropy(Inference& node);
void global_pool(Inference& node);
void grid_sample(Inference& node);
void layer_norm(Inference& node);
void matmul_integer(Inference& node);
void max_pool(Inference& node);
void quantized_conv(Inference& node);
void quantized_matmul(Inference& node);
void recurrent(Inference& node);
void roi_align(Inference& node);

// --- Attention, and what stands around it (shape_rules_attention.cpp) ---

void attention(Inference& node);
void embed_layer_norm(Inference& node);
void fused_group_norm(Inference& node);
void group_query_attention(Inference& node);
void masked_attention(Inference& node);
void multi_head_attention(Inference& node);
void packed_gather(Inference& node);
void packed_matmul(Inference& node);
void position_bias(Inference& node);
void quantized_gemm(Inference& node);
void skip_norm(Inference& node);
void split_gelu(Inference& node);
void standard_attention(Inference& node);

// --- What joins, cuts and reorders (shape_rules_movement.cpp) ---

void depth_to_space(Inference& node);
void expand(Inference& node);
void flatten(Inference& node);
void gather(Inference& node);
void gather_elements(Inference& node);
void gather_nd(Inference& node);
void one_hot(Inference& node);
void pad(Inference& node);
void reshape(Inference& node);
void resize(Inference& node);
void slice(Inference& node);
void space_to_depth(Inference& node);
void split(Inference& node);
void squeeze(Inference& node);
void tile(Inference& node);
void top_k(Inference& node);
void unsqueeze(Inference& node);

}  // namespace shapes

}  // namespace emplace::onnx_model
