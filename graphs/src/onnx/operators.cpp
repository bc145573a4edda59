#include "operators.hpp"

#include "conversions.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace emplace::onnx_model {
namespace {

using namespace convert;  // the table names them all; NOLINT(google-build-using-namespace)
namespace s = shapes;

// Sorted by operator. A multiply-add is 2 FLOPs, any other operation on a number 1. Operators
// without a rule of their own for ops differ in shape only.
constexpr std::array kStandard = {
    Operator{"Abs", s::same, elementwise, "", 1},
    Operator{"Acos", s::same, elementwise, "", 1},
    Operator{"Acosh", s::same, elementwise, "", 1},
    Operator{"Add", s::pair, binary},
    Operator{"And", s::compare, per_result, "", 1},
    Operator{"ArgMax", s::arg, per_input, "", 1},
    Operator{"ArgMin", s::arg, per_input, "", 1},
    Operator{"Asin", s::same, elementwise, "", 1},
    Operator{"Asinh", s::same, elementwise, "", 1},
    Operator{"Atan", s::same, elementwise, "", 1},
    Operator{"Atanh", s::same, elementwise, "", 1},
    Operator{"Attention", s::standard_attention, standard_attention, "attention"},
    Operator{"AveragePool", s::pool, pool, "avg_pool", 0},
    Operator{"BatchNormalization", s::batch_norm, batch_norm, "batch_norm", 5},
    Operator{"Bernoulli", s::random_like, per_result, "random", 1},
    Operator{"BitShift", s::pair, per_result, "", 1},
    Operator{"BitwiseAnd", s::pair, per_result, "", 1},
    Operator{"BitwiseNot", s::same, elementwise, "", 1},
    Operator{"BitwiseOr", s::pair, per_result, "", 1},
    Operator{"BitwiseXor", s::pair, per_result, "", 1},
    Operator{"Cast", s::cast, cast, "scale", 1},
    Operator{"CastLike", s::cast, cast, "scale", 1},
    Operator{"Ceil", s::same, elementwise, "", 1},
    Operator{"Celu", s::same, elementwise, "", 1},
    Operator{"Clip", s::same, elementwise, "", 2},
    Operator{"Compress", s::data_dependent, per_result},
    Operator{"Concat", s::concat, concat, "concat"},
    Operator{"Constant", s::constant, per_result},
    Operator{"ConstantOfShape", s::constant_of_shape, per_result},
    Operator{"Conv", s::conv, conv},
    Operator{"ConvInteger", s::conv_integer, quantized_conv},
    Operator{"ConvTranspose", s::conv_transpose, conv_transpose},
    Operator{"Cos", s::same, elementwise, "", 1},
    Operator{"Cosh", s::same, elementwise, "", 1},
    Operator{"CumSum", s::same, per_input, "", 1},
    Operator{"DepthToSpace", s::depth_to_space, movement},
    Operator{"DequantizeLinear", s::dequantize, elementwise, "", 2},
    Operator{"Div", s::pair, binary},
    Operator{"Dropout", s::same_mask, dropout, "dropout", 2},
    Operator{"DynamicQuantizeLinear", s::dynamic_quantize, per_input, "", 4},
    Operator{"Einsum", s::einsum, einsum},
    Operator{"Elu", s::same, elementwise, "", 1},
    Operator{"Equal", s::compare, per_result, "", 1},
    Operator{"Erf", s::same, elementwise, "", 1},
    Operator{"Exp", s::same, elementwise, "", 1},
    Operator{"Expand", s::expand, movement},
    Operator{"EyeLike", s::random_like, movement},
    Operator{"Flatten", s::flatten, view},
    Operator{"Floor", s::same, elementwise, "", 1},
    Operator{"GRU", s::recurrent, recurrent, "gru", 12},
    Operator{"Gather", s::gather, gather},
    Operator{"GatherElements", s::gather_elements, pick},
    Operator{"GatherND", s::gather_nd, pick},
    Operator{"Gelu", s::same, elementwise, "gelu", 5},
    Operator{"Gemm", s::gemm, gemm},
    Operator{"GlobalAveragePool", s::global_pool, global_pool, "avg_pool", 0},
    Operator{"GlobalMaxPool", s::global_pool, global_pool, "max_pool", 1},
    Operator{"Greater", s::compare, per_result, "", 1},
    Operator{"GreaterOrEqual", s::compare, per_result, "", 1},
    Operator{"GridSample", s::grid_sample, per_result, "", 7},
    Operator{"GroupNormalization", s::same, group_norm, "group_norm", 7},
    Operator{"HardSigmoid", s::same, elementwise, "", 1},
    Operator{"HardSwish", s::same, elementwise, "", 2},
    Operator{"Hardmax", s::same, per_input, "", 1},
    Operator{"Identity", s::same, unchanged},
    Operator{"InstanceNormalization", s::same, group_norm, "instance_norm", 7},
    Operator{"IsInf", s::flags, elementwise, "", 1},
    Operator{"IsNaN", s::flags, elementwise, "is_nan", 1},
    Operator{"LRN", s::same, local_response_norm, "lrn", 4},
    Operator{"LSTM", s::recurrent, recurrent, "lstm", 13},
    Operator{"LayerNormalization", s::layer_norm, layer_norm, "layer_norm", 7},
    Operator{"LeakyRelu", s::same, elementwise, "", 1},
    Operator{"Less", s::compare, per_result, "", 1},
    Operator{"LessOrEqual", s::compare, per_result, "", 1},
    Operator{"Log", s::same, elementwise, "", 1},
    Operator{"LogSoftmax", s::same, softmax, "", 5},
    Operator{"LpNormalization", s::same, per_input, "", 3},
    Operator{"LpPool", s::pool, pool, "lp_pool", 0},
    Operator{"MatMul", s::matmul, matmul},
    Operator{"MatMulInteger", s::matmul_integer, quantized_matmul},
    Operator{"Max", s::broadcast, binary},
    Operator{"MaxPool", s::pool, pool, "max_pool", 1},
    Operator{"Mean", s::broadcast, several, "", 1},
    Operator{"MeanVarianceNormalization", s::same, per_input, "instance_norm", 5},
    Operator{"Min", s::broadcast, binary},
    Operator{"Mish", s::same, elementwise, "", 3},
    Operator{"Mod", s::pair, binary},
    Operator{"Mul", s::pair, binary, "multiply"},
    Operator{"Multinomial", s::data_dependent, per_result},
    Operator{"Neg", s::same, elementwise, "scale", 1},
    Operator{"NegativeLogLikelihoodLoss", s::cross_entropy, per_input, "", 1},
    Operator{"NonMaxSuppression", s::data_dependent, per_result},
    Operator{"NonZero", s::non_zero, per_result},
    Operator{"Not", s::flags, elementwise, "", 1},
    Operator{"OneHot", s::one_hot, movement},
    Operator{"Or", s::compare, per_result, "", 1},
    Operator{"PRelu", s::pair, per_result, "prelu", 1},
    Operator{"Pad", s::pad, movement},
    Operator{"Pow", s::pair, binary},
    Operator{"QLinearConv", s::quantized_conv, quantized_conv},
    Operator{"QLinearMatMul", s::quantized_matmul, quantized_matmul},
    Operator{"QuantizeLinear", s::quantize, elementwise, "", 3},
    Operator{"RMSNormalization", s::same, layer_norm, "rms_norm", 4},
    Operator{"RNN", s::recurrent, recurrent, "rnn", 2},
    Operator{"RandomNormal", s::random, per_result, "random", 1},
    Operator{"RandomNormalLike", s::random_like, per_result, "random", 1},
    Operator{"RandomUniform", s::random, per_result, "random", 1},
    Operator{"RandomUniformLike", s::random_like, per_result, "random", 1},
    Operator{"Range", s::range, movement},
    Operator{"Reciprocal", s::same, elementwise, "", 1},
    Operator{"ReduceL1", s::reduce, reduce, "", 2},
    Operator{"ReduceL2", s::reduce, reduce, "", 2},
    Operator{"ReduceLogSum", s::reduce, reduce, "", 1},
    Operator{"ReduceLogSumExp", s::reduce, reduce, "", 2},
    Operator{"ReduceMax", s::reduce, reduce, "", 1},
    Operator{"ReduceMean", s::reduce, reduce, "", 1},
    Operator{"ReduceMin", s::reduce, reduce, "", 1},
    Operator{"ReduceProd", s::reduce, reduce, "", 1},
    Operator{"ReduceSum", s::reduce, reduce, "", 1},
    Operator{"ReduceSumSquare", s::reduce, reduce, "", 2},
    Operator{"Relu", s::same, elementwise, "relu", 1},
    Operator{"Reshape", s::reshape, view},
    Operator{"Resize", s::resize, resize, "resize"},
    Operator{"ReverseSequence", s::same, movement},
    Operator{"RoiAlign", s::roi_align, per_result, "", 28},
    Operator{"RotaryEmbedding", s::same, rotary_embedding, "rotary_embedding", 3},
    Operator{"Round", s::same, elementwise, "", 1},
    Operator{"Scatter", s::same, movement, "scatter_elements"},
    Operator{"ScatterElements", s::same, movement},
    Operator{"ScatterND", s::same, movement},
    Operator{"Selu", s::same, elementwise, "", 1},
    Operator{"Shape", s::shape, per_result},
    Operator{"Shrink", s::same, elementwise, "", 2},
    Operator{"Sigmoid", s::same, sigmoid, "sigmoid", 1},
    Operator{"Sign", s::same, elementwise, "", 1},
    Operator{"SimplifiedLayerNormalization", s::same, layer_norm, "rms_norm", 4},
    Operator{"Sin", s::same, elementwise, "", 1},
    Operator{"Sinh", s::same, elementwise, "", 1},
    Operator{"Size", s::size, per_result},
    Operator{"Slice", s::slice, pick},
    Operator{"Softmax", s::same, softmax, "softmax", 5},
    Operator{"SoftmaxCrossEntropyLoss", s::cross_entropy, cross_entropy, "", 5},
    Operator{"Softplus", s::same, elementwise, "", 1},
    Operator{"Softsign", s::same, elementwise, "", 1},
    Operator{"SpaceToDepth", s::space_to_depth, movement},
    Operator{"Split", s::split, split, "split"},
    Operator{"Sqrt", s::same, elementwise, "", 1},
    Operator{"Squeeze", s::squeeze, view},
    Operator{"Sub", s::pair, binary, "subtract"},
    Operator{"Sum", s::broadcast, several},
    Operator{"Swish", s::same, elementwise, "silu", 2},
    Operator{"Tan", s::same, elementwise, "", 1},
    Operator{"Tanh", s::same, elementwise, "tanh", 1},
    Operator{"TensorScatter", s::same, movement, "scatter_elements"},
    Operator{"ThresholdedRelu", s::same, elementwise, "", 1},
    Operator{"Tile", s::tile, movement},
    Operator{"TopK", s::top_k, top_k, "top_k"},
    Operator{"Transpose", s::transpose, transpose, "transpose"},
    Operator{"Trilu", s::same, movement},
    Operator{"Unique", s::data_dependent, per_result},
    Operator{"Unsqueeze", s::unsqueeze, view},
    Operator{"Upsample", s::resize, resize, "resize"},
    Operator{"Where", s::where, per_result, "where"},
    Operator{"Xor", s::compare, per_result, "", 1},
};

// What ONNX Runtime adds: fused and quantized layers.
constexpr std::array kMicrosoft = {
    Operator{"Attention", s::attention, attention, "attention"},
    Operator{"BiasAdd", s::same, per_result, "broadcast_add", 2},
    Operator{"BiasGelu", s::same, bias_gelu, "gelu", 5},
    Operator{"BiasSplitGelu", s::split_gelu, split_gelu, "gelu", 8},
    Operator{"DecoderMaskedMultiHeadAttention", s::masked_attention, multi_head_attention,
             "attention"},
    Operator{"DynamicQuantizeMatMul", s::matmul, quantized_matmul},
    Operator{"EmbedLayerNormalization", s::embed_layer_norm, embed_layer_norm, "layer_norm", 7},
    Operator{"FastGelu", s::same, bias_gelu, "gelu", 5},
    Operator{"FusedConv", s::conv, fused_conv},
    Operator{"FusedGemm", s::gemm, gemm},
    Operator{"FusedMatMul", s::fused_matmul, fused_matmul},
    Operator{"GatherBlockQuantized", s::packed_gather, packed_gather, "gather", 2},
    Operator{"GroupNorm", s::fused_group_norm, fused_group_norm, "group_norm", 7},
    Operator{"GroupQueryAttention", s::group_query_attention, group_query_attention, "attention"},
    Operator{"MatMulBnb4", s::packed_matmul, packed_matmul},
    Operator{"MatMulFpQ4", s::packed_matmul, packed_matmul},
    Operator{"MatMulIntegerToFloat", s::matmul, quantized_matmul},
    Operator{"MatMulNBits", s::packed_matmul, packed_matmul},
    Operator{"MoE", s::same, experts, "moe_layers"},
    Operator{"MultiHeadAttention", s::multi_head_attention, multi_head_attention, "attention"},
    Operator{"QAttention", s::attention, attention, "attention"},
    Operator{"QGemm", s::quantized_gemm, quantized_gemm},
    Operator{"QLinearAdd", s::quantized_binary, per_result, "broadcast_add", 5},
    Operator{"QLinearAveragePool", s::pool, pool, "avg_pool", 0},
    Operator{"QLinearGlobalAveragePool", s::global_pool, per_input, "reduce_mean", 1},
    Operator{"QLinearLeakyRelu", s::same, elementwise, "leaky_relu", 4},
    Operator{"QLinearMul", s::quantized_binary, per_result, "broadcast_multiply", 5},
    Operator{"QLinearReduceMean", s::reduce, reduce, "reduce_mean", 1},
    Operator{"QLinearSigmoid", s::same, elementwise, "sigmoid", 4},
    Operator{"QLinearSoftmax", s::same, softmax, "softmax", 5},
    Operator{"QMoE", s::same, experts, "moe_layers"},
    Operator{"QuickGelu", s::same, elementwise, "silu", 3},
    Operator{"RelativePositionBias", s::position_bias, per_result, "gather", 0},
    Operator{"RotaryEmbedding", s::same, rotary_embedding, "rotary_embedding", 3},
    Operator{"SkipGroupNorm", s::fused_group_norm, fused_group_norm, "group_norm", 7},
    Operator{"SkipLayerNormalization", s::skip_norm, skip_layer_norm, "layer_norm", 7},
    Operator{"SkipSimplifiedLayerNormalization", s::skip_norm, skip_layer_norm, "rms_norm", 4},
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
