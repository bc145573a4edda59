#include "tensorflow_work.hpp"

#include "../assemble.hpp"
#include "tensorflow_shapes.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace emplace::tensorflow {
namespace {

std::string in_small_letters(std::string_view op) {
  std::string kind(op);
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return kind;
}

struct Row;

// One op whose shapes are known as far as its row needs them.
struct Work {
  Op& op;
  const proto::NodeDef& node;
  std::span<const Output* const> inputs;
  const Row& row;
  bool reads_stored = false;

  const Shape& shape(std::size_t i) const { return inputs[i]->shape; }
  const Shape& result() const { return op.outputs[0].shape; }
};

struct Row {
  std::string_view op;
  std::string_view kind;  // of ours; empty: the operator's own name
  void (*count)(Work&) = nullptr;
  std::int64_t flops = 0;    // for each number of what `count` says
  std::size_t num_read = 0;  // how many inputs must be known
  bool is_heavy = false;
};

void per_result(Work& work) {
  const std::int64_t elements = product(work.result());
  work.op.flops = product({work.row.flops, elements});
  if (op_class_of(work.op.kind) == OpClass::kElementwise) {
    work.op.shape = {elements};
  } else {
    work.op.shape = work.result();
  }
}

void per_input(Work& work) {
  work.op.shape = work.result();
  work.op.flops = product({work.row.flops, product(work.shape(0))});
}

// The number of elements of each channel.
std::int64_t per_channel(const Shape& maps, const MapLayout& layout) {
  return product(std::span(maps).subspan(layout.first, layout.spatial));
}

// Strides and dilation of a node's windows, from [.., U, V, ..].
std::array<std::int64_t, 2> pair_of(const proto::NodeDef& node, const std::string& name,
                                    const MapLayout& layout) {
  const Shape list = integers_attribute(node, name);
  return list.size() == 4 ? std::array{list[layout.first], list[layout.first + 1]}
                          : std::array<std::int64_t, 2>{1, 1};
}

// Counts a convolution of `maps` with `filters`, [R, S, C / groups, K], that makes `result`.
void count_filters(Work& work, std::string_view suffix, const Shape& maps, const Shape& filters,
                   const Shape& result) {
  Op& op = work.op;
  const MapLayout layout = layout_of(work.node, maps.size());
  if (filters.size() != maps.size() || result.size() != maps.size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected filters and results of {} dimensions", maps.size()));
  }
  op.flops = product({2, product(result), product(std::span(filters).first(filters.size() - 1))});
  op.shape = result;
  const std::int64_t channels = maps[layout.channels];
  const auto [down, across] = pair_of(work.node, "dilations", layout);
  if (maps.size() != 4 || down != across) {
    op.kind = fmt::format("conv{}", suffix);
  } else if (filters[2] != channels) {
    op.kind = fmt::format("grouped_conv{}", suffix);
  } else {
    const auto [u, v] = pair_of(work.node, "strides", layout);
    op.kind = fmt::format("conv2d{}", suffix);
    op.shape = {maps[0],    channels,   maps[layout.first],   maps[layout.first + 1],
                filters[3], filters[0], filters[1],           u,
                v,          down,       result[layout.first], result[layout.first + 1]};
  }
}

void conv(Work& work) { count_filters(work, "", work.shape(0), work.shape(1), work.result()); }

// Inputs are the sizes of the maps, the filters and the gradient of the result.
void conv_backward_data(Work& work) {
  count_filters(work, "_backward_data", work.result(), work.shape(1), work.shape(2));
}

// Inputs are the maps, the sizes of the filters and the gradient of the result.
void conv_backward_filter(Work& work) {
  count_filters(work, "_backward_filter", work.shape(0), work.result(), work.shape(2));
}

// Filters are [R, S, C, multiplier].
void count_depthwise(Work& work, std::string_view suffix, const Shape& maps, const Shape& filters,
                     const Shape& result) {
  Op& op = work.op;
  const MapLayout layout = layout_of(work.node, maps.size());
  if (maps.size() != 4 || filters.size() != 4 || result.size() != 4) {
    throw Error(ErrorCode::kFormat, "expected maps, filters and results of 4 dimensions");
  }
  op.flops = product({2, product(result), filters[0], filters[1]});
  op.shape = result;
  const auto [down, across] = pair_of(work.node, "dilations", layout);
  if (filters[3] != 1 || down != 1 || across != 1) {
    op.kind = fmt::format("grouped_conv{}", suffix);
    return;
  }
  const auto [u, v] = pair_of(work.node, "strides", layout);
  op.kind = fmt::format("depthwise_conv2d{}", suffix);
  op.shape = {
      maps[0], filters[2], maps[layout.first],   maps[layout.first + 1],  filters[0], filters[1],
      u,       v,          result[layout.first], result[layout.first + 1]};
}

void depthwise(Work& work) {
  count_depthwise(work, "", work.shape(0), work.shape(1), work.result());
}

void depthwise_backward_data(Work& work) {
  count_depthwise(work, "_backward_data", work.result(), work.shape(1), work.shape(2));
}

void depthwise_backward_filter(Work& work) {
  count_depthwise(work, "_backward_filter", work.shape(0), work.result(), work.shape(2));
}

void matmul(Work& work) {
  const Shape& a = work.shape(0);
  const Shape& result = work.result();
  if (a.size() < 2 || result.size() < 2) {
    throw Error(ErrorCode::kFormat, "expected matrices");
  }
  const bool is_transposed =
      flag_attribute(work.node, "transpose_a", false) || flag_attribute(work.node, "adj_x", false);
  const std::int64_t k = a[a.size() - (is_transposed ? 2 : 1)];
  const std::int64_t m = result[result.size() - 2];
  const std::int64_t n = result.back();
  const std::int64_t batch = product(std::span(result).first(result.size() - 2));
  work.op.kind = result.size() == 2 ? "matmul" : "batch_matmul";
  work.op.shape = result.size() == 2 ? Shape{m, n, k} : Shape{batch, m, n, k};
  work.op.flops = product({2, batch, m, n, k});
}

// Letters of both sides and the result are a batch, those of both sides only are summed over.
void einsum(Work& work) {
  const std::string equation = text_attribute(work.node, "equation", "");
  const std::size_t arrow = equation.find("->");
  const std::size_t comma = equation.find(',');
  if (arrow == std::string::npos || equation.find('.') != std::string::npos ||
      work.inputs.size() > 2 || (comma == std::string::npos) != (work.inputs.size() == 1)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the equation '{}' is not supported; expected one or two inputs, a "
                            "result and no dots",
                            excerpt(equation)));
  }
  work.op.shape = work.result();
  if (work.inputs.size() == 1) {
    work.op.kind = "einsum";
    work.op.flops = product(work.shape(0));
    return;
  }
  const std::string left = equation.substr(0, comma);
  const std::string right = equation.substr(comma + 1, arrow - comma - 1);
  const std::string result = equation.substr(arrow + 2);
  if (left.size() != work.shape(0).size() || right.size() != work.shape(1).size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the equation '{}' does not fit its inputs", excerpt(equation)));
  }
  std::int64_t batch = 1;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::set<char> seen;
  const auto add = [&](const std::string& side, const Shape& shape, const std::string& other,
                       std::int64_t& own) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      if (seen.insert(side[i]).second) {
        const bool is_shared = other.find(side[i]) != std::string::npos;
        const bool is_kept = result.find(side[i]) != std::string::npos;
        std::int64_t& extent = is_shared ? (is_kept ? batch : k) : own;
        extent = product({extent, shape[i]});
      }
    }
  };
  add(left, work.shape(0), right, m);
  add(right, work.shape(1), left, n);
  work.op.kind = batch == 1 ? "matmul" : "batch_matmul";
  work.op.shape = batch == 1 ? Shape{m, n, k} : Shape{batch, m, n, k};
  work.op.flops = product({2, batch, m, n, k});
}

