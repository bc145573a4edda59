#include "operators.hpp"

#include "conversions.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace emplace::onnx_model {
namespace {

namespace c = convert;
namespace s = shapes;

// Sorted by operator. A multiply-add is 2 FLOPs, any other operation on a number 1. Operators
// without a rule of their own for ops differ in shape only.
constexpr std::array kStandard = {
    Operator{"Abs", s::same, c::elementwise, "", 1},
    Operator{"Acos", s::same, c::elementwise, "", 1},
    Operator{"Acosh", s::same, c::elementwise, "", 1},
    Operator{"Add", s::pair, c::binary},
    Operator{"And", s::compare, c::per_result, "", 1},
    Operator{"ArgMax", s::arg, c::per_input, "", 1},
    Operator{"ArgMin", s::arg, c::per_input, "", 1},
    Operator{"Asin", s::same, c::elementwise, "", 1},
    Operator{"Asinh", s::same, c::elementwise, "", 1},
    Operator{"Atan", s::same, c::elementwise, "", 1},
    Operator{"Atanh", s::same, c::elementwise, "", 1},
    Operator{"Attention", s::standard_attention, c::standard_attention, "attention"},
    Operator{"AveragePool", s::pool, c::pool, "avg_pool"},
    Operator{"BatchNormalization", s::batch_norm, c::batch_norm, "batch_norm", 5},
    Operator{"Bernoulli", s::random_like, c::per_result, "random", 1},
    Operator{"BitShift", s::pair, c::per_result, "", 1},
    Operator{"BitwiseAnd", s::pair, c::per_result, "", 1},
    Operator{"BitwiseNot", s::same, c::elementwise, "", 1},
    Operator{"BitwiseOr", s::pair, c::per_result, "", 1},
    Operator{"BitwiseXor", s::pair, c::per_result, "", 1},
    Operator{"Cast", s::cast, c::cast, "scale", 1},
    Operator{"CastLike", s::cast, c::cast, "scale", 1},
    Operator{"Ceil", s::same, c::elementwise, "", 1},
    Operator{"Celu", s::same, c::elementwise, "", 1},
    Operator{"Clip", s::same, c::elementwise, "", 2},
    Operator{"Compress", s::data_dependent, c::per_result},
    Operator{"Concat", s::concat, c::concat, "concat"},
    Operator{"Constant", s::constant, c::per_result},
    Operator{"ConstantOfShape", s::constant_of_shape, c::per_result},
    Operator{"Conv", s::conv, c::conv},
    Operator{"ConvInteger", s::conv_integer, c::quantized_conv},
    Operator{"ConvTranspose", s::conv_transpose, c::conv_transpose},
    Operator{"Cos", s::same, c::elementwise, "", 1},
    Operator{"Cosh", s::same, c::elementwise, "", 1},
    Operator{"CumSum", s::same, c::per_input, "", 1},
    Operator{"DepthToSpace", s::depth_to_space, c::movement},
    Operator{"DequantizeLinear", s::dequantize, c::elementwise, "", 2},
    Operator{"Div", s::pair, c::binary},
    Operator{"Dropout", s::same_mask, c::dropout, "dropout", 2},
    Operator{"DynamicQuantizeLinear", s::dynamic_quantize, c::per_input, "", 4},
    Operator{"Einsum", s::einsum, c::einsum},
    Operator{"Elu", s::same, c::elementwise, "", 1},
    Operator{"Equal", s::compare, c::per_result, "", 1},
    Operator{"Erf", s::same, c::elementwise, "", 1},
    Operator{"Exp", s::same, c::elementwise, "", 1},
    Operator{"Expand", s::expand, c::movement},
    Operator{"EyeLike", s::random_like, c::movement},
    Operator{"Flatten", s::flatten, c::view},
    Operator{"Floor", s::same, c::elementwise, "", 1},
    Operator{"GRU", s::recurrent, c::recurrent, "gru", 12},
    Operator{"Gather", s::gather, c::gather},
    Operator{"GatherElements", s::gather_elements, c::pick},
    Operator{"GatherND", s::gather_nd, c::pick},
    Operator{"Gelu", s::same, c::elementwise, "gelu", 5},
    Operator{"Gemm", s::gemm, c::gemm},
    Operator{"GlobalAveragePool", s::global_pool, c::pool, "avg_pool"},
    Operator{"GlobalMaxPool", s::global_pool, c::pool, "max_pool"},
    Operator{"Greater", s::compare, c::per_result, "", 1},
    Operator{"GreaterOrEqual", s::compare, c::per_result, "", 1},
    Operator{"GridSample", s::grid_sample, c::per_result, "", 7},
    Operator{"GroupNormalization", s::same, c::group_norm, "group_norm", 7},
    Operator{"HardSigmoid", s::same, c::elementwise, "", 1},
    Operator{"HardSwish", s::same, c::elementwise, "", 2},
    Operator{"Hardmax", s::same, c::per_input, "", 1},
    Operator{"Identity", s::same, c::unchanged},
    Operator{"InstanceNormalization", s::same, c::group_norm, "instance_norm", 7},
    Operator{"IsInf", s::flags, c::elementwise, "", 1},
    Operator{"IsNaN", s::flags, c::elementwise, "is_nan", 1},
    Operator{"LRN", s::same, c::local_response_norm, "lrn", 4},
    Operator{"LSTM", s::recurrent, c::recurrent, "lstm", 13},
    Operator{"LayerNormalization", s::layer_norm, c::layer_norm, "layer_norm", 7},
    Operator{"LeakyRelu", s::same, c::elementwise, "", 1},
    Operator{"Less", s::compare, c::per_result, "", 1},
    Operator{"LessOrEqual", s::compare, c::per_result, "", 1},
    Operator{"Log", s::same, c::elementwise, "", 1},
    Operator{"LogSoftmax", s::same, c::softmax, "", 5},
    Operator{"LpNormalization", s::same, c::per_input, "", 3},
    Operator{"LpPool", s::pool, c::pool, "lp_pool"},
    Operator{"MatMul", s::matmul, c::matmul},
    Operator{"MatMulInteger", s::matmul_integer, c::quantized_matmul},
    Operator{"Max", s::broadcast, c::binary},
    Operator{"MaxPool", s::pool, c::pool, "max_pool"},
    Operator{"Mean", s::broadcast, c::several, "", 1},
    Operator{"MeanVarianceNormalization", s::same, c::per_input, "instance_norm", 5},
    Operator{"Min", s::broadcast, c::binary},
    Operator{"Mish", s::same, c::elementwise, "", 3},
    Operator{"Mod", s::pair, c::binary},
    Operator{"Mul", s::pair, c::binary, "multiply"},
    Operator{"Multinomial", s::multinomial, c::per_result, "random", 1},
    Operator{"Neg", s::same, c::elementwise, "scale", 1},
    Operator{"NegativeLogLikelihoodLoss", s::cross_entropy, c::per_input, "", 1},
    Operator{"NonMaxSuppression", s::data_dependent, c::per_result},
    Operator{"NonZero", s::non_zero, c::per_result},
    Operator{"Not", s::flags, c::elementwise, "", 1},
    Operator{"OneHot", s::one_hot, c::movement},
    Operator{"Or", s::compare, c::per_result, "", 1},
    Operator{"PRelu", s::prelu, c::per_result, "prelu", 1},
    Operator{"Pad", s::pad, c::movement},
    Operator{"Pow", s::pair, c::binary},
    Operator{"QLinearConv", s::quantized_conv, c::quantized_conv},
    Operator{"QLinearMatMul", s::quantized_matmul, c::quantized_matmul},
    Operator{"QuantizeLinear", s::quantize, c::elementwise, "", 3},
    Operator{"RMSNormalization", s::same, c::layer_norm, "rms_norm", 4},
    Operator{"RNN", s::recurrent, c::recurrent, "rnn", 2},
    Operator{"RandomNormal", s::random, c::per_result, "random", 1},
    Operator{"RandomNormalLike", s::random_like, c::per_result, "random", 1},
    Operator{"RandomUniform", s::random, c::per_result, "random", 1},
    Operator{"RandomUniformLike", s::random_like, c::per_result, "random", 1},
    Operator{"Range", s::range, c::movement},
    Operator{"Reciprocal", s::same, c::elementwise, "", 1},
    Operator{"ReduceL1", s::reduce, c::reduce, "", 2},
    Operator{"ReduceL2", s::reduce, c::reduce, "", 2},
    Operator{"ReduceLogSum", s::reduce, c::reduce, "", 1},
    Operator{"ReduceLogSumExp", s::reduce, c::reduce, "", 2},
    Operator{"ReduceMax", s::reduce, c::reduce, "", 1},
    Operator{"ReduceMean", s::reduce, c::reduce, "", 1},
    Operator{"ReduceMin", s::reduce, c::reduce, "", 1},
    Operator{"ReduceProd", s::reduce, c::reduce, "", 1},
    Operator{"ReduceSum", s::reduce, c::reduce, "", 1},
    Operator{"ReduceSumSquare", s::reduce, c::reduce, "", 2},
    Operator{"Relu", s::same, c::elementwise, "relu", 1},
    Operator{"Reshape", s::reshape, c::view},
    Operator{"Resize", s::resize, c::resize, "resize"},
    Operator{"ReverseSequence", s::same, c::movement},
    Operator{"RoiAlign", s::roi_align, c::per_result, "", 28},
    Operator{"RotaryEmbedding", s::same, c::rotary_embedding, "rotary_embedding", 3},
    Operator{"Round", s::same, c::elementwise, "", 1},
    Operator{"Scatter", s::same, c::movement, "scatter_elements"},
    Operator{"ScatterElements", s::same, c::movement},
    Operator{"ScatterND", s::same, c::movement},
    Operator{"Selu", s::same, c::elementwise, "", 1},
    Operator{"Shape", s::shape, c::per_result},
    Operator{"Shrink", s::same, c::elementwise, "", 2},
    Operator{"Sigmoid", s::same, c::sigmoid, "sigmoid", 1},
    Operator{"Sign", s::same, c::elementwise, "", 1},
    Operator{"SimplifiedLayerNormalization", s::same, c::layer_norm, "rms_norm", 4},
    Operator{"Sin", s::same, c::elementwise, "", 1},
    Operator{"Sinh", s::same, c::elementwise, "", 1},
    Operator{"Size", s::size, c::per_result},
    Operator{"Slice", s::slice, c::pick},
    Operator{"Softmax", s::same, c::softmax, "softmax", 5},
    Operator{"SoftmaxCrossEntropyLoss", s::cross_entropy, c::cross_entropy, "", 5},
    Operator{"Softplus", s::same, c::elementwise, "", 1},
    Operator{"Softsign", s::same, c::elementwise, "", 1},
    Operator{"SpaceToDepth", s::space_to_depth, c::movement},
    Operator{"Split", s::split, c::split, "split"},
    Operator{"Sqrt", s::same, c::elementwise, "", 1},
    Operator{"Squeeze", s::squeeze, c::view},
    Operator{"Sub", s::pair, c::binary, "subtract"},
    Operator{"Sum", s::broadcast, c::several},
    Operator{"Swish", s::same, c::elementwise, "silu", 2},
    Operator{"Tan", s::same, c::elementwise, "", 1},
    Operator{"Tanh", s::same, c::elementwise, "tanh", 1},
    Operator{"TensorScatter", s::same, c::movement, "scatter_elements"},
    Operator{"ThresholdedRelu", s::same, c::elementwise, "", 1},
    Operator{"Tile", s::tile, c::movement},
    Operator{"TopK", s::top_k, c::top_k, "top_k"},
    Operator{"Transpose", s::transpose, c::transpose, "transpose"},
    Operator{"Trilu", s::same, c::movement},
    Operator{"Unique", s::data_dependent, c::per_result},
    Operator{"Unsqueeze", s::unsqueeze, c::view},
    Operator{"Upsample", s::resize, c::resize, "resize"},
    Operator{"Where", s::where, c::per_result, "where"},
    Operator{"Xor", s::compare, c::per_result, "", 1},
};

// What ONNX Runtime adds: fused and quantized layers.
constexpr std::array kMicrosoft = {
    Operator{"Attention", s::attention, c::attention, "attention"},
    Operator{"BiasAdd", s::same, c::per_result, "broadcast_add", 2},
    Operator{"BiasGelu", s::same, c::bias_gelu, "gelu", 5},
    Operator{"BiasSplitGelu", s::split_gelu, c::split_gelu, "gelu", 8},
    Operator{"DecoderMaskedMultiHeadAttention", s::masked_attention, c::multi_head_attention,
             "attention"},
    Operator{"DynamicQuantizeMatMul", s::matmul, c::quantized_matmul},
    Operator{"EmbedLayerNormalization", s::embed_layer_norm, c::embed_layer_norm, "layer_norm", 7},
    Operator{"FastGelu", s::same, c::bias_gelu, "gelu", 5},
    Operator{"FusedConv", s::conv, c::fused_conv},
    Operator{"FusedGemm", s::gemm, c::gemm},
    Operator{"FusedMatMul", s::fused_matmul, c::fused_matmul},
    Operator{"GatherBlockQuantized", s::packed_gather, c::packed_gather, "gather", 2},
    Operator{"GroupNorm", s::fused_group_norm, c::fused_group_norm, "group_norm", 7},
    Operator{"GroupQueryAttention", s::group_query_attention, c::group_query_attention,
             "attention"},
    Operator{"MatMulBnb4", s::packed_matmul, c::packed_matmul},
    Operator{"MatMulFpQ4", s::packed_matmul, c::packed_matmul},
    Operator{"MatMulIntegerToFloat", s::matmul, c::quantized_matmul},
    Operator{"MatMulNBits", s::packed_matmul, c::packed_matmul},
    Operator{"MoE", s::same, c::experts, "moe_layers"},
    Operator{"MultiHeadAttention", s::multi_head_attention, c::multi_head_attention, "attention"},
    Operator{"QAttention", s::attention, c::attention, "attention"},
    Operator{"QGemm", s::quantized_gemm, c::quantized_gemm},
    Operator{"QLinearAdd", s::quantized_binary, c::per_result, "broadcast_add", 5},
    Operator{"QLinearAveragePool", s::pool, c::pool, "avg_pool"},
    Operator{"QLinearGlobalAveragePool", s::global_pool, c::per_input, "reduce_mean", 1},
    Operator{"QLinearLeakyRelu", s::same, c::elementwise, "leaky_relu", 4},
    Operator{"QLinearMul", s::quantized_binary, c::per_result, "broadcast_multiply", 5},
    Operator{"QLinearReduceMean", s::reduce, c::reduce, "reduce_mean", 1},
    Operator{"QLinearSigmoid", s::same, c::elementwise, "sigmoid", 4},
    Operator{"QLinearSoftmax", s::same, c::softmax, "softmax", 5},
    Operator{"QMoE", s::same, c::experts, "moe_layers"},
    Operator{"QuickGelu", s::same, c::elementwise, "silu", 3},
    Operator{"RelativePositionBias", s::position_bias, c::per_result, "gather", 0},
    Operator{"RotaryEmbedding", s::same, c::rotary_embedding, "rotary_embedding", 3},
    Operator{"SkipGroupNorm", s::fused_group_norm, c::fused_group_norm, "group_norm", 7},
    Operator{"SkipLayerNormalization", s::skip_norm, c::skip_layer_norm, "layer_norm", 7},
    Operator{"SkipSimplifiedLayerNormalization", s::skip_norm, c::skip_layer_norm, "rms_norm", 4},
};

static_assert(std::ranges::is_sorted(kStandard, {}, &Operator::op_type));
static_assert(std::ranges::is_sorted(kMicrosoft, {}, &Operator::op_type));

const Operator* find_in(std::span<const Operator> rows, std::string_view op_type) {
  const auto found = std::ranges::lower_bound(rows, op_type, {}, &Operator::op_type);
  return found != rows.end() && found->op_type == op_type ? &*found : nullptr;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view op_type) {
  const bool is_microsoft = domain == "com.microsoft";
  if (!is_microsoft && !is_standard_domain(domain)) {
    return nullptr;
  }
  const Operator* own = is_microsoft ? find_in(kMicrosoft, op_type) : nullptr;
  return own != nullptr ? own : find_in(kStandard, op_type);
}

std::string kind_of(std::string_view op_type) {
  std::string kind;
  const auto is_upper = [&](std::size_t i) {
    return i < op_type.size() && std::isupper(static_cast<unsigned char>(op_type[i])) != 0;
  };
  for (std::size_t i = 0; i < op_type.size(); ++i) {
    const bool begins_word =
        is_upper(i) && i > 0 && (!is_upper(i - 1) || (i + 1 < op_type.size() && !is_upper(i + 1)));
    kind += begins_word ? "_" : "";
    kind += static_cast<char>(std::tolower(static_cast<unsigned char>(op_type[i])));
  }
  return kind;
}

}  // namespace emplace::onnx_model
