#include "operators.hpp"

#include "conversions.hpp"
#include "operators/operators.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace emplace::onnx_model {
namespace {

namespace a = attributes;
namespace c = convert;
namespace s = shapes;

// Operators that are one op of our library with nothing to tell: those of one, two and three
// tensors.
constexpr std::array<std::string_view, 3> kAlike = {
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor "
    "Gelu HardSigmoid HardSwish IsInf LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu "
    "Shrink Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu",
    "And BitShift BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual Or "
    "Xor",
    "Where"};

constexpr std::array kStandard = {
    Operator{"Add", "", nullptr, c::binary, nullptr, 2},
    Operator{"ArgMax", "", nullptr, nullptr, a::place},
    Operator{"ArgMin", "", nullptr, nullptr, a::place},
    Operator{"Attention", "attention", s::standard_attention, c::standard_attention},
    Operator{"AveragePool", "avg_pool", nullptr, c::first, a::pooling},
    Operator{"BatchNormalization", "batch_norm", s::batch_norm, c::batch_norm},
    Operator{"Bernoulli", "random", s::random_like},
    Operator{"Cast", "", s::cast, c::cast},
    Operator{"CastLike", "cast", s::cast, c::cast},
    Operator{"Clip", "", nullptr, c::first},
    Operator{"Compress", "", s::data_dependent},
    Operator{"Concat", "", nullptr, nullptr, a::axis<1>},
    Operator{"Constant", "", s::constant},
    Operator{"ConstantOfShape", "zeros", s::constant_of_shape},
    Operator{"Conv", "", nullptr, c::conv, a::convolution, 2},
    Operator{"ConvInteger", "conv", s::conv_integer, c::pair, a::convolution},
    Operator{"ConvTranspose", "", nullptr, c::conv, a::transposed_convolution, 2},
    Operator{"CumSum"},
    Operator{"DepthToSpace", "", s::depth_to_space},
    Operator{"DequantizeLinear", "", s::dequantize, c::first},
    Operator{"Div", "", nullptr, c::binary, nullptr, 2},
    Operator{"Dropout", "", nullptr, c::dropout},
    Operator{"DynamicQuantizeLinear", "", s::dynamic_quantize},
    Operator{"Einsum", "", nullptr, nullptr, a::equation},
    Operator{"Expand", "", s::expand, c::expand},
    Operator{"EyeLike", "", s::random_like},
    Operator{"Flatten", "reshape", s::flatten, c::reshape},
    Operator{"GRU", "", s::recurrent, c::recurrent},
    Operator{"Gather", "", s::gather, c::gather},
    Operator{"GatherElements", "", s::gather_elements, c::gather},
    Operator{"GatherND", "gather", s::gather_nd, c::gather},
    Operator{"Gemm", "matmul", nullptr, c::gemm, a::sides, 2},
    Operator{"GlobalAveragePool", "avg_pool", s::global_pool, c::pool, a::pooling},
    Operator{"GlobalMaxPool", "max_pool", s::global_pool, c::pool, a::pooling},
    Operator{"GridSample", "", s::grid_sample},
    Operator{"GroupNormalization", "group_norm", nullptr, c::norm, a::groups, 3},
    Operator{"Hardmax", "", nullptr, nullptr, a::axis<-1>},
    Operator{"Identity", "", s::same, c::unchanged},
    Operator{"InstanceNormalization", "instance_norm", nullptr, c::norm, a::groups, 3},
    Operator{"IsNaN", "is_nan"},
    Operator{"LRN", "", nullptr, nullptr, a::neighbours},
    Operator{"LSTM", "", s::recurrent, c::recurrent},
    Operator{"LayerNormalization", "layer_norm", s::layer_norm, c::norm, a::axis<-1>},
    Operator{"LogSoftmax", "", nullptr, c::softmax, a::axis<-1>},
    Operator{"LpNormalization", "", nullptr, nullptr, a::axis<-1>},
    Operator{"LpPool", "", nullptr, c::first, a::pooling},
    Operator{"MatMul", "matmul", nullptr, c::matmul, nullptr, 2},
    Operator{"MatMulInteger", "matmul", s::matmul_integer, c::pair},
    Operator{"Max", "", nullptr, c::binary},
    Operator{"MaxPool", "", s::max_pool, c::first, a::pooling},
    Operator{"Mean", "", nullptr, c::several},
    Operator{"MeanVarianceNormalization", "batch_norm", s::same, c::norm},
    Operator{"Min", "", nullptr, c::binary},
    Operator{"Mod", "", nullptr, c::binary, nullptr, 2},
    Operator{"Mul", "multiply", nullptr, c::binary, nullptr, 2},
    Operator{"Multinomial", "random", s::multinomial},
    Operator{"NegativeLogLikelihoodLoss", "", s::cross_entropy},
    Operator{"NonMaxSuppression", "", s::data_dependent},
    Operator{"NonZero", "", s::non_zero},
    Operator{"OneHot", "", s::one_hot},
    Operator{"PRelu", "prelu", s::prelu},
    Operator{"Pad", "", s::pad, c::pad},
    Operator{"Pow", "", nullptr, c::binary, nullptr, 2},
    Operator{"QLinearConv", "conv", s::quantized_conv, c::quantized_conv, a::quantized_convolution},
    Operator{"QLinearMatMul", "matmul", s::quantized_matmul, c::quantized_pair},
    Operator{"QuantizeLinear", "", s::quantize, c::first},
    Operator{"RMSNormalization", "rms_norm", s::same, c::norm, a::axis<-1>},
    Operator{"RNN", "", s::recurrent, c::recurrent},
    Operator{"RandomNormal", "random", s::random},
    Operator{"RandomNormalLike", "random", s::random_like},
    Operator{"RandomUniform", "random", s::random},
    Operator{"RandomUniformLike", "random", s::random_like},
    Operator{"Range", "", s::range},
    Operator{"ReduceL1", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceL2", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceLogSum", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceLogSumExp", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceMax", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceMean", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceMin", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceProd", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceSum", "", s::reduce, nullptr, a::reduction},
    Operator{"ReduceSumSquare", "", s::reduce, nullptr, a::reduction},
    Operator{"Reshape", "", s::reshape, c::reshape},
    Operator{"Resize", "", s::resize, c::first, a::mode},
    Operator{"ReverseSequence", "", s::same},
    Operator{"RoiAlign", "", s::roi_align},
    Operator{"RotaryEmbedding", "", s::same},
    Operator{"Scatter", "scatter_elements", s::same},
    Operator{"ScatterElements", "", s::same},
    Operator{"ScatterND", "", s::same},
    Operator{"Shape", "", s::shape},
    Operator{"Sigmoid", "", nullptr, c::sigmoid},
    Operator{"SimplifiedLayerNormalization", "rms_norm", s::same, c::norm, a::axis<-1>},
    Operator{"Size", "", s::size},
    Operator{"Slice", "", s::slice, c::slice},
    Operator{"Softmax", "", nullptr, c::softmax, a::axis<-1>},
    Operator{"SoftmaxCrossEntropyLoss", "", s::cross_entropy, c::cross_entropy},
    Operator{"SpaceToDepth", "", s::space_to_depth},
    Operator{"Split", "", s::split, c::split, a::axis<0>},
    Operator{"Squeeze", "reshape", s::squeeze, c::reshape},
    Operator{"Sub", "subtract", nullptr, c::binary, nullptr, 2},
    Operator{"Sum", "", nullptr, c::several},
    Operator{"Swish", "silu"},
    Operator{"TensorScatter", "scatter_elements", s::same},
    Operator{"Tile", "", s::tile},
    Operator{"TopK", "", s::top_k, c::first, a::axis<-1>},
    Operator{"Transpose", "", nullptr, c::transpose, a::permutation},
    Operator{"Trilu", "", s::same},
    Operator{"Unique", "", s::data_dependent},
    Operator{"Unsqueeze", "reshape", s::unsqueeze, c::reshape},
    Operator{"Upsample", "resize", s::resize, c::first, a::mode},
};

// What ONNX Runtime adds: fused and quantized layers.
constexpr std::array kMicrosoft = {
    Operator{"Attention", "attention", s::attention, c::attention},
    Operator{"BiasAdd", "add", s::same, c::bias_add},
    Operator{"BiasGelu", "gelu", s::same, c::bias_gelu},
    Operator{"BiasSplitGelu", "gelu", s::split_gelu, c::split_gelu},
    Operator{"DecoderMaskedMultiHeadAttention", "attention", s::masked_attention,
             c::masked_attention},
    Operator{"DynamicQuantizeMatMul", "matmul", nullptr, c::pair, nullptr, 2},
    Operator{"EmbedLayerNormalization", "layer_norm", s::embed_layer_norm, c::embed_layer_norm},
    Operator{"FastGelu", "gelu", s::same, c::bias_gelu},
    Operator{"FusedConv", "conv", nullptr, c::fused_conv, a::convolution, 2},
    Operator{"FusedGemm", "matmul", nullptr, c::gemm, a::sides, 2},
    Operator{"FusedMatMul", "matmul", nullptr, c::pair, a::sides, 2},
    Operator{"GatherBlockQuantized", "quantized_gather", s::packed_gather, c::packed_gather},
    Operator{"GroupNorm", "group_norm", s::fused_group_norm, c::fused_group_norm, a::groups},
    Operator{"GroupQueryAttention", "attention", s::group_query_attention,
             c::group_query_attention},
    Operator{"MatMulBnb4", "matmul", s::packed_matmul, c::packed_matmul},
    Operator{"MatMulFpQ4", "matmul", s::packed_matmul, c::packed_matmul},
    Operator{"MatMulIntegerToFloat", "matmul", nullptr, c::pair, nullptr, 2},
    Operator{"MatMulNBits", "matmul", s::packed_matmul, c::packed_matmul},
    Operator{"MoE", "moe_layers", s::same, c::experts},
    Operator{"MultiHeadAttention", "attention", s::multi_head_attention, c::multi_head_attention},
    Operator{"QAttention", "attention", s::attention, c::attention},
    Operator{"QGemm", "matmul", s::quantized_gemm, c::quantized_gemm, a::sides},
    Operator{"QLinearAdd", "add", s::quantized_binary, c::quantized_pair},
    Operator{"QLinearAveragePool", "avg_pool", nullptr, c::first, a::pooling},
    Operator{"QLinearGlobalAveragePool", "avg_pool", s::global_pool, c::pool, a::pooling},
    Operator{"QLinearLeakyRelu", "leaky_relu", nullptr, c::first},
    Operator{"QLinearMul", "multiply", s::quantized_binary, c::quantized_pair},
    Operator{"QLinearReduceMean", "reduce_mean", s::reduce, nullptr, a::reduction},
    Operator{"QLinearSigmoid", "sigmoid", nullptr, c::first},
    Operator{"QLinearSoftmax", "softmax", nullptr, c::softmax, a::axis<-1>},
    Operator{"QMoE", "moe_layers", s::same, c::experts},
    Operator{"QuickGelu", "silu"},
    Operator{"RelativePositionBias", "gather", s::position_bias},
    Operator{"SkipGroupNorm", "group_norm", s::fused_group_norm, c::fused_group_norm, a::groups},
    Operator{"SkipLayerNormalization", "layer_norm", s::skip_norm, c::skip_layer_norm},
    Operator{"SkipSimplifiedLayerNormalization", "rms_norm", s::skip_norm, c::skip_layer_norm},
};

using Rows = std::map<std::string_view, Operator>;

void add_row(Rows& rows, Operator row) {
  if (row.kind.empty()) {
    const operators::Operator* alike = operators::find(kind_of(row.op_type));
    row.kind = alike == nullptr ? "" : alike->kind.name;
  }
  row.convert = row.convert == nullptr ? c::plain : row.convert;
  rows.emplace(row.op_type, row);
}

const Rows& standard_rows() {
  static const Rows standard = [] {
    Rows rows;
    for (const Operator& row : kStandard) {
      add_row(rows, row);
    }
    for (std::size_t inputs = 1; const std::string_view names : kAlike) {
      for (const std::string_view name : operators::names_in(names)) {
        add_row(rows,
                {.op_type = name, .convert = inputs == 1 ? c::first : c::plain, .inputs = inputs});
      }
      ++inputs;
    }
    return rows;
  }();
  return standard;
}

const Rows& microsoft_rows() {
  static const Rows microsoft = [] {
    Rows rows = standard_rows();
    for (const Operator& row : kMicrosoft) {
      rows.erase(row.op_type);
      add_row(rows, row);
    }
    return rows;
  }();
  return microsoft;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view op_type) {
  const bool is_microsoft = domain == "com.microsoft";
  if (!is_microsoft && !is_standard_domain(domain)) {
    return nullptr;
  }
  const Rows& rows = is_microsoft ? microsoft_rows() : standard_rows();
  const auto found = rows.find(op_type);
  return found != rows.end() ? &found->second : nullptr;
}

Attributes attributes_of(const NodeView& node, const Operator& row) {
  return row.attributes == nullptr ? Attributes() : row.attributes(node);
}

void infer_results(Inference& node, const Operator& row) {
  if (row.infer != nullptr) {
    return row.infer(node);
  }
  for (std::size_t i = 0; i < row.inputs; ++i) {
    node.value(i);  // throws where there is none
  }
  s::by_library(node, row.kind, attributes_of(node, row));
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