// Gates of [x, h] times w, [I + H, 4 H], as for our lstm_cell; inputs are x, c, h, w, ...
void lstm_block_cell(Work& work) {
  if (work.shape(0).size() != 2 || work.shape(2).size() != 2) {
    throw Error(ErrorCode::kFormat, "expected x and h to be matrices");
  }
  const std::int64_t n = work.shape(0)[0];
  const std::int64_t i = work.shape(0)[1];
  const std::int64_t h = work.shape(2)[1];
  work.op.shape = {n, i, h};
  work.op.flops = sum({product({2, n, sum({i, h}), 4, h}), product({13, n, h})});
}

void refuse(Work&) {
  throw Error(ErrorCode::kUnsupported, "emplace does not know the work of this operator");
}

// The input is read twice: for the statistics, and to be normalized.
void batch_norm(Work& work) {
  const Shape& maps = work.shape(0);
  const MapLayout layout = layout_of(work.node, maps.size());
  work.op.shape = {maps[0], maps[layout.channels], per_channel(maps, layout)};
  work.op.flops = product({5, product(maps)});
  work.op.bytes_read = sum({work.op.bytes_read, work.inputs[0]->bytes});
}

// Inputs are the gradient, the maps and the scale.
void batch_norm_backward(Work& work) {
  const Shape& maps = work.shape(1);
  const MapLayout layout = layout_of(work.node, maps.size());
  work.op.shape = {maps[0], maps[layout.channels], per_channel(maps, layout)};
  work.op.flops = product({9, product(maps)});
  work.op.bytes_read = sum({work.op.bytes_read, work.inputs[0]->bytes, work.inputs[1]->bytes});
}

