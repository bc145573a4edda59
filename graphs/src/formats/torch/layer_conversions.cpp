// Layers with weights, windows or rows. Costs are those of ModelBuilder's layers.

#include "conversions.hpp"
#include "model/assemble.hpp"
#include "model/strides.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace emplace::torch_program {
namespace {

// A window's setting for each dimension; one number stands for all.
Shape list_of(const TorchNode& node, std::string_view name, std::size_t size,
              const Shape& fallback) {
  Shape values = node.integers(name, fallback);
  if (values.size() == 1) {
    values.resize(size, values[0]);
  }
  if (values.size() != size) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected {} numbers in '{}', found {}", size, name, values.size()));
  }
  return values;
}

// How a call moves a window with so many places over maps of these extents.
Window window_of(const TorchNode& node, std::span<const std::int64_t> extents,
                 std::span<const std::int64_t> kernel, std::span<const std::int64_t> places,
                 const Shape& strides) {
  const std::size_t size = extents.size();
  Window window{.strides = list_of(node, "stride", size, strides),
                .dilations = list_of(node, "dilation", size, {1})};
  if (node.integers("padding", {}).empty()) {  // "same", "valid", or none
    window.pads = operators::pads_for(extents, kernel, window, places);
  } else {
    window.pads = list_of(node, "padding", size, {0});
    window.pads.insert(window.pads.end(), window.pads.begin(), window.pads.end());
  }
  return window;
}

// A product with weights, and the sum with a bias if there is one.
void give_product(TorchNode& node, ValueId x, ValueId weights, ValueId bias, bool transposed) {
  const Output result = node.output();
  const bool trans_b = transposed != node.is_stored_transposed(weights);
  Tensor y = node.make("matmul", GemmAttributes{.trans_b = trans_b}, {result},
                       {x, Operand::stored(weights)});
  if (bias != kNone) {
    y = node.make("add", {}, {result}, {y, bias});
  }
  node.give(node.result(), y);
}

// Adds a bias for each channel to `y`, if there is one.
Tensor add_channel_bias(TorchNode& node, Tensor y, ValueId bias) {
  return bias == kNone
             ? y
             : node.make("bias_add", AxisAttributes{.axis = 1}, {node.output()}, {y, bias});
}

// Adds the pool of kind `name` of maps [N, C, ...], or of one without N.
void give_pool(TorchNode& node, std::string_view name, ValueId x, PoolAttributes attributes) {
  Output maps = node.value(x).output;
  Output result = node.output();
  if (maps.shape.size() == attributes.kernel_shape.size() + 1) {
    maps.shape.insert(maps.shape.begin(), 1);
    result.shape.insert(result.shape.begin(), 1);
  }
  Op op = node.make_op(operators::describe(name, std::move(attributes), {maps}, result));
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// The dimensions that a pool moves over, by the operator's name: "max_pool2d".
std::size_t spatial_of(std::string_view op) {
  const std::size_t at = op.find_last_of("123");
  return at == std::string_view::npos ? 2 : static_cast<std::size_t>(op[at] - '0');
}

// The last dimensions of a shape.
Shape last(const Shape& shape, std::size_t size) {
  if (shape.size() < size + 1) {
    throw Error(ErrorCode::kFormat, fmt::format("expected maps of {} dimensions", size + 2));
  }
  return {shape.end() - static_cast<std::ptrdiff_t>(size), shape.end()};
}

}  // namespace

void expect_rank(const TorchNode& node, ValueId id, std::size_t rank, std::string_view what) {
  if (node.value(id).output.shape.size() != rank) {
    throw Error(ErrorCode::kFormat, fmt::format("expected {} of {} dimensions, found {}", what,
                                                rank, node.value(id).output.shape.size()));
  }
}

void convolution(TorchNode& node, std::string_view) {
  const ValueId x = node.expect({"input", "self"});
  const ValueId weight = node.expect({"weight"});
  const ValueId bias = node.tensor({"bias"});
  const Shape maps = node.value(x).output.shape;
  const Shape filters = node.value(weight).output.shape;  // [K, C / groups, R, S]
  const Shape result = node.output().shape;
  expect_rank(node, weight, maps.size(), "filters");
  if (maps.size() < 3 || result.size() != maps.size()) {
    throw Error(ErrorCode::kUnsupported, "expected maps [N, C, ...]");
  }
  const bool is_transposed =
      node.integer("transposed", 0) != 0 || node.call().op.starts_with("conv_transpose");
  const std::span extents = std::span(maps).subspan(2);
  const std::span kernel = std::span(filters).subspan(2);
  const std::span places = std::span(result).subspan(2);
  ConvAttributes attributes{.group = node.integer("groups", 1)};
  if (is_transposed) {
    const std::size_t size = extents.size();
    attributes.window = {.strides = list_of(node, "stride", size, {1}),
                         .dilations = list_of(node, "dilation", size, {1})};
    attributes.window.pads = operators::transpose_pads(places, kernel, attributes.window, extents);
  } else {
    attributes.window = window_of(node, extents, kernel, places, {1});
  }
  const std::string_view name = is_transposed ? "conv_transpose" : "conv";
  const Tensor y = node.make(name, std::move(attributes), {node.output()}, {x, weight});
  node.give(node.result(), add_channel_bias(node, y, bias));
}

