#include "shapes.hpp"

#include "model/assemble.hpp"
#include "shape_rules.hpp"

#include <emplace/base/error.hpp>

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
struct ShapeRow {
  std::string_view op;
  Results (*rule)(const ShapeCall&);
  std::string_view needs = "s";
};

// Sorted by operator.
constexpr std::array kShapeRows = {
    ShapeRow{"Abs", shapes::same},
    ShapeRow{"Add", shapes::broadcast_all, "ss"},
    ShapeRow{"AddN", shapes::same, "s"},
    ShapeRow{"AddV2", shapes::broadcast_all, "ss"},
    ShapeRow{"All", shapes::reduce, "si"},
    ShapeRow{"Any", shapes::reduce, "si"},
    ShapeRow{"ApplyAdadelta", shapes::same},
    ShapeRow{"ApplyAdagrad", shapes::same},
    ShapeRow{"ApplyAdam", shapes::same},
    ShapeRow{"ApplyGradientDescent", shapes::same},
    ShapeRow{"ApplyMomentum", shapes::same},
    ShapeRow{"ApplyRMSProp", shapes::same},
    ShapeRow{"ArgMax", shapes::arg_of, "si"},
    ShapeRow{"ArgMin", shapes::arg_of, "si"},
    ShapeRow{"Assign", shapes::select, ".s"},
    ShapeRow{"AssignAdd", shapes::same},
    ShapeRow{"AssignSub", shapes::same},
    ShapeRow{"AvgPool", shapes::pool},
    ShapeRow{"AvgPool3D", shapes::pool},
    ShapeRow{"AvgPoolGrad", shapes::first_integers, "i"},
    ShapeRow{"BatchMatMul", shapes::matmul, "ss"},
    ShapeRow{"BatchMatMulV2", shapes::matmul, "ss"},
    ShapeRow{"BatchMatMulV3", shapes::matmul, "ss"},
    ShapeRow{"BatchToSpaceND", shapes::batch_to_space, "sii"},
    ShapeRow{"BiasAdd", shapes::bias_add, "ss"},
    ShapeRow{"BiasAddGrad", shapes::bias_gradient},
    ShapeRow{"BroadcastTo", shapes::second_integers, "si"},
    ShapeRow{"Cast", shapes::same},
    ShapeRow{"Ceil", shapes::same},
    ShapeRow{"CheckNumerics", shapes::same},
    ShapeRow{"ClipByValue", shapes::same},
    ShapeRow{"Concat", shapes::concat, ""},
    ShapeRow{"ConcatV2", shapes::concat_v2, ""},
    ShapeRow{"Conv2D", shapes::convolution, "ss"},
    ShapeRow{"Conv2DBackpropFilter", shapes::second_integers, ".i"},
    ShapeRow{"Conv2DBackpropInput", shapes::first_integers, "i"},
    ShapeRow{"Conv3D", shapes::convolution, "ss"},
    ShapeRow{"Conv3DBackpropInputV2", shapes::first_integers, "i"},
    ShapeRow{"Cos", shapes::same},
    ShapeRow{"CropAndResize", shapes::crop_and_resize, "ss.i"},
    ShapeRow{"Cumprod", shapes::same},
    ShapeRow{"Cumsum", shapes::same},
    ShapeRow{"DepthToSpace", shapes::depth_to_space},
    ShapeRow{"DepthwiseConv2dNative", shapes::convolution, "ss"},
    ShapeRow{"DepthwiseConv2dNativeBackpropFilter", shapes::second_integers, ".i"},
    ShapeRow{"DepthwiseConv2dNativeBackpropInput", shapes::first_integers, "i"},
    ShapeRow{"Dequantize", shapes::same},
    ShapeRow{"Div", shapes::broadcast_all, "ss"},
    ShapeRow{"DivNoNan", shapes::broadcast_all, "ss"},
    ShapeRow{"Einsum", shapes::einsum, "s*"},
    ShapeRow{"Elu", shapes::same},
    ShapeRow{"EnsureShape", shapes::same},
    ShapeRow{"Equal", shapes::broadcast_all, "ss"},
    ShapeRow{"Erf", shapes::same},
    ShapeRow{"Exp", shapes::same},
    ShapeRow{"ExpandDims", shapes::expand_dims, "si"},
    ShapeRow{"FakeQuantWithMinMaxArgs", shapes::same},
    ShapeRow{"FakeQuantWithMinMaxVars", shapes::same},
    ShapeRow{"FakeQuantWithMinMaxVarsPerChannel", shapes::same},
    ShapeRow{"Fill", shapes::first_integers, "i"},
    ShapeRow{"Floor", shapes::same},
    ShapeRow{"FloorDiv", shapes::broadcast_all, "ss"},
    ShapeRow{"FloorMod", shapes::broadcast_all, "ss"},
    ShapeRow{"FusedBatchNorm", shapes::batch_norm, "ss"},
    ShapeRow{"FusedBatchNormGrad", shapes::batch_norm_gradient, "s.s"},
    ShapeRow{"FusedBatchNormGradV2", shapes::batch_norm_gradient, "s.s"},
    ShapeRow{"FusedBatchNormGradV3", shapes::batch_norm_gradient, "s.s"},
    ShapeRow{"FusedBatchNormV2", shapes::batch_norm, "ss"},
    ShapeRow{"FusedBatchNormV3", shapes::batch_norm, "ss"},
    ShapeRow{"Gather", shapes::gather, "ss"},
    ShapeRow{"GatherNd", shapes::gather_nd, "ss"},
    ShapeRow{"GatherV2", shapes::gather_v2, "ssi"},
    ShapeRow{"Greater", shapes::broadcast_all, "ss"},
    ShapeRow{"GreaterEqual", shapes::broadcast_all, "ss"},
    ShapeRow{"Identity", shapes::same},
    ShapeRow{"IdentityN", shapes::each_same, ""},
    ShapeRow{"InvertPermutation", shapes::same},
    ShapeRow{"IsFinite", shapes::same},
    ShapeRow{"IsNan", shapes::same},
    ShapeRow{"L2Loss", shapes::scalar_result, ""},
    ShapeRow{"LRN", shapes::same},
    ShapeRow{"LSTMBlockCell", shapes::lstm_block_cell, ".s"},
    ShapeRow{"LeakyRelu", shapes::same},
    ShapeRow{"Less", shapes::broadcast_all, "ss"},
    ShapeRow{"LessEqual", shapes::broadcast_all, "ss"},
    ShapeRow{"Log", shapes::same},
    ShapeRow{"Log1p", shapes::same},
    ShapeRow{"LogSoftmax", shapes::same},
    ShapeRow{"LogicalAnd", shapes::broadcast_all, "ss"},
    ShapeRow{"LogicalNot", shapes::same},
    ShapeRow{"LogicalOr", shapes::broadcast_all, "ss"},
    ShapeRow{"MatMul", shapes::matmul, "ss"},
    ShapeRow{"MatrixBandPart", shapes::same},
    ShapeRow{"Max", shapes::reduce, "si"},
    ShapeRow{"MaxPool", shapes::pool},
    ShapeRow{"MaxPool3D", shapes::pool},
    ShapeRow{"MaxPoolGrad", shapes::same},
    ShapeRow{"MaxPoolWithArgmax", shapes::pool},
    ShapeRow{"Maximum", shapes::broadcast_all, "ss"},
    ShapeRow{"Mean", shapes::reduce, "si"},
    ShapeRow{"Merge", shapes::merge, ""},
    ShapeRow{"Min", shapes::reduce, "si"},
    ShapeRow{"Minimum", shapes::broadcast_all, "ss"},
    ShapeRow{"MirrorPad", shapes::pad, "si"},
    ShapeRow{"Mod", shapes::broadcast_all, "ss"},
    ShapeRow{"Mul", shapes::broadcast_all, "ss"},
    ShapeRow{"Neg", shapes::same},
    ShapeRow{"NotEqual", shapes::broadcast_all, "ss"},
    ShapeRow{"OneHot", shapes::one_hot, "si"},
    ShapeRow{"OnesLike", shapes::same},
    ShapeRow{"Pack", shapes::pack, "s*"},
    ShapeRow{"Pad", shapes::pad, "si"},
    ShapeRow{"PadV2", shapes::pad, "si"},
    ShapeRow{"PlaceholderWithDefault", shapes::same},
    ShapeRow{"Pow", shapes::broadcast_all, "ss"},
    ShapeRow{"PreventGradient", shapes::same},
    ShapeRow{"Prod", shapes::reduce, "si"},
    ShapeRow{"RandomStandardNormal", shapes::first_integers, "i"},
    ShapeRow{"RandomUniform", shapes::first_integers, "i"},
    ShapeRow{"Range", shapes::range, "iii"},
    ShapeRow{"Rank", shapes::scalar_result},
    ShapeRow{"ReadVariableOp", shapes::same},
    ShapeRow{"RealDiv", shapes::broadcast_all, "ss"},
    ShapeRow{"Reciprocal", shapes::same},
    ShapeRow{"Relu", shapes::same},
    ShapeRow{"Relu6", shapes::same},
    ShapeRow{"Relu6Grad", shapes::same},
    ShapeRow{"ReluGrad", shapes::same},
    ShapeRow{"Reshape", shapes::reshape, "si"},
    ShapeRow{"ResizeArea", shapes::resize, "si"},
    ShapeRow{"ResizeBicubic", shapes::resize, "si"},
    ShapeRow{"ResizeBilinear", shapes::resize, "si"},
    ShapeRow{"ResizeNearestNeighbor", shapes::resize, "si"},
    ShapeRow{"ResourceGather", shapes::gather, "ss"},
    ShapeRow{"ReverseV2", shapes::same},
    ShapeRow{"Round", shapes::same},
    ShapeRow{"Rsqrt", shapes::same},
    ShapeRow{"RsqrtGrad", shapes::same},
    ShapeRow{"Select", shapes::select, ".s"},
    ShapeRow{"SelectV2", shapes::broadcast_all, "sss"},
    ShapeRow{"Selu", shapes::same},
    ShapeRow{"Shape", shapes::shape_of},
    ShapeRow{"ShapeN", shapes::shapes_of, ""},
    ShapeRow{"Sigmoid", shapes::same},
    ShapeRow{"SigmoidGrad", shapes::same},
    ShapeRow{"Sign", shapes::same},
    ShapeRow{"Sin", shapes::same},
    ShapeRow{"Size", shapes::scalar_result},
    ShapeRow{"Slice", shapes::slice, "sii"},
    ShapeRow{"Snapshot", shapes::same},
    ShapeRow{"Softmax", shapes::same},
    ShapeRow{"SoftmaxCrossEntropyWithLogits", shapes::cross_entropy},
    ShapeRow{"Softplus", shapes::same},
    ShapeRow{"Softsign", shapes::same},
    ShapeRow{"SpaceToBatchND", shapes::space_to_batch, "sii"},
    ShapeRow{"SpaceToDepth", shapes::space_to_depth},
    ShapeRow{"SparseMatMul", shapes::matmul, "ss"},
    ShapeRow{"SparseSoftmaxCrossEntropyWithLogits", shapes::cross_entropy},
    ShapeRow{"Split", shapes::split, "is"},
    ShapeRow{"SplitV", shapes::split_v, "sii"},
    ShapeRow{"Sqrt", shapes::same},
    ShapeRow{"Square", shapes::same},
    ShapeRow{"SquaredDifference", shapes::broadcast_all, "ss"},
    ShapeRow{"Squeeze", shapes::squeeze},
    ShapeRow{"StopGradient", shapes::same},
    ShapeRow{"StridedSlice", shapes::strided_slice, "siii"},
    ShapeRow{"Sub", shapes::broadcast_all, "ss"},
    ShapeRow{"Sum", shapes::reduce, "si"},
    ShapeRow{"Switch", shapes::switch_results},
    ShapeRow{"Tanh", shapes::same},
    ShapeRow{"TanhGrad", shapes::same},
    ShapeRow{"Tile", shapes::tile, "si"},
    ShapeRow{"TopKV2", shapes::top_k, "si"},
    ShapeRow{"Transpose", shapes::transpose, "si"},
    ShapeRow{"TruncatedNormal", shapes::first_integers, "i"},
    ShapeRow{"Unpack", shapes::unpack},
    ShapeRow{"Xdivy", shapes::broadcast_all, "ss"},
    ShapeRow{"ZerosLike", shapes::same},
    ShapeRow{"_FusedBatchNormEx", shapes::batch_norm, "ss"},
    ShapeRow{"_FusedConv2D", shapes::convolution, "ss"},
    ShapeRow{"_FusedDepthwiseConv2dNative", shapes::convolution, "ss"},
    ShapeRow{"_FusedMatMul", shapes::matmul, "ss"},
};

static_assert(std::ranges::is_sorted(kShapeRows, {}, &ShapeRow::op));

const ShapeRow* find_shape_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kShapeRows, op, {}, &ShapeRow::op);
  return found != kShapeRows.end() && found->op == op ? &*found : nullptr;
}

bool has_needs(const ShapeRow& row, std::span<const KnownTensor> inputs) {
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

void expect_rank(const ShapeCall& call, std::size_t input, std::size_t rank) {
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

bool has_shape_rule(std::string_view op) { return find_shape_row(op) != nullptr; }

std::vector<KnownTensor> infer(const proto::NodeDef& node, std::span<const KnownTensor> inputs) {
  const ShapeRow* const row = find_shape_row(node.op());
  if (row == nullptr || !has_needs(*row, inputs)) {
    return {};
  }
  const ShapeCall call{.node = node, .inputs = inputs};
  std::vector<KnownTensor> values;
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