Shape bias_shape(const Work& work, const Shape& value) {
  if (value.size() < 2) {
    return value;
  }
  if (text_attribute(work.node, "data_format", "NHWC").starts_with("NC")) {
    return {value[0], value[1], product(std::span(value).subspan(2))};
  }
  return {product(std::span(value).first(value.size() - 1)), value.back()};
}

void bias_add(Work& work) {
  work.op.shape = bias_shape(work, work.result());
  work.op.flops = product(work.result());
}

void bias_add_backward(Work& work) {
  work.op.shape = bias_shape(work, work.shape(0));
  work.op.flops = std::max<std::int64_t>(product(work.shape(0)) - product(work.result()), 0);
}

// A sum with a vector for each row is our bias_add.
void add(Work& work) {
  const Shape& result = work.result();
  work.op.flops = product(result);
  work.op.shape = {work.op.flops};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const bool is_vector = work.shape(i).size() == 1 && result.size() > 1;
    if (is_vector && work.shape(i)[0] == result.back() && work.shape(1 - i) == result) {
      work.op.kind = "bias_add";
      work.op.shape = {product(std::span(result).first(result.size() - 1)), result.back()};
    }
  }
}

// A product with one number is our scale.
void multiply(Work& work) {
  const bool scales = product(work.shape(0)) == 1 || product(work.shape(1)) == 1;
  work.op.kind = scales ? "scale" : "multiply";
  work.op.flops = product(work.result());
  work.op.shape = {work.op.flops};
}

void add_n(Work& work) {
  const std::int64_t elements = product(work.result());
  const auto terms = std::ssize(work.inputs);
  work.op.shape = {terms, elements};
  work.op.flops = product({terms - 1, elements});
}

// Windows over `maps`; `extra` operations more than numbers in the window for each of `counted`.
void count_windows(Work& work, const Shape& maps, const Shape& result, std::int64_t counted,
                   std::int64_t extra) {
  const MapLayout layout = layout_of(work.node, maps.size());
  const Shape window = integers_attribute(work.node, "ksize");
  work.op.flops = product({counted, sum({product(window), extra})});
  work.op.shape = result;
  const auto [u, v] = pair_of(work.node, "strides", layout);
  if (maps.size() == 4 && window.size() == 4 && result.size() == 4 && u == v) {
    work.op.shape = {maps[0],
                     maps[layout.channels],
                     maps[layout.first],
                     maps[layout.first + 1],
                     window[layout.first],
                     window[layout.first + 1],
                     u,
                     result[layout.first],
                     result[layout.first + 1]};
  } else {
    work.op.kind = in_small_letters(work.node.op());
  }
}