void linear(TorchNode& node, std::string_view) {
  give_product(node, node.expect({"input"}), node.expect({"weight"}), node.tensor({"bias"}), true);
}

void addmm(TorchNode& node, std::string_view) {
  give_product(node, node.expect({"mat1"}), node.expect({"mat2"}), node.expect({"self", "input"}),
               false);
}

void matmul(TorchNode& node, std::string_view) {
  const ValueId left = node.expect({"self", "input", "tensor1"});
  const ValueId right = node.expect({"mat2", "other", "tensor2", "vec", "tensor"});
  if (node.value(right).output.shape.size() == 2) {
    return give_product(node, left, right, kNone, false);
  }
  // Heads that stand beside each other in memory are copied to be a batch of matrices.
  const auto side = [&](ValueId id) {
    const TorchValue& value = node.value(id);
    return is_batch_of_matrices(value.output.shape, value.strides) ? Operand(id)
                                                                   : Operand(add_copy(node, id));
  };
  const Operand first = side(left);
  node.give(node.result(), node.make("matmul", {}, {node.output()}, {first, side(right)}));
}

// self + batch1 batch2.
void baddbmm(TorchNode& node, std::string_view) {
  const ValueId addend = node.expect({"self", "input"});
  const Tensor y =
      node.make("matmul", {}, {node.output()}, {node.expect({"batch1"}), node.expect({"batch2"})});
  if (node.is_constant(addend) && elements(node.value(addend).output) <= 1) {
    return node.give(node.result(), y);  // memory that is not read
  }
  node.give(node.result(), node.make("add", {}, {node.output()}, {y, addend}));
}

namespace {

struct AttentionInputs {
  ValueId query, key, value, mask;
};

AttentionInputs attention_inputs(const TorchNode& node) {
  const AttentionInputs inputs{node.expect({"query"}), node.expect({"key"}), node.expect({"value"}),
                               node.tensor({"attn_mask", "attn_bias"})};
  const std::size_t rank = node.value(inputs.query).output.shape.size();
  if (rank < 3 || node.value(inputs.key).output.shape.size() != rank ||
      node.value(inputs.value).output.shape.size() != rank) {
    throw Error(ErrorCode::kUnsupported,
                "expected queries, keys and values [..., positions, width]");
  }
  return inputs;
}

// [..., heads, positions, width] as [batch, heads, positions, width].
Output heads_of(const Output& value) {
  const Shape& shape = value.shape;
  const std::size_t rank = shape.size();
  const std::span all(shape);
  return make_output({product(all.first(rank - 3)), shape[rank - 3], shape[rank - 2], shape.back()},
                     value.type);
}

}  // namespace

// One kernel that keeps no scores, as PyTorch runs it wherever it can. It also drops scores, at
// next to no cost.
void attention(TorchNode& node, std::string_view kind) {
  const AttentionInputs in = attention_inputs(node);
  Op op = node.make_op(operators::describe(
      kind, AttentionAttributes{.is_causal = node.integer("is_causal", 0) != 0},
      {heads_of(node.value(in.query).output), heads_of(node.value(in.key).output),
       heads_of(node.value(in.value).output)},
      heads_of(node.output())));
  std::vector<Tensor> inputs;
  for (const ValueId id : {in.query, in.key, in.value, in.mask}) {
    if (id != kNone) {
      inputs.push_back(node.read(op, id));
    }
  }
  op.outputs = {node.output()};
  node.give(node.result(), node.emit(std::move(op), inputs));
}

