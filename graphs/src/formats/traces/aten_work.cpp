#include "aten_work.hpp"

#include "formats/torch/aten.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::pytorch {
namespace {

using Shape = std::vector<std::int64_t>;

const Shape* input_shape(const TracedNode& node, std::size_t i) {
  return i < node.inputs.size() && !node.inputs[i].shape.empty() ? &node.inputs[i].shape : nullptr;
}

Output tensor(const Shape& shape) { return {.shape = shape}; }

Output output_of(const TensorUse& use) {
  return {.shape = use.shape,
          .type = type_of_size(use.element_bytes),
          .bytes = product({use.elements, use.element_bytes})};
}

std::vector<Output> outputs_of(std::span<const TensorUse> uses) {
  std::vector<Output> outputs;
  std::ranges::transform(uses, std::back_inserter(outputs), output_of);
  return outputs;
}

// --- Products ---

// The left side of a product stands behind what is added to it, if anything is.
std::size_t left_side(std::string_view name) {
  return name.starts_with("addm") || name.starts_with("_addmm") || name == "baddbmm" ? 1 : 0;
}

bool is_product(std::string_view kind) { return kind == "matmul" || kind == "batch_matmul"; }

// The weights of a linear layer are [columns of the result, columns].
GemmAttributes gemm_attributes(std::string_view name) {
  return {.trans_b = name == "linear" || name == "mkldnn_linear"};
}

void count_product(Op& op, const TracedNode& node) {
  const std::string_view name = name_of_aten(node.name);
  const std::size_t left = left_side(name);
  if (input_shape(node, left) == nullptr || input_shape(node, left + 1) == nullptr ||
      node.outputs.empty()) {
    return;
  }
  operators::count(op, "matmul", gemm_attributes(name),
                   {tensor(node.inputs[left].shape), tensor(node.inputs[left + 1].shape)},
                   tensor(node.outputs[0].shape));
}

// --- Convolutions ---

// Where the lists of integers among an operator's inputs tell stride, padding and dilation.
struct ConvolutionSettings {
  std::string_view name;
  std::size_t stride;
  std::size_t padding;
  std::optional<std::size_t> dilation;  // nothing: 1
};

constexpr std::array kSettings = {
    ConvolutionSettings{"_conv_depthwise2d", 1, 2, 3},
    ConvolutionSettings{"_slow_conv2d_forward", 1, 2, std::nullopt},
    ConvolutionSettings{"cudnn_convolution", 1, 0, 2},
    ConvolutionSettings{"miopen_convolution", 1, 0, 2},
    ConvolutionSettings{"miopen_depthwise_convolution", 1, 0, 2},
    ConvolutionSettings{"mkldnn_convolution", 1, 0, 2},
    ConvolutionSettings{"thnn_conv2d", 1, 2, std::nullopt},
};

ConvolutionSettings settings_of(std::string_view name) {
  const auto* found = std::ranges::find(kSettings, name, &ConvolutionSettings::name);
  return found != kSettings.end() ? *found : ConvolutionSettings{name, 0, 1, 2};
}

// Returns a list among the settings, with a number for each dimension; none if there is no such
// list.
Shape setting(const TracedNode& node, std::size_t index, std::size_t size) {
  Shape values = index < node.settings.size() ? node.settings[index] : Shape();
  if (values.size() == 1) {
    values.resize(size, values[0]);
  }
  return values.size() == size ? values : Shape();
}

// How a window moves over `size` dimensions, as far as the trace says.
Window window_of(const TracedNode& node, std::size_t stride, std::size_t padding,
                 std::optional<std::size_t> dilation, std::size_t size) {
  Window window{.strides = setting(node, stride, size),
                .dilations = dilation ? setting(node, *dilation, size) : Shape(size, 1),
                .pads = setting(node, padding, size)};
  window.pads.insert(window.pads.end(), window.pads.begin(), window.pads.end());
  return window;
}

ConvAttributes conv_attributes(const TracedNode& node, std::size_t size) {
  const ConvolutionSettings settings = settings_of(name_of_aten(node.name));
  return {.window = window_of(node, settings.stride, settings.padding, settings.dilation, size)};
}

// The operators of which the first switch says that they are transposed. cuDNN's and MIOpen's have
// others: `benchmark`, `deterministic`.
constexpr std::array<std::string_view, 5> kTransposable = {
    "_convolution", "convolution", "convolution_backward", "convolution_backward_overrideable",
    "convolution_overrideable"};

bool has_transposed_switch(const TracedNode& node) {
  return !node.switches.empty() && node.switches[0] &&
         std::ranges::find(kTransposable, name_of_aten(node.name)) != kTransposable.end();
}

bool is_transposed(const Op& op, const TracedNode& node) {
  return op.kind == "conv2d_transpose" || has_transposed_switch(node);
}

// Counts a convolution that relates tensors of these shapes; `name` is the operator.
void count_as(Op& op, const TracedNode& node, std::string_view name, const Shape& first,
              const Shape& second, const Shape& result) {
  if (first.size() < 3 || second.size() != first.size() || result.size() != first.size()) {
    return;  // without a batch, say
  }
  ConvAttributes attributes = conv_attributes(node, first.size() - 2);
  const Shape& filters = name == "conv_backward_filter" ? result : second;
  const Shape& maps = name == "conv_backward_filter"                             ? second
                      : name == "conv_backward_data" || name == "conv_transpose" ? result
                                                                                 : first;
  attributes.group = filters[1] > 0 ? std::max<std::int64_t>(maps[1] / filters[1], 1) : 1;
  operators::count(op, name, std::move(attributes), {tensor(first), tensor(second)},
                   tensor(result));
}

// Inputs are maps, filters [K, C / groups, R, S], perhaps a bias. The filters of a transposed
// convolution are [C, K / groups, R, S].
void count_convolution(Op& op, const TracedNode& node) {
  const Shape* x = input_shape(node, 0);
  const Shape* filters = input_shape(node, 1);
  if (x == nullptr || filters == nullptr) {
    return;
  }
  if (!node.outputs.empty()) {
    count_as(op, node, is_transposed(op, node) ? "conv_transpose" : "conv", *x, *filters,
             node.outputs[0].shape);
  } else if (is_transposed(op, node) && x->size() == filters->size() && x->size() > 2) {
    // What it makes is not known; its FLOPs are those of what it reads.
    op.kind = "conv2d_transpose";
    operators::count(op, "conv_transpose", ConvAttributes(), {tensor(*x), tensor(*filters)},
                     tensor(*x));
    op.shape.clear();
  }
}

// Where the inputs of an operator of gradients are.
struct GradientInputs {
  std::string_view name;
  std::size_t gradient;
  std::size_t maps;
  std::size_t filters;
};

constexpr std::array kGradientInputs = {
    GradientInputs{"cudnn_convolution_backward", 1, 0, 2},
    GradientInputs{"mkldnn_convolution_backward", 1, 0, 2},
    GradientInputs{"slow_conv2d_backward", 0, 1, 2},
};

// Inputs are the gradient of the result, maps and filters, in the order that the table tells;
// outputs the gradients that are wanted. Of those, the bias' costs next to nothing.
void count_convolution_backward(Op& op, const TracedNode& node) {
  const std::string_view name = name_of_aten(node.name);
  const auto* found = std::ranges::find(kGradientInputs, name, &GradientInputs::name);
  const GradientInputs order =
      found != kGradientInputs.end() ? *found : GradientInputs{name, 0, 1, 2};
  const Shape* gradient = input_shape(node, order.gradient);
  const Shape* maps = input_shape(node, order.maps);
  const Shape* filters = input_shape(node, order.filters);
  if (gradient == nullptr || maps == nullptr || filters == nullptr) {
    return;
  }
  const auto is_given = [&](const Shape& shape) {
    return std::ranges::find(node.outputs, shape, &TensorUse::shape) != node.outputs.end();
  };
  // Traces that tell no results have the mask of those that are wanted behind the other switches.
  const auto is_wanted = [&](std::size_t i, const Shape& shape) {
    return node.outputs.empty() && node.switches.size() >= 4 ? node.switches[1 + i]
                                                             : is_given(shape);
  };
  const bool wants_maps = is_wanted(0, *maps);
  const bool wants_filters = is_wanted(1, *filters);
  if (is_transposed(op, node)) {  // the roles of maps and gradient are those of the other
    count_as(op, node, "conv_backward_filter", *maps, *gradient, *filters);
  } else {
    count_as(op, node, "conv_backward_filter", *gradient, *maps, *filters);
  }
  if (wants_maps && !wants_filters) {
    count_as(op, node, is_transposed(op, node) ? "conv" : "conv_backward_data", *gradient, *filters,
             *maps);
  } else if (wants_maps == wants_filters) {
    // Both at once are the class of either, without the key by which measured kernels are found.
    op.flops = wants_maps ? product({2, op.flops}) : 0;
    op.shape.clear();
  }
}

// Of maps: the size of maps, gradient, filters. Of filters: the size of filters, gradient, maps.
void count_one_gradient(Op& op, const TracedNode& node) {
  const Shape* gradient = input_shape(node, 0);
  const Shape* other = input_shape(node, 1);
  if (gradient != nullptr && other != nullptr && !node.outputs.empty()) {
    count_as(op, node,
             op.kind == "conv2d_backward_data" ? "conv_backward_data" : "conv_backward_filter",
             *gradient, *other, node.outputs[0].shape);
  }
}

// --- Pooling ---

// The settings are window, stride (that of the window if it is left out), padding and, of the
// largest, dilation; of an adaptive pool the size of the result.
void count_pooling(Op& op, const TracedNode& node) {
  const std::string_view name = name_of_aten(node.name);
  const bool is_backward = op.kind.ends_with("_backward");
  const Shape* maps = input_shape(node, is_backward ? 1 : 0);
  const Shape* results = is_backward            ? input_shape(node, 0)
                         : node.outputs.empty() ? nullptr
                                                : &node.outputs[0].shape;
  const std::size_t at = name.find_first_of("123");
  if (maps == nullptr || results == nullptr || at == std::string_view::npos) {
    return;
  }
  const auto size = static_cast<std::size_t>(name[at] - '0');
  if (maps->size() != size + 2 || results->size() != size + 2 || product(*results) == 0) {
    return;
  }
  PoolAttributes attributes;
  if (name.find("adaptive") != std::string_view::npos) {
    attributes =
        operators::adaptive_pool(std::span(*maps).subspan(2), std::span(*results).subspan(2));
  } else {
    const bool is_max = op.kind.starts_with("max_pool");
    attributes.kernel_shape = setting(node, 0, size);
    attributes.window =
        window_of(node, 1, 2, is_max ? std::optional<std::size_t>(3) : std::nullopt, size);
    if (attributes.window.strides.empty()) {
      attributes.window.strides = attributes.kernel_shape;
    }
  }
  if (attributes.kernel_shape.size() != size) {
    return;
  }
  const std::string operator_name = op.kind;
  if (is_backward) {
    operators::count(op, operator_name, std::move(attributes), {tensor(*results)}, tensor(*maps));
  } else {
    operators::count(op, operator_name, std::move(attributes), {tensor(*maps)}, tensor(*results));
  }
}

// --- Attention ---

// Queries, keys and values [.., heads, positions, width]; those of the kernels that PyTorch's fused
// operators call are [.., positions, heads, width]. The gradient of the result stands before them.
void count_attention(Op& op, const TracedNode& node) {
  const std::string_view name = name_of_aten(node.name);
  const bool is_kernel = name.starts_with("_flash_") || name.starts_with("_efficient_") ||
                         name.starts_with("_cudnn_attention");
  std::vector<Output> inputs;
  for (std::size_t i = 0; i < (name.ends_with("_backward") ? 4 : 3); ++i) {
    const Shape* shape = input_shape(node, i);
    if (shape == nullptr || shape->size() < 3) {
      return;
    }
    const std::size_t rank = shape->size();
    const std::span all(*shape);
    Shape heads{product(all.first(rank - std::min<std::size_t>(rank, 3))), (*shape)[rank - 3],
                (*shape)[rank - 2], shape->back()};
    if (is_kernel && rank > 3) {
      std::swap(heads[1], heads[2]);
    }
    inputs.push_back(tensor(heads));
  }
  const std::string kind = op.kind;
  operators::count(op, kind, AttentionAttributes(), inputs, outputs_of(node.outputs));
}

// --- Recurrent networks ---

// Which of the arguments are weights; of them, matrices count. States may be matrices, too.
struct WeightArguments {
  std::string_view name;
  std::size_t first;
  std::size_t last;
  bool is_backward = false;
};

constexpr std::array kRecurrent = {
    WeightArguments{"_cudnn_rnn", 1, 1},
    WeightArguments{"_cudnn_rnn_backward", 1, 1, true},
    WeightArguments{"gru", 2, 3},
    WeightArguments{"lstm", 2, 3},
    WeightArguments{"miopen_rnn", 1, 1},
    WeightArguments{"miopen_rnn_backward", 1, 1, true},
    WeightArguments{"mkldnn_rnn_layer", 1, 2},
    WeightArguments{"mkldnn_rnn_layer_backward", 1, 2, true},
    WeightArguments{"rnn_relu", 2, 3},
    WeightArguments{"rnn_tanh", 2, 3},
};

// Returns whether the operator is a recurrent network: several layers in one op.
bool count_recurrent(Op& op, const TracedNode& node) {
  const auto* found =
      std::ranges::find(kRecurrent, name_of_aten(node.name), &WeightArguments::name);
  if (found == kRecurrent.end()) {
    return false;
  }
  const Shape* input = input_shape(node, 0);
  if (input == nullptr) {
    return true;
  }
  std::vector<Output> inputs{tensor(*input)};
  for (const TensorUse& use : node.inputs) {
    if (use.argument >= found->first && use.argument <= found->last && use.shape.size() == 2) {
      inputs.push_back(tensor(use.shape));
    }
  }
  std::string kind = std::move(op.kind);
  operators::count(op, found->is_backward ? "recurrent_layers_backward" : "recurrent_layers", {},
                   inputs, outputs_of(node.outputs));
  op.kind = std::move(kind);
  return true;
}

// --- Everything else ---

// The attributes of an operator, as far as lists of integers among its inputs tell them.
Attributes attributes_of(std::string_view kind, const TracedNode& node) {
  const Shape list = node.settings.empty() ? Shape() : node.settings[0];
  if (kind.starts_with("reduce_")) {
    return ReduceAttributes{.axes = list, .keepdims = !node.switches.empty() && node.switches[0]};
  }
  if (kind.starts_with("layer_norm") || kind.starts_with("rms_norm")) {  // of how many extents
    return AxisAttributes{.axis = list.empty() ? -1 : -std::ssize(list)};
  }
  if (kind.starts_with("resize")) {
    return ResizeAttributes{.mode = node.name.find("linear") != std::string::npos  ? "linear"
                                    : node.name.find("cubic") != std::string::npos ? "cubic"
                                                                                   : "nearest"};
  }
  return {};
}

void count_by_library(Op& op, const TracedNode& node) {
  // Of an einsum a trace does not say the equation.
  if (node.outputs.empty() || op.kind == "einsum" || !operators::is_counted(op.kind)) {
    return;
  }
  const std::string kind = op.kind;
  operators::count(op, kind, attributes_of(kind, node), outputs_of(node.inputs),
                   outputs_of(node.outputs));
  if (kind.starts_with("group_norm")) {  // a trace does not say how many groups there are
    op.shape.clear();
  }
}

// --- Results that a trace does not tell ---

void give(TracedNode& node, Shape shape) {
  const std::int64_t count = product(shape);
  node.outputs = {{.elements = count,
                   .element_bytes = node.inputs[0].element_bytes,
                   .shape = std::move(shape)}};
}

void infer_product(TracedNode& node) {
  const std::string_view name = name_of_aten(node.name);
  const std::size_t left = left_side(name);
  if (input_shape(node, left) != nullptr && input_shape(node, left + 1) != nullptr) {
    give(node, operators::infer("matmul", gemm_attributes(name),
                                std::array{tensor(node.inputs[left].shape),
                                           tensor(node.inputs[left + 1].shape)})[0]
                   .shape);
  }
}

void infer_convolution(TracedNode& node) {
  const Shape* x = input_shape(node, 0);
  const Shape* filters = input_shape(node, 1);
  if (x == nullptr || filters == nullptr || x->size() != filters->size() || x->size() < 3 ||
      (*filters)[1] < 1 || (*x)[1] % (*filters)[1] != 0) {
    return;
  }
  ConvAttributes attributes = conv_attributes(node, x->size() - 2);
  if (attributes.window.strides.empty() || attributes.window.pads.empty() ||
      attributes.window.dilations.empty()) {
    return;
  }
  attributes.group = (*x)[1] / (*filters)[1];
  give(node,
       operators::infer("conv", attributes, std::array{tensor(*x), tensor(*filters)})[0].shape);
}

// Of one pass over the data, and of normalizations.
void infer_pass(TracedNode& node, std::string_view kind) {
  if (node.inputs.empty()) {
    return;
  }
  const bool is_norm =
      operators::find(kind) != nullptr && op_class_of(kind) != OpClass::kElementwise;
  give(node, is_norm ? node.inputs[0].shape : operators::broadcast(outputs_of(node.inputs)));
}

// A trace may say what does not fit, and then does not say what the op is.
template <class Use>
void where_it_fits(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kFormat) {
      throw;
    }
  }
}

}  // namespace