void max_pool(Work& work) {
  count_windows(work, work.shape(0), work.result(), product(work.result()), -1);
}

void avg_pool(Work& work) {
  count_windows(work, work.shape(0), work.result(), product(work.result()), 0);
}

// Inputs are the maps, the results and their gradient.
void max_pool_backward(Work& work) {
  count_windows(work, work.shape(0), work.shape(2), product(work.shape(2)), 1);
}

// Inputs are the sizes of the maps and the gradient.
void avg_pool_backward(Work& work) {
  count_windows(work, work.result(), work.shape(1), product(work.shape(1)), 1);
}

// A mean over the two middle or last dimensions of maps is a pool of one window.
void mean(Work& work) {
  const Shape& maps = work.shape(0);
  work.op.flops = product(maps);
  work.op.shape = work.result();
  if (maps.size() != 4) {
    return;
  }
  Shape kept;
  std::ranges::copy_if(work.result(), std::back_inserter(kept), [](auto e) { return e != 1; });
  const auto is_kept = [&](std::int64_t n, std::int64_t c) {
    Shape expected{n, c};
    std::erase(expected, 1);
    return kept == expected;
  };
  for (const MapLayout layout : {MapLayout{3, 1, 2}, MapLayout{1, 2, 2}}) {
    if (is_kept(maps[0], maps[layout.channels])) {
      const std::int64_t h = maps[layout.first];
      const std::int64_t w = maps[layout.first + 1];
      work.op.kind = "avg_pool";
      work.op.shape = {maps[0], maps[layout.channels], h, w, h, w, 1, 1, 1};
      return;
    }
  }
}

void softmax(Work& work) {
  const Shape& x = work.shape(0);
  const std::int64_t columns = x.empty() ? 1 : x.back();
  work.op.shape = {columns == 0 ? 0 : product(x) / columns, columns};
  work.op.flops = product({5, product(x)});
}

void cross_entropy(Work& work) {
  work.op.shape = work.shape(0);
  work.op.flops = sum({product({5, product(work.shape(0))}), product({2, work.shape(0)[0]})});
}

void concat(Work& work) {
  const std::int64_t elements = product(work.result());
  work.op.shape = {std::ssize(work.inputs) - 1, elements};
}

void split(Work& work) {
  std::int64_t elements = 0;
  for (const Output& output : work.op.outputs) {
    elements = sum({elements, product(output.shape)});
  }
  work.op.shape = {std::ssize(work.op.outputs), elements};
}

void transpose(Work& work) {
  // The order of axes that two equal extents leave open changes no cost.
  const Shape& x = work.shape(0);
  std::vector<bool> is_used(x.size(), false);
  work.op.shape = x;
  for (const std::int64_t extent : work.result()) {
    std::size_t axis = 0;
    while (axis < x.size() && (is_used[axis] || x[axis] != extent)) {
      ++axis;
    }
    if (axis < x.size()) {
      is_used[axis] = true;
    }
    work.op.shape.push_back(static_cast<std::int64_t>(axis));
  }
}

// Of the whole, only what the result holds is read.
void slice(Work& work) {
  work.op.shape = {product(work.result()), product(work.shape(0))};
  work.op.bytes_read = sum({work.op.bytes_read, work.op.outputs[0].bytes, -work.inputs[0]->bytes});
}

// Rows of a stored table are an embedding.
void gather(Work& work) {
  slice(work);
  const Shape& table = work.shape(0);
  if (table.size() == 2 && work.reads_stored && !work.shape(1).empty() &&
      work.result().back() == table[1]) {
    work.op.kind = "embedding";
    work.op.shape = {product(work.shape(1)), table[0], table[1]};
  }
}

// Sums of squares of 2 r + 1 neighbours, then scale, offset, power and quotient.
void local_response(Work& work) {
  const std::int64_t radius = integer_attribute(work.node, "depth_radius", 5);
  work.op.shape = work.result();
  work.op.flops = product({product(work.result()), sum({product({2, radius}), 5})});
}