// softmax(Q K^T / sqrt(d) + mask) V, by the ops that frameworks run without fused kernels.
void unfused_attention(TorchNode& node, std::string_view) {
  const AttentionInputs in = attention_inputs(node);
  const Output q = node.value(in.query).output;
  Shape shape = q.shape;
  shape.back() = node.value(in.key).output.shape[shape.size() - 2];
  const Output scores = make_output(shape, q.type);
  Tensor y =
      node.make("batch_matmul", GemmAttributes{.trans_b = true}, {scores}, {in.query, in.key});
  y = node.make("scale", {}, {scores}, {y});
  if (node.integer("is_causal", 0) != 0) {
    y = node.make("causal_mask", {}, {scores}, {y});
  }
  if (in.mask != kNone) {
    y = node.make("add", {}, {scores}, {y, in.mask});
  }
  y = node.make("softmax", {}, {scores}, {y});
  if (const Argument* p = node.find({"dropout_p"}); p != nullptr && p->number.value_or(0) > 0) {
    y = node.make("dropout", {}, {scores, make_output(shape, DataType::kBool)}, {y});
  }
  node.give(node.result(), node.make("batch_matmul", {}, {node.output()}, {y, in.value}));
}

// Scale and offset are one variable. The moving statistics belong to the op in training; else they
// are all that it normalizes by.
void batch_norm(TorchNode& node, std::string_view kind) {
  const ValueId x = node.expect({"input"});
  const Output value = node.value(x).output;
  if (value.shape.size() < 2) {
    throw Error(ErrorCode::kUnsupported, "expected a tensor [N, C, ...]");
  }
  const bool is_training =
      node.is_training() || (kind == "batch_norm" && node.integer("training", 1) != 0);
  const std::int64_t channels = value.shape[1];
  Op op;
  for (const std::string_view statistics : {"running_mean", "running_var"}) {
    const ValueId id = node.tensor({statistics});
    op.persistent_bytes = sum({op.persistent_bytes, id == kNone ? 0 : node.value(id).output.bytes});
  }
  op.outputs = {node.output()};
  if (is_training) {
    op.outputs.push_back(make_output({2, channels}, DataType::kFloat32));
  }
  operators::define(op, is_training ? "batch_norm" : "batch_norm_inference", {}, std::array{value});
  op = node.make_op(std::move(op));
  const Tensor maps = node.read(op, x);
  const Tensor scale_offset =
      node.read_joined(op, {node.tensor({"weight"}), node.tensor({"bias"})}, {2, channels});
  node.give(node.result(), node.emit(std::move(op), std::array{maps, scale_offset}));
}

namespace {

// Normalizes `x`; scale and offset are one variable, and the second result is the statistics.
void give_norm(TorchNode& node, std::string_view kind, Attributes attributes) {
  const ValueId x = node.expect({"input"});
  const ValueId weight = node.tensor({"weight"});
  const Output value = node.value(x).output;
  Op op;
  operators::define(op, kind, std::move(attributes), std::array{value});
  op.outputs[0] = node.output();
  op = node.make_op(std::move(op));
  const std::int64_t width = weight == kNone ? std::max<std::int64_t>(op.shape.back(), 1)
                                             : elements(node.value(weight).output);
  const Tensor tensor = node.read(op, x);
  Shape joined{2, width};
  if (kind == "rms_norm") {
    joined = {width};
  }
  const Tensor scale_offset = node.read_joined(op, {weight, node.tensor({"bias"})}, joined);
  node.give(node.result(), node.emit(std::move(op), std::array{tensor, scale_offset}));
}

}  // namespace

void layer_norm(TorchNode& node, std::string_view kind) {
  give_norm(node, kind,
            AxisAttributes{.axis = -std::ssize(node.integers("normalized_shape", {1}))});
}

// In instance norm each channel is a group.
void group_norm(TorchNode& node, std::string_view kind) {
  const Shape& x = node.value(node.expect({"input"})).output.shape;
  const Argument* groups = node.find({"num_groups", "group"});
  const std::int64_t channels = x.size() > 1 ? x[1] : 1;
  const bool has_groups = groups != nullptr && !groups->integers.empty();
  give_norm(node, kind,
            GroupNormAttributes{.num_groups = has_groups ? groups->integers[0] : channels});
}

void pool(TorchNode& node, std::string_view kind) {
  const ValueId x = node.expect({"self", "input"});
  const std::size_t size = spatial_of(node.call().op);
  PoolAttributes attributes{.kernel_shape = list_of(node, "kernel_size", size, {1}),
                            .ceil_mode = node.integer("ceil_mode", 0) != 0};
  const Shape extents = last(node.value(x).output.shape, size);
  const Shape places = last(node.output().shape, size);
  attributes.window =
      window_of(node, extents, attributes.kernel_shape, places, attributes.kernel_shape);
  give_pool(node, kind, x, std::move(attributes));
}

void adaptive_pool(TorchNode& node, std::string_view kind) {
  const ValueId x = node.expect({"self", "input"});
  const Shape& maps = node.value(x).output.shape;
  if (maps == node.output().shape) {
    return node.view(x);
  }
  const std::size_t size = spatial_of(node.call().op);
  give_pool(node, kind, x,
            operators::adaptive_pool(last(maps, size), last(node.output().shape, size)));
}

