#include "shapes.hpp"

#include "../assemble.hpp"
#include "shape_rules.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace emplace::tensorflow {
namespace {

// What a rule needs of its inputs, one letter each: a shape (s), integers (i) or nothing (.); a
// star repeats the letter before it.
struct Row {
  std::string_view op;
  Results (*rule)(const Call&);
  std::string_view needs = "s";
};

// Sorted by operator.
constexpr std::array kRows = {
    Row{"Abs", shapes::same},
    Row{"Add", shapes::broadcast_all, "ss"},
    Row{"AddN", shapes::same, "s"},
    Row{"AddV2", shapes::broadcast_all, "ss"},
    Row{"All", shapes::reduce, "si"},
    Row{"Any", shapes::reduce, "si"},
    Row{"ApplyAdadelta", shapes::same},
    Row{"ApplyAdagrad", shapes::same},
    Row{"ApplyAdam", shapes::same},
    Row{"ApplyGradientDescent", shapes::same},
    Row{"ApplyMomentum", shapes::same},
    Row{"ApplyRMSProp", shapes::same},
    Row{"ArgMax", shapes::arg_of, "si"},
    Row{"ArgMin", shapes::arg_of, "si"},
    Row{"Assign", shapes::select, ".s"},
    Row{"AssignAdd", shapes::same},
    Row{"AssignSub", shapes::same},
    Row{"AvgPool", shapes::pool},
    Row{"AvgPool3D", shapes::pool},
    Row{"AvgPoolGrad", shapes::first_integers, "i"},
    Row{"BatchMatMul", shapes::matmul, "ss"},
    Row{"BatchMatMulV2", shapes::matmul, "ss"},
    Row{"BatchMatMulV3", shapes::matmul, "ss"},
    Row{"BatchToSpaceND", shapes::batch_to_space, "sii"},
    Row{"BiasAdd", shapes::bias_add, "ss"},
    Row{"BiasAddGrad", shapes::bias_gradient},
    Row{"BroadcastTo", shapes::second_integers, "si"},
    Row{"Cast", shapes::same},
    Row{"Ceil", shapes::same},
    Row{"CheckNumerics", shapes::same},
    Row{"ClipByValue", shapes::same},
    Row{"Concat", shapes::concat, ""},
    Row{"ConcatV2", shapes::concat_v2, ""},
    Row{"Conv2D", shapes::convolution, "ss"},
    Row{"Conv2DBackpropFilter", shapes::second_integers, ".i"},
    Row{"Conv2DBackpropInput", shapes::first_integers, "i"},
    Row{"Conv3D", shapes::convolution, "ss"},
    Row{"Conv3DBackpropInputV2", shapes::first_integers, "i"},
    Row{"Cos", shapes::same},
    Row{"CropAndResize", shapes::crop_and_resize, "ss.i"},
    Row{"Cumprod", shapes::same},
    Row{"Cumsum", shapes::same},
    Row{"DepthToSpace", shapes::depth_to_space},
    Row{"DepthwiseConv2dNative", shapes::depthwise_convolution, "ss"},
    Row{"DepthwiseConv2dNativeBackpropFilter", shapes::second_integers, ".i"},
    Row{"DepthwiseConv2dNativeBackpropInput", shapes::first_integers, "i"},
    Row{"Dequantize", shapes::same},
    Row{"Div", shapes::broadcast_all, "ss"},
    Row{"DivNoNan", shapes::broadcast_all, "ss"},
    Row{"Einsum", shapes::einsum, "s*"},
    Row{"Elu", shapes::same},
    Row{"EnsureShape", shapes::same},
    Row{"Equal", shapes::broadcast_all, "ss"},
    Row{"Erf", shapes::same},
    Row{"Exp", shapes::same},
    Row{"ExpandDims", shapes::expand_dims, "si"},
    Row{"FakeQuantWithMinMaxArgs", shapes::same},
    Row{"FakeQuantWithMinMaxVars", shapes::same},
    Row{"FakeQuantWithMinMaxVarsPerChannel", shapes::same},
    Row{"Fill", shapes::first_integers, "i"},
    Row{"Floor", shapes::same},
    Row{"FloorDiv", shapes::broadcast_all, "ss"},
    Row{"FloorMod", shapes::broadcast_all, "ss"},
    Row{"FusedBatchNorm", shapes::batch_norm, "ss"},
    Row{"FusedBatchNormGrad", shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV2", shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV3", shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormV2", shapes::batch_norm, "ss"},
    Row{"FusedBatchNormV3", shapes::batch_norm, "ss"},
    Row{"Gather", shapes::gather, "ss"},
    Row{"GatherNd", shapes::gather_nd, "ss"},
    Row{"GatherV2", shapes::gather_v2, "ssi"},
    Row{"Greater", shapes::broadcast_all, "ss"},
    Row{"GreaterEqual", shapes::broadcast_all, "ss"},
    Row{"Identity", shapes::same},
    Row{"IdentityN", shapes::each_same, ""},
    Row{"InvertPermutation", shapes::same},
    Row{"IsFinite", shapes::same},
    Row{"IsNan", shapes::same},
    Row{"L2Loss", shapes::scalar_result, ""},
    Row{"LRN", shapes::same},
    Row{"LSTMBlockCell", shapes::lstm_block_cell, ".s"},
    Row{"LeakyRelu", shapes::same},
    Row{"Less", shapes::broadcast_all, "ss"},
    Row{"LessEqual", shapes::broadcast_all, "ss"},
    Row{"Log", shapes::same},
    Row{"Log1p", shapes::same},
    Row{"LogSoftmax", shapes::same},
    Row{"LogicalAnd", shapes::broadcast_all, "ss"},
    Row{"LogicalNot", shapes::same},
    Row{"LogicalOr", shapes::broadcast_all, "ss"},
    Row{"MatMul", shapes::matmul, "ss"},
    Row{"MatrixBandPart", shapes::same},
    Row{"Max", shapes::reduce, "si"},
    Row{"MaxPool", shapes::pool},
    Row{"MaxPool3D", shapes::pool},
    Row{"MaxPoolGrad", shapes::same},
    Row{"MaxPoolWithArgmax", shapes::pool},
    Row{"Maximum", shapes::broadcast_all, "ss"},
    Row{"Mean", shapes::reduce, "si"},
    Row{"Merge", shapes::merge, ""},
    Row{"Min", shapes::reduce, "si"},
    Row{"Minimum", shapes::broadcast_all, "ss"},
    Row{"MirrorPad", shapes::pad, "si"},
    Row{"Mod", shapes::broadcast_all, "ss"},
    Row{"Mul", shapes::broadcast_all, "ss"},
    Row{"Neg", shapes::same},
    Row{"NotEqual", shapes::broadcast_all, "ss"},
    Row{"OneHot", shapes::one_hot, "si"},
    Row{"OnesLike", shapes::same},
    Row{"Pack", shapes::pack, "s*"},
    Row{"Pad", shapes::pad, "si"},
    Row{"PadV2", shapes::pad, "si"},
    Row{"PlaceholderWithDefault", shapes::same},
    Row{"Pow", shapes::broadcast_all, "ss"},
    Row{"PreventGradient", shapes::same},
    Row{"Prod", shapes::reduce, "si"},
    Row{"RandomStandardNormal", shapes::first_integers, "i"},
    Row{"RandomUniform", shapes::first_integers, "i"},
    Row{"Range", shapes::range, "iii"},
    Row{"Rank", shapes::scalar_result},
    Row{"ReadVariableOp", shapes::same},
    Row{"RealDiv", shapes::broadcast_all, "ss"},
    Row{"Reciprocal", shapes::same},
    Row{"Relu", shapes::same},
    Row{"Relu6", shapes::same},
    Row{"Relu6Grad", shapes::same},
    Row{"ReluGrad", shapes::same},
    Row{"Reshape", shapes::reshape, "si"},
    Row{"ResizeArea", shapes::resize, "si"},
    Row{"ResizeBicubic", shapes::resize, "si"},
    Row{"ResizeBilinear", shapes::resize, "si"},
    Row{"ResizeNearestNeighbor", shapes::resize, "si"},
    Row{"ResourceGather", shapes::gather, "ss"},
    Row{"ReverseV2", shapes::same},
    Row{"Round", shapes::same},
    Row{"Rsqrt", shapes::same},
    Row{"RsqrtGrad", shapes::same},
    Row{"Select", shapes::select, ".s"},
    Row{"SelectV2", shapes::broadcast_all, "sss"},
    Row{"Selu", shapes::same},
    Row{"Shape", shapes::shape_of},
    Row{"ShapeN", shapes::shapes_of, ""},
    Row{"Sigmoid", shapes::same},
    Row{"SigmoidGrad", shapes::same},
    Row{"Sign", shapes::same},
    Row{"Sin", shapes::same},
    Row{"Size", shapes::scalar_result},
    Row{"Slice", shapes::slice, "sii"},
    Row{"Snapshot", shapes::same},
    Row{"Softmax", shapes::same},
    Row{"SoftmaxCrossEntropyWithLogits", shapes::cross_entropy},
    Row{"Softplus", shapes::same},
    Row{"Softsign", shapes::same},
    Row{"SpaceToBatchND", shapes::space_to_batch, "sii"},
    Row{"SpaceToDepth", shapes::space_to_depth},
    Row{"SparseMatMul", shapes::matmul, "ss"},
    Row{"SparseSoftmaxCrossEntropyWithLogits", shapes::cross_entropy},
    Row{"Split", shapes::split, "is"},
    Row{"SplitV", shapes::split_v, "sii"},
    Row{"Sqrt", shapes::same},
    Row{"Square", shapes::same},
    Row{"SquaredDifference", shapes::broadcast_all, "ss"},
    Row{"Squeeze", shapes::squeeze},
    Row{"StopGradient", shapes::same},
    Row{"StridedSlice", shapes::strided_slice, "siii"},
    Row{"Sub", shapes::broadcast_all, "ss"},
    Row{"Sum", shapes::reduce, "si"},
    Row{"Switch", shapes::switch_results},
    Row{"Tanh", shapes::same},
    Row{"TanhGrad", shapes::same},
    Row{"Tile", shapes::tile, "si"},
    Row{"TopKV2", shapes::top_k, "si"},
    Row{"Transpose", shapes::transpose, "si"},
    Row{"TruncatedNormal", shapes::first_integers, "i"},
    Row{"Unpack", shapes::unpack},
    Row{"Xdivy", shapes::broadcast_all, "ss"},
    Row{"ZerosLike", shapes::same},
    Row{"_FusedBatchNormEx", shapes::batch_norm, "ss"},
    Row{"_FusedConv2D", shapes::convolution, "ss"},
    Row{"_FusedDepthwiseConv2dNative", shapes::depthwise_convolution, "ss"},
    Row{"_FusedMatMul", shapes::matmul, "ss"},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

const Row* find_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return found != kRows.end() && found->op == op ? &*found : nullptr;
}

bool has_needs(const Row& row, std::span<const Value> inputs) {
  char letter = '.';
  const bool repeats = row.needs.ends_with('*');
  const std::size_t num_letters = row.needs.size() - (repeats ? 1 : 0);
  if (inputs.size() < num_letters) {
    return false;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    letter = i < num_letters ? row.needs[i] : repeats ? letter : '.';
    if ((letter == 's' && !inputs[i].shape) || (letter == 'i' && !inputs[i].integers)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void refuse(const std::string& message) { throw Error(ErrorCode::kFormat, message); }

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void expect_rank(const Call& call, std::size_t input, std::size_t rank) {
  if (call.rank(input) != rank) {
    refuse(fmt::format("expected {} dimensions at input {}, found {}", rank, input,
                       text_of(call.shape(input))));
  }
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (place < 0 || std::cmp_greater_equal(place, rank)) {
    refuse(fmt::format("there is no dimension {} of {}", axis, rank));
  }
  return static_cast<std::size_t>(place);
}

MapLayout layout_of(const proto::NodeDef& node, std::size_t rank) {
  const std::string format = text_attribute(node, "data_format", rank == 5 ? "NDHWC" : "NHWC");
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW") {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the data_format '{}' is not supported", excerpt(format)));
  }
  if (format.size() != rank) {
    refuse(
        fmt::format("expected maps of {} dimensions ({}), found {}", format.size(), format, rank));
  }
  return format[1] == 'C' ? MapLayout{.channels = 1, .first = 2, .spatial = rank - 2}
                          : MapLayout{.channels = rank - 1, .first = 1, .spatial = rank - 2};
}

bool has_shape_rule(std::string_view op) { return find_row(op) != nullptr; }

std::vector<Value> infer(const proto::NodeDef& node, std::span<const Value> inputs) {
  const Row* const row = find_row(node.op());
  if (row == nullptr || !has_needs(*row, inputs)) {
    return {};
  }
  const Call call{.node = node, .inputs = inputs};
  std::vector<Value> values;
  for (std::optional<Shape>& shape : row->rule(call)) {
    if (shape && shape->size() > kMaxRank) {
      shape.reset();
    }
    if (shape && std::ranges::any_of(*shape, [](auto extent) { return extent < 0; })) {
      refuse(fmt::format("its result would have the shape {}", text_of(*shape)));
    }
    values.push_back({.shape = std::move(shape)});
  }
  const std::optional<Shape> first = values.empty() ? std::nullopt : values[0].shape;
  if (first && first->size() <= 1 && product(*first) <= kMaxElements) {
    auto integers = fold(call, *first);
    if (integers && std::ssize(*integers) == product(*first)) {
      values[0].integers = std::move(integers);
    }
  }
  return values;
}

}  // namespace emplace::tensorflow