void update(Work& work) {
  const std::int64_t parameters = product(work.shape(0));
  const auto slots = work.row.flops == 2 ? 0 : work.row.flops == 4 ? 1 : 2;
  work.op.shape = {parameters, slots};
  work.op.flops = product({work.row.flops, parameters});
}

// Sorted by operator. A multiply-add is 2 FLOPs, any other operation on a number 1.
constexpr std::array kRows = {
    Row{"Abs", "", per_result, 1},
    Row{"Add", "add", add, 1, 2},
    Row{"AddN", "add_n", add_n, 1},
    Row{"AddV2", "add", add, 1, 2},
    Row{"ApplyAdam", "optimizer_update", update, 12, 1},
    Row{"ApplyGradientDescent", "optimizer_update", update, 2, 1},
    Row{"ApplyMomentum", "optimizer_update", update, 4, 1},
    Row{"ApplyRMSProp", "optimizer_update", update, 11, 1},
    Row{"ArgMax", "", per_input, 1, 1},
    Row{"ArgMin", "", per_input, 1, 1},
    Row{"AvgPool", "avg_pool", avg_pool, 0, 1},
    Row{"AvgPool3D", "", avg_pool, 0, 1},
    Row{"AvgPoolGrad", "avg_pool_backward", avg_pool_backward, 0, 2},
    Row{"BatchMatMul", "batch_matmul", matmul, 2, 2, true},
    Row{"BatchMatMulV2", "batch_matmul", matmul, 2, 2, true},
    Row{"BatchMatMulV3", "batch_matmul", matmul, 2, 2, true},
    Row{"BiasAdd", "bias_add", bias_add},
    Row{"BiasAddGrad", "bias_add_backward", bias_add_backward, 1, 1},
    Row{"BlockLSTM", "", refuse, 0, 0, true},
    Row{"BlockLSTMV2", "", refuse, 0, 0, true},
    Row{"CheckNumerics", "reshape", per_result},
    Row{"ClipByValue", "", per_result, 2},
    Row{"Concat", "concat", concat},
    Row{"ConcatV2", "concat", concat},
    Row{"Const", "constant", per_result},
    Row{"Conv2D", "conv2d", conv, 2, 2, true},
    Row{"Conv2DBackpropFilter", "conv2d_backward_filter", conv_backward_filter, 2, 3, true},
    Row{"Conv2DBackpropInput", "conv2d_backward_data", conv_backward_data, 2, 3, true},
    Row{"Conv3D", "", conv, 2, 2, true},
    Row{"Conv3DBackpropFilterV2", "", conv_backward_filter, 2, 3, true},
    Row{"Conv3DBackpropInputV2", "", conv_backward_data, 2, 3, true},
    Row{"Cos", "", per_result, 1},
    Row{"CropAndResize", "", per_result, 9},
    Row{"CudnnRNN", "", refuse, 0, 0, true},
    Row{"CudnnRNNBackprop", "", refuse, 0, 0, true},
    Row{"CudnnRNNBackpropV3", "", refuse, 0, 0, true},
    Row{"CudnnRNNV2", "", refuse, 0, 0, true},
    Row{"CudnnRNNV3", "", refuse, 0, 0, true},
    Row{"Cumprod", "", per_result, 1},
    Row{"Cumsum", "", per_result, 1},
    Row{"DepthwiseConv2dNative", "depthwise_conv2d", depthwise, 2, 2, true},
    Row{"DepthwiseConv2dNativeBackpropFilter", "depthwise_conv2d_backward_filter",
        depthwise_backward_filter, 2, 3, true},
    Row{"DepthwiseConv2dNativeBackpropInput", "depthwise_conv2d_backward_data",
        depthwise_backward_data, 2, 3, true},
    Row{"Div", "", per_result, 1},
    Row{"DivNoNan", "", per_result, 1},
    Row{"Einsum", "batch_matmul", einsum, 2, 1, true},
    Row{"Elu", "", per_result, 1},
    Row{"EnsureShape", "reshape", per_result},
    Row{"Equal", "", per_result, 1},
    Row{"Erf", "", per_result, 1},
    Row{"Exp", "", per_result, 1},
    Row{"ExpandDims", "reshape", per_result},
    Row{"FakeQuantWithMinMaxArgs", "", per_result, 4},
    Row{"FakeQuantWithMinMaxVars", "", per_result, 4},
    Row{"FakeQuantWithMinMaxVarsPerChannel", "", per_result, 4},
    Row{"Floor", "", per_result, 1},
    Row{"FloorDiv", "", per_result, 1},
    Row{"FloorMod", "", per_result, 1},
    Row{"FusedBatchNorm", "batch_norm", batch_norm, 5, 1},
    Row{"FusedBatchNormGrad", "batch_norm_backward", batch_norm_backward, 9, 2},
    Row{"FusedBatchNormGradV2", "batch_norm_backward", batch_norm_backward, 9, 2},
    Row{"FusedBatchNormGradV3", "batch_norm_backward", batch_norm_backward, 9, 2},
    Row{"FusedBatchNormV2", "batch_norm", batch_norm, 5, 1},
    Row{"FusedBatchNormV3", "batch_norm", batch_norm, 5, 1},
    Row{"GRUBlockCell", "", refuse, 0, 0, true},
    Row{"Gather", "", gather, 0, 2},
    Row{"GatherNd", "", slice, 0, 1},
    Row{"GatherV2", "gather", gather, 0, 2},
    Row{"Greater", "", per_result, 1},
    Row{"GreaterEqual", "", per_result, 1},
    Row{"Identity", "reshape", per_result},
    Row{"IdentityN", "reshape", per_result},
    Row{"IteratorGetNext", "input", per_result},
    Row{"L2Loss", "", per_input, 2, 1},
    Row{"LRN", "", local_response},
    Row{"LSTMBlockCell", "lstm_cell", lstm_block_cell, 0, 3, true},
    Row{"LeakyRelu", "", per_result, 1},
    Row{"Less", "", per_result, 1},
    Row{"LessEqual", "", per_result, 1},
    Row{"Log", "", per_result, 1},
    Row{"Log1p", "", per_result, 1},
    Row{"LogSoftmax", "", per_input, 5, 1},
    Row{"LogicalAnd", "", per_result, 1},
    Row{"LogicalNot", "", per_result, 1},
    Row{"LogicalOr", "", per_result, 1},
    Row{"MatMul", "matmul", matmul, 2, 2, true},
    Row{"Max", "", per_input, 1, 1},
    Row{"MaxPool", "max_pool", max_pool, 0, 1},
    Row{"MaxPool3D", "", max_pool, 0, 1},
    Row{"MaxPoolGrad", "max_pool_backward", max_pool_backward, 0, 3},
    Row{"MaxPoolWithArgmax", "max_pool", max_pool, 0, 1},
    Row{"Maximum", "", per_result, 1},
    Row{"Mean", "", mean, 1, 1},
    Row{"Merge", "reshape", per_result},
    Row{"Min", "", per_input, 1, 1},
    Row{"Minimum", "", per_result, 1},
    Row{"Mul", "multiply", multiply, 1, 2},
    Row{"Neg", "", per_result, 1},
    Row{"NoOp", "no_op"},
    Row{"NotEqual", "", per_result, 1},
    Row{"Placeholder", "input", per_result},
    Row{"PlaceholderWithDefault", "reshape", per_result},
    Row{"Pow", "", per_result, 1},
    Row{"PreventGradient", "reshape", per_result},
    Row{"Prod", "", per_input, 1, 1},
    Row{"QuantizedConv2D", "", refuse, 0, 0, true},
    Row{"QuantizedMatMul", "", refuse, 0, 0, true},
    Row{"Rank", "no_op"},
    Row{"ReadVariableOp", "reshape", per_result},
    Row{"RealDiv", "", per_result, 1},
    Row{"Reciprocal", "", per_result, 1},
    Row{"Relu", "relu", per_result, 1},
    Row{"Relu6", "relu", per_result, 1},
    Row{"Relu6Grad", "relu_backward", per_result, 1},
    Row{"ReluGrad", "relu_backward", per_result, 1},
    Row{"Reshape", "reshape", per_result},
    Row{"ResizeArea", "", per_result, 1},
    Row{"ResizeBicubic", "", per_result, 35},
    Row{"ResizeBilinear", "", per_result, 9},
    Row{"ResourceApplyAdam", "optimizer_update", update, 12, 1},
    Row{"ResourceApplyGradientDescent", "optimizer_update", update, 2, 1},
    Row{"ResourceApplyMomentum", "optimizer_update", update, 4, 1},
    Row{"ResourceGather", "gather", gather, 0, 2},
    Row{"Round", "", per_result, 1},
    Row{"Rsqrt", "", per_result, 1},
    Row{"Selu", "", per_result, 1},
    Row{"Shape", "no_op"},
    Row{"ShapeN", "no_op"},
    Row{"Sigmoid", "sigmoid", per_result, 1},
    Row{"SigmoidGrad", "sigmoid_backward", per_result, 3},
    Row{"Sign", "", per_result, 1},
    Row{"Sin", "", per_result, 1},
    Row{"Size", "no_op"},
    Row{"Slice", "slice", slice, 0, 1},
    Row{"Snapshot", "reshape", per_result},
    Row{"Softmax", "softmax", softmax, 5, 1},
    Row{"SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", cross_entropy, 5, 1},
    Row{"Softplus", "", per_result, 1},
    Row{"Softsign", "", per_result, 1},
    Row{"SparseMatMul", "matmul", matmul, 2, 2, true},
    Row{"SparseSoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", cross_entropy, 5, 1},
    Row{"SparseTensorDenseMatMul", "", refuse, 0, 0, true},
    Row{"Split", "split", split},
    Row{"SplitV", "split", split},
    Row{"Sqrt", "", per_result, 1},
    Row{"Square", "", per_result, 1},
    Row{"SquaredDifference", "", per_result, 2},
    Row{"Squeeze", "reshape", per_result},
    Row{"StopGradient", "reshape", per_result},
    Row{"StridedSlice", "slice", slice, 0, 1},
    Row{"Sub", "subtract", per_result, 1},
    Row{"Sum", "", per_input, 1, 1},
    Row{"Switch", "reshape", per_result},
    Row{"Tanh", "tanh", per_result, 1},
    Row{"TanhGrad", "tanh_backward", per_result, 3},
    Row{"Transpose", "transpose", transpose, 0, 1},
    Row{"Unpack", "split", split},
    Row{"VarHandleOp", "variable", per_result},
    Row{"Variable", "variable", per_result},
    Row{"VariableV2", "variable", per_result},
    Row{"_FusedBatchNormEx", "batch_norm", batch_norm, 5, 1},
    Row{"_FusedConv2D", "conv2d", conv, 2, 2, true},
    Row{"_FusedDepthwiseConv2dNative", "depthwise_conv2d", depthwise, 2, 2, true},
    Row{"_FusedMatMul", "matmul", matmul, 2, 2, true},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

const Row* find_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return found != kRows.end() && found->op == op ? &*found : nullptr;
}

}  // namespace

std::string kind_of(std::string_view op) {
  const Row* const row = find_row(op);
  return row != nullptr && !row->kind.empty() ? std::string(row->kind) : in_small_letters(op);
}

bool is_heavy(std::string_view op) {
  const Row* const row = find_row(op);
  return row != nullptr && row->is_heavy;
}

void count_work(Op& op, const proto::NodeDef& node, const Known& known) {
  const Row* const row = find_row(node.op());
  if (row == nullptr || row->count == nullptr) {
    return;
  }
  Work work{.op = op,
            .node = node,
            .inputs = known.inputs,
            .row = *row,
            .reads_stored = known.reads_stored};
  const bool has_inputs = known.inputs.size() >= row->num_read &&
                          std::ranges::count(known.inputs.first(row->num_read), nullptr) == 0;
  if (row->count == refuse || (known.is_known && has_inputs)) {
    row->count(work);
  }
}

}  // namespace emplace::tensorflow