void reduce(TorchNode& node, std::string_view kind) {
  node.add(kind,
           ReduceAttributes{.axes = node.integers("dim", {}),
                            .keepdims = node.integer("keepdim", 0) != 0},
           {self_of(node)});
}

void along_axis(TorchNode& node, std::string_view kind) {
  node.add(kind, AxisAttributes{.axis = node.integer("dim", -1)}, {self_of(node)});
}

// With a negative log-likelihood after it, it is one loss.
void log_softmax(TorchNode& node, std::string_view kind) {
  const bool is_loss = node.is_read_only_by("nll_loss_forward") ||
                       node.is_read_only_by("nll_loss2d_forward") ||
                       node.is_read_only_by("nll_loss_nd");
  if (is_loss) {
    node.view(self_of(node));
  } else {
    along_axis(node, kind);
  }
}

void embedding(TorchNode& node, std::string_view kind) {
  node.add(kind, {}, {node.expect({"weight"}), node.expect({"indices", "input"})});
}

// A sum, mean or maximum of some rows of a table for each bag, perhaps with a factor for each row.
void embedding_bag(TorchNode& node, std::string_view kind) {
  std::vector<Operand> inputs{node.expect({"weight"}), node.expect({"indices", "input"})};
  if (const ValueId factors = node.tensor({"per_sample_weights"}); factors != kNone) {
    inputs.emplace_back(factors);
  }
  const BagAttributes attributes{
      .mode = std::array{"sum", "mean", "max"}.at(
          static_cast<std::size_t>(std::clamp<std::int64_t>(node.integer("mode", 0), 0, 2)))};
  node.give(node.result(), node.make(kind, attributes, {node.output()}, inputs));
}

// Weights v of the length g: v g / |v|, with a length for each row, or one for all.
void weight_norm(TorchNode& node, std::string_view) {
  const ValueId v = node.expect({"v"});
  const ValueId g = node.expect({"g"});
  const Output weights = node.value(v).output;
  const Output lengths = node.value(g).output;
  const Tensor length = node.make("reduce_l2", {}, {lengths}, {v});
  const Tensor factor = node.make("div", {}, {lengths}, {g, length});
  node.give(node.call().results[0], node.make("multiply", {}, {weights}, {v, factor}));
  if (node.call().results.size() > 1 && node.call().results[1] != kNone) {
    node.give(node.call().results[1], length);
  }
}

void einsum(TorchNode& node, std::string_view kind) {
  const Argument* equation = node.find({"equation"});
  if (equation == nullptr || equation->text.empty()) {
    throw Error(ErrorCode::kUnsupported, "expected an equation as a text");
  }
  node.add(kind, EinsumAttributes{.equation = equation->text}, node.tensors());
}

// x1 [.., A], weights [K, A, B] and x2 [.., B] make [.., K].
void bilinear(TorchNode& node, std::string_view) {
  const ValueId bias = node.tensor({"bias"});
  Tensor y =
      node.make("einsum", EinsumAttributes{.equation = "...a,kab,...b->...k"}, {node.output()},
                {node.expect({"input1"}), node.expect({"weight"}), node.expect({"input2"})});
  if (bias != kNone) {
    y = node.make("add", {}, {node.output()}, {y, bias});
  }
  node.give(node.result(), y);
}

// The same, with new dimensions in each factor, and some of all that are added up.
void trilinear(TorchNode& node, std::string_view) {
  const std::vector<ValueId> factors{node.expect({"i1"}), node.expect({"i2"}), node.expect({"i3"})};
  constexpr std::size_t kMaxRank = 26;  // letters
  std::string equation;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Shape& shape = node.value(factors[i]).output.shape;
    const Shape expanded = node.integers(std::array{"expand1", "expand2", "expand3"}[i], {});
    rank = shape.size() + expanded.size();
    if (rank > kMaxRank) {
      throw Error(ErrorCode::kUnsupported, fmt::format("{} dimensions", rank));
    }
    equation += i == 0 ? "" : ",";
    for (std::size_t d = 0; d < rank; ++d) {
      if (std::ranges::find(expanded, static_cast<std::int64_t>(d)) == expanded.end()) {
        equation += static_cast<char>('a' + d);
      }
    }
  }
  const Shape summed = node.integers("sumdim", {});
  equation += "->";
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::ranges::find(summed, static_cast<std::int64_t>(d)) == summed.end()) {
      equation += static_cast<char>('a' + d);
    }
  }
  node.give(node.result(), node.make("einsum", EinsumAttributes{.equation = std::move(equation)},
                                     {node.output()}, {factors[0], factors[1], factors[2]}));
}

}  // namespace emplace::torch_program