void count_work(Op& op, const TracedNode& node) {
  where_it_fits([&] {
    if (is_product(op.kind)) {
      count_product(op, node);
    } else if (op.kind == "conv2d" || op.kind == "conv2d_transpose") {
      count_convolution(op, node);
    } else if (op.kind == "convolution_backward") {
      count_convolution_backward(op, node);
    } else if (op_class_of(op.kind) == OpClass::kPooling) {
      count_pooling(op, node);
    } else if (op.kind == "conv2d_backward_data" || op.kind == "conv2d_backward_filter") {
      count_one_gradient(op, node);
    } else if (op.kind.starts_with("attention")) {
      count_attention(op, node);
    } else if (!count_recurrent(op, node)) {
      count_by_library(op, node);
    }
  });
}

void infer_result(TracedNode& node) {
  const std::string kind = kind_of_aten(node.name);
  where_it_fits([&] {
    if (is_product(kind)) {
      infer_product(node);
    } else if (kind == "conv2d" && !has_transposed_switch(node)) {
      infer_convolution(node);
    } else if (op_class_of(kind) == OpClass::kElementwise || kind == "softmax" ||
               kind == "log_softmax" || kind == "batch_norm" || kind == "layer_norm" ||
               kind == "group_norm" || kind == "instance_norm" || kind == "rms_norm") {
      infer_pass(node, kind);
    }
  });
}

}  // namespace emplace::pytorch
