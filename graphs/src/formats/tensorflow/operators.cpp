#include "operators.hpp"

#include "model/assemble.hpp"
#include "shape_rules.hpp"
#include "translations.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace emplace::tensorflow {
namespace {

namespace to = translations;

// Says which operator of our library an operator is.
struct Row {
  std::string_view op;
  std::string_view name;  // of the library's operator; empty: it has none
  // Places of the inputs that the library reads, in its order; "*" for all, "-*" and "*-" for all
  // but the first or the last.
  std::string_view reads = "0";
  Translate translate = nullptr;               // null: there are no attributes
  Results (*rule)(const NodeCall&) = nullptr;  // for shapes; null: as the library infers
  // What the rule needs of the inputs, one letter each: a shape (s), integers (i) or nothing (.); a
  // star repeats the letter before it.
  std::string_view needs = "s";
  bool is_heavy = false;
};

constexpr Row heavy(Row row) {
  row.is_heavy = true;
  return row;
}

// Of heavy work that the library does not have.
constexpr Row unknown(std::string_view op) { return {.op = op, .name = "", .is_heavy = true}; }

// Reads its first input, and has no attributes.
constexpr Row ruled(std::string_view op, std::string_view name, Results (*rule)(const NodeCall&),
                    std::string_view needs = "s") {
  return {.op = op, .name = name, .rule = rule, .needs = needs};
}

// Sorted by operator.
constexpr std::array kRows = {
    Row{"Abs", "abs"},
    Row{"Add", "add", "01", to::pair},
    Row{"AddN", "add_n", "*", nullptr, shapes::same},
    Row{"AddV2", "add", "01", to::pair},
    Row{"All", "reduce_min", "0", to::reduce},
    Row{"Any", "reduce_max", "0", to::reduce},
    ruled("ApplyAdadelta", "", shapes::same),
    ruled("ApplyAdagrad", "", shapes::same),
    Row{"ApplyAdam", "optimizer_update", "9012", to::update, shapes::same},
    Row{"ApplyGradientDescent", "optimizer_update", "20", to::update, shapes::same},
    Row{"ApplyMomentum", "optimizer_update", "301", to::update, shapes::same},
    Row{"ApplyRMSProp", "optimizer_update", "7012", to::update, shapes::same},
    Row{"ArgMax", "arg_max", "0", to::reduce},
    Row{"ArgMin", "arg_min", "0", to::reduce},
    ruled("Assign", "", shapes::second, ".s"),
    ruled("AssignAdd", "", shapes::same),
    ruled("AssignSub", "", shapes::same),
    Row{"AvgPool", "avg_pool", "0", to::pool},
    Row{"AvgPool3D", "avg_pool", "0", to::pool},
    Row{"AvgPoolGrad", "avg_pool_backward", "1", to::pool_gradient, shapes::first_integers, "i"},
    heavy({"BatchMatMul", "batch_matmul", "01", to::matmul}),
    heavy({"BatchMatMulV2", "batch_matmul", "01", to::matmul}),
    heavy({"BatchMatMulV3", "batch_matmul", "01", to::matmul}),
    ruled("BatchToSpaceND", "copy", shapes::batch_to_space, "sii"),
    Row{"BiasAdd", "bias_add", "01", to::bias},
    Row{"BiasAddGrad", "bias_add_backward", "0", to::bias, shapes::bias_gradient},
    unknown("BlockLSTM"),
    unknown("BlockLSTMV2"),
    ruled("BroadcastTo", "expand", shapes::second_integers, "si"),
    ruled("Cast", "cast", shapes::same),
    Row{"Ceil", "ceil"},
    ruled("CheckNumerics", "reshape", shapes::same),
    Row{"ClipByValue", "clip"},
    Row{"Concat", "concat", "-*", to::axis},
    Row{"ConcatV2", "concat", "*-", to::axis},
    Row{"Const", "constant", ""},
    heavy({"Conv2D", "conv", "01", to::conv}),
    heavy({"Conv2DBackpropFilter", "conv_backward_filter", "20", to::conv_filter_gradient,
           shapes::second_integers, ".i"}),
    heavy({"Conv2DBackpropInput", "conv_backward_data", "21", to::conv_data_gradient,
           shapes::first_integers, "i"}),
    heavy({"Conv3D", "conv", "01", to::conv}),
    heavy({"Conv3DBackpropFilterV2", "conv_backward_filter", "20", to::conv_filter_gradient,
           shapes::second_integers, ".i"}),
    heavy({"Conv3DBackpropInputV2", "conv_backward_data", "21", to::conv_data_gradient,
           shapes::first_integers, "i"}),
    Row{"Cos", "cos"},
    ruled("CropAndResize", "grid_sample", shapes::crop_and_resize, "ss.i"),
    unknown("CudnnRNN"),
    unknown("CudnnRNNBackprop"),
    unknown("CudnnRNNBackpropV3"),
    unknown("CudnnRNNV2"),
    unknown("CudnnRNNV3"),
    Row{"Cumprod", "cum_prod", "0", to::axis, shapes::same},
    Row{"Cumsum", "cum_sum", "0", to::axis, shapes::same},
    ruled("DepthToSpace", "depth_to_space", shapes::depth_to_space),
    heavy({"DepthwiseConv2dNative", "conv", "01", to::conv}),
    heavy({"DepthwiseConv2dNativeBackpropFilter", "conv_backward_filter", "20",
           to::conv_filter_gradient, shapes::second_integers, ".i"}),
    heavy({"DepthwiseConv2dNativeBackpropInput", "conv_backward_data", "21", to::conv_data_gradient,
           shapes::first_integers, "i"}),
    ruled("Dequantize", "dequantize_linear", shapes::same),
    Row{"Div", "div", "01", to::pair},
    Row{"DivNoNan", "div", "01", to::pair},
    heavy({"Einsum", "einsum", "*", to::einsum}),
    Row{"Elu", "elu"},
    ruled("EluGrad", "elu_backward", shapes::same),
    ruled("EnsureShape", "reshape", shapes::same),
    Row{"Equal", "equal", "01"},
    Row{"Erf", "erf"},
    Row{"Erfc", "erf"},
    Row{"Exp", "exp"},
    ruled("ExpandDims", "reshape", shapes::expand_dims, "si"),
    ruled("FakeQuantWithMinMaxArgs", "fake_quantize", shapes::same),
    ruled("FakeQuantWithMinMaxVars", "fake_quantize", shapes::same),
    ruled("FakeQuantWithMinMaxVarsPerChannel", "fake_quantize", shapes::same),
    Row{"Fill", "zeros", "", nullptr, shapes::first_integers, "i"},
    Row{"Floor", "floor"},
    Row{"FloorDiv", "div", "01", to::pair},
    Row{"FloorMod", "mod", "01", to::pair},
    Row{"FusedBatchNorm", "batch_norm", "0", to::batch_norm, shapes::batch_norm, "ss"},
    Row{"FusedBatchNormGrad", "batch_norm_backward", "01", to::batch_norm_gradient,
        shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV2", "batch_norm_backward", "01", to::batch_norm_gradient,
        shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV3", "batch_norm_backward", "01", to::batch_norm_gradient,
        shapes::batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormV2", "batch_norm", "0", to::batch_norm, shapes::batch_norm, "ss"},
    Row{"FusedBatchNormV3", "batch_norm", "0", to::batch_norm, shapes::batch_norm, "ss"},
    unknown("GRUBlockCell"),
    Row{"Gather", "gather", "01", to::gather, shapes::gather, "ss"},
    ruled("GatherNd", "gather", shapes::gather_nd, "ss"),
    Row{"GatherV2", "gather", "01", to::gather, shapes::gather_v2, "ssi"},
    Row{"Greater", "greater", "01"},
    Row{"GreaterEqual", "greater_or_equal", "01"},
    ruled("Identity", "reshape", shapes::same),
    ruled("IdentityN", "reshape", shapes::each_same, ""),
    ruled("InvertPermutation", "copy", shapes::same),
    Row{"IsFinite", "is_finite"},
    Row{"IsInf", "is_inf"},
    Row{"IsNan", "is_nan"},
    Row{"IteratorGetNext", "input", ""},
    Row{"L2Loss", "reduce_sum_square"},
    Row{"LRN", "lrn", "0", to::lrn},
    Row{"LRNGrad", "lrn_backward", "0", to::lrn, shapes::same},
    heavy({"LSTMBlockCell", "lstm_cell", "02", nullptr, shapes::lstm_block_cell, ".s"}),
    Row{"LeakyRelu", "leaky_relu"},
    ruled("LeakyReluGrad", "leaky_relu_backward", shapes::same),
    Row{"Less", "less", "01"},
    Row{"LessEqual", "less_or_equal", "01"},
    Row{"Log", "log"},
    Row{"Log1p", "log"},
    Row{"LogSoftmax", "log_softmax"},
    Row{"LogicalAnd", "and", "01"},
    Row{"LogicalNot", "not"},
    Row{"LogicalOr", "or", "01"},
    heavy({"MatMul", "matmul", "01", to::matmul}),
    ruled("MatrixBandPart", "trilu", shapes::same),
    Row{"Max", "reduce_max", "0", to::reduce},
    Row{"MaxPool", "max_pool", "0", to::pool},
    Row{"MaxPool3D", "max_pool", "0", to::pool},
    Row{"MaxPoolGrad", "max_pool_backward", "2", to::pool_gradient, shapes::same},
    Row{"MaxPoolWithArgmax", "max_pool", "0", to::pool, shapes::max_pool_with_places},
    Row{"Maximum", "max", "01", to::pair},
    Row{"Mean", "reduce_mean", "0", to::reduce},
    ruled("Merge", "reshape", shapes::merge, ""),
    Row{"Min", "reduce_min", "0", to::reduce},
    Row{"Minimum", "min", "01", to::pair},
    ruled("MirrorPad", "pad", shapes::pad, "si"),
    Row{"Mod", "mod", "01", to::pair},
    Row{"Mul", "multiply", "01", to::pair},
    Row{"Neg", "neg"},
    Row{"NoOp", "no_op", ""},
    Row{"NotEqual", "not_equal", "01"},
    ruled("OneHot", "one_hot", shapes::one_hot, "si"),
    ruled("OnesLike", "zeros", shapes::same),
    Row{"Pack", "concat", "*", to::axis, shapes::pack, "s*"},
    ruled("Pad", "pad", shapes::pad, "si"),
    ruled("PadV2", "pad", shapes::pad, "si"),
    Row{"Placeholder", "input", ""},
    ruled("PlaceholderWithDefault", "reshape", shapes::same),
    Row{"Pow", "pow", "01", to::pair},
    ruled("PreventGradient", "reshape", shapes::same),
    Row{"Prod", "reduce_prod", "0", to::reduce},
    unknown("QuantizedConv2D"),
    unknown("QuantizedMatMul"),
    Row{"RandomStandardNormal", "random", "", nullptr, shapes::first_integers, "i"},
    Row{"RandomUniform", "random", "", nullptr, shapes::first_integers, "i"},
    ruled("Range", "range", shapes::range, "iii"),
    ruled("Rank", "no_op", shapes::scalar_result),
    ruled("ReadVariableOp", "reshape", shapes::same),
    Row{"RealDiv", "div", "01", to::pair},
    Row{"Reciprocal", "reciprocal"},
    ruled("ReciprocalGrad", "reciprocal_backward", shapes::same),
    Row{"Relu", "relu"},
    Row{"Relu6", "clip"},
    ruled("Relu6Grad", "clip_backward", shapes::same),
    ruled("ReluGrad", "relu_backward", shapes::same),
    ruled("Reshape", "reshape", shapes::reshape, "si"),
    Row{"ResizeArea", "resize", "0", to::resize, shapes::resize, "si"},
    Row{"ResizeBicubic", "resize", "0", to::resize, shapes::resize, "si"},
    Row{"ResizeBilinear", "resize", "0", to::resize, shapes::resize, "si"},
    Row{"ResizeBilinearGrad", "resize_backward", "0", to::resize, shapes::second, ".s"},
    Row{"ResizeNearestNeighbor", "resize", "0", to::resize, shapes::resize, "si"},
    Row{"ResourceApplyAdam", "optimizer_update", "9012", to::update},
    Row{"ResourceApplyGradientDescent", "optimizer_update", "20", to::update},
    Row{"ResourceApplyKerasMomentum", "optimizer_update", "301", to::update},
    Row{"ResourceApplyMomentum", "optimizer_update", "301", to::update},
    Row{"ResourceApplyRMSProp", "optimizer_update", "7012", to::update},
    Row{"ResourceGather", "gather", "01", to::gather, shapes::gather, "ss"},
    ruled("ReverseV2", "copy", shapes::same),
    Row{"Round", "round"},
    Row{"Rsqrt", "pow"},
    ruled("RsqrtGrad", "pow_backward", shapes::same),
    ruled("Select", "where", shapes::second, ".s"),
    Row{"SelectV2", "where", "012"},
    Row{"Selu", "selu"},
    ruled("SeluGrad", "selu_backward", shapes::same),
    ruled("Shape", "no_op", shapes::shape_of),
    ruled("ShapeN", "no_op", shapes::shapes_of, ""),
    Row{"Sigmoid", "sigmoid"},
    ruled("SigmoidGrad", "sigmoid_backward", shapes::same),
    Row{"Sign", "sign"},
    Row{"Sin", "sin"},
    ruled("Size", "no_op", shapes::scalar_result),
    ruled("Slice", "slice", shapes::slice, "sii"),
    ruled("Snapshot", "reshape", shapes::same),
    Row{"Softmax", "softmax"},
    ruled("SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", shapes::cross_entropy),
    Row{"Softplus", "softplus"},
    ruled("SoftplusGrad", "softplus_backward", shapes::same),
    Row{"Softsign", "softsign"},
    ruled("SoftsignGrad", "softsign_backward", shapes::same),
    ruled("SpaceToBatchND", "copy", shapes::space_to_batch, "sii"),
    ruled("SpaceToDepth", "space_to_depth", shapes::space_to_depth),
    heavy({"SparseMatMul", "matmul", "01", to::matmul}),
    ruled("SparseSoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", shapes::cross_entropy),
    unknown("SparseTensorDenseMatMul"),
    Row{"Split", "split", "1", to::axis, shapes::split, "is"},
    Row{"SplitV", "split", "0", to::axis, shapes::split_v, "sii"},
    Row{"Sqrt", "sqrt"},
    ruled("SqrtGrad", "sqrt_backward", shapes::same),
    Row{"Square", "pow"},
    Row{"SquaredDifference", "squared_difference", "01"},
    ruled("Squeeze", "reshape", shapes::squeeze),
    ruled("StopGradient", "reshape", shapes::same),
    ruled("StridedSlice", "slice", shapes::strided_slice, "siii"),
    Row{"StridedSliceGrad", "slice_backward", "4", nullptr, shapes::first_integers, "i"},
    Row{"Sub", "subtract", "01", to::pair},
    Row{"Sum", "reduce_sum", "0", to::reduce},
    ruled("Switch", "reshape", shapes::switch_results),
    Row{"Tanh", "tanh"},
    ruled("TanhGrad", "tanh_backward", shapes::same),
    ruled("Tile", "tile", shapes::tile, "si"),
    ruled("TopKV2", "top_k", shapes::top_k, "si"),
    Row{"Transpose", "transpose", "0", to::transpose},
    Row{"TruncatedNormal", "random", "", nullptr, shapes::first_integers, "i"},
    Row{"Unpack", "split", "0", to::axis, shapes::unpack},
    Row{"VarHandleOp", "variable", ""},
    Row{"Variable", "variable", ""},
    Row{"VariableV2", "variable", ""},
    Row{"Xdivy", "div", "01", to::pair},
    ruled("ZerosLike", "zeros", shapes::same),
    Row{"_FusedBatchNormEx", "batch_norm", "0", to::batch_norm, shapes::batch_norm, "ss"},
    heavy({"_FusedConv2D", "conv", "01", to::conv}),
    heavy({"_FusedDepthwiseConv2dNative", "conv", "01", to::conv}),
    heavy({"_FusedMatMul", "matmul", "01", to::matmul}),
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

const Row* find_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return found != kRows.end() && found->op == op ? &*found : nullptr;
}

bool is_inferred(const Row& row) {
  const auto* library = operators::find(row.name);
  return row.rule == nullptr && library != nullptr && library->infer != nullptr;
}

bool has_needs(const Row& row, const NodeCall& call) {
  char letter = '.';
  const bool repeats = row.needs.ends_with('*');
  const std::size_t num_letters = row.needs.size() - (repeats ? 1 : 0);
  if (call.inputs.size() < num_letters) {
    return false;
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    letter = i < num_letters ? row.needs[i] : repeats ? letter : '.';
    if ((letter == 's' && !call.has_shape(i)) || (letter == 'i' && !call.has_integers(i))) {
      return false;
    }
  }
  return true;
}

// Nothing if an input that the library reads is not known.
std::optional<Translation> translation(const Row& row, const NodeCall& call) {
  Translation result{.name = row.name, .results = {call.results.begin(), call.results.end()}};
  const auto read = [&](std::size_t i) {
    if (call.has_shape(i)) {
      result.inputs.push_back(call.tensors[i]);
    }
  };
  std::size_t num_read = row.reads.size();
  if (row.reads.find('*') != std::string_view::npos) {
    const std::size_t begin = row.reads.starts_with('-') ? 1 : 0;
    const std::size_t behind = row.reads.ends_with('-') ? 1 : 0;
    num_read = std::max(call.inputs.size(), begin + behind + 1) - begin - behind;
    for (std::size_t i = begin; i < begin + num_read; ++i) {
      read(i);
    }
  } else {
    std::ranges::for_each(row.reads,
                          [&](char digit) { read(static_cast<std::size_t>(digit - '0')); });
  }
  if (result.inputs.size() != num_read) {
    return std::nullopt;
  }
  if (row.translate != nullptr) {
    row.translate(result, call);
  }
  return result;
}

Results inferred(const Row& row, const NodeCall& call) {
  const std::optional<Translation> asked = translation(row, call);
  if (!asked || asked->is_guess) {
    return {};
  }
  Results results;
  for (const Output& result : asked->results.empty()
                                  ? operators::infer(asked->name, asked->attributes, asked->inputs)
                                  : asked->results) {
    results.push_back(asked->layout ? to_layout(result.shape, *asked->layout) : result.shape);
  }
  return results;
}

}  // namespace

std::string kind_of(std::string_view op) {
  const Row* const row = find_row(op);
  std::string kind(row != nullptr && !row->name.empty() ? row->name : op);
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return kind;
}

bool is_heavy(std::string_view op) {
  const Row* const row = find_row(op);
  return row != nullptr && row->is_heavy;
}

bool has_shape_rule(std::string_view op) {
  const Row* const row = find_row(op);
  return row != nullptr && (row->rule != nullptr || is_inferred(*row));
}

std::vector<KnownTensor> infer(const proto::NodeDef& node, std::span<const KnownTensor> inputs) {
  const Row* const row = find_row(node.op());
  if (row == nullptr || (row->rule == nullptr && !is_inferred(*row))) {
    return {};
  }
  std::vector<Output> tensors;
  for (const KnownTensor& input : inputs) {
    tensors.push_back({.shape = input.shape.value_or(Shape())});
  }
  const NodeCall call{.node = node, .inputs = inputs, .tensors = tensors};
  if (row->rule != nullptr && !has_needs(*row, call)) {
    return {};
  }
  std::vector<KnownTensor> values;
  for (std::optional<Shape>& shape :
       row->rule != nullptr ? row->rule(call) : inferred(*row, call)) {
    if (shape && shape->size() > kMaxRank) {
      shape.reset();
    }
    if (shape && std::ranges::any_of(*shape, [](auto extent) { return extent < 0; })) {
      fail_shapes(fmt::format("its result would have the shape {}", text_of(*shape)));
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

void count_work(Op& op, const NodeCall& call) {
  const Row* const row = find_row(call.node.op());
  if (row == nullptr) {
    return;
  }
  if (row->name.empty() && row->is_heavy && op.measured.empty()) {
    throw Error(ErrorCode::kUnsupported, "emplace does not know the work of this operator");
  }
  // An optimizer that knows the variable by its handle has no result.
  if (!operators::is_counted(row->name) ||
      (call.results.empty() && row->name != "optimizer_update")) {
    return;
  }
  if (auto asked = translation(*row, call)) {
    operators::count(op, asked->name, std::move(asked->attributes), asked->inputs, asked->results);
  }
}

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool is_control_flow(std::string_view op) {
  return is_one_of(op,
                   {"Case", "Enter", "Exit", "For", "If", "LoopCond", "NextIteration", "RefEnter",
                    "RefNextIteration", "StatelessCase", "StatelessIf", "StatelessWhile", "While"});
}

bool is_variable(std::string_view op) {
  return is_one_of(op, {"VarHandleOp", "Variable", "VariableV2"});
}

bool passes_on(std::string_view op) {
  return op.starts_with("FakeQuant") ||
         is_one_of(op, {"Cast", "Dequantize", "ExpandDims", "Identity", "ReadVariableOp", "Reshape",
                        "Snapshot", "Squeeze", "StopGradient", "Transpose"});
}

bool reads_statistics(std::string_view op, std::size_t input) {
  return input >= 3 && (op.starts_with("FusedBatchNorm") || op == "_FusedBatchNormEx") &&
         op.find("Grad") == std::string_view::npos;
}

bool names_statistics(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last.starts_with("moving_mean") || last.starts_with("moving_variance");
}

bool is_real(DataType type) {
  return type != DataType::kInt64 && type != DataType::kInt32 && type != DataType::kBool;
}

proto::DataType result_type(const proto::NodeDef& node, std::size_t index) {
  const std::string& op = node.op();
  if (is_one_of(op, {"All", "Any", "Equal", "Greater", "GreaterEqual", "IsFinite", "IsInf", "IsNan",
                     "Less", "LessEqual", "LogicalAnd", "LogicalNot", "LogicalOr", "NotEqual"})) {
    return proto::DT_BOOL;
  }
  if (const auto* types = find_attribute(node, "output_types");
      types != nullptr && std::cmp_less(index, types->list().type_size())) {
    return types->list().type(static_cast<int>(index));
  }
  if ((op == "TopKV2" || op == "Merge") && index == 1) {
    return proto::DT_INT32;
  }
  if (is_one_of(op, {"Rank", "Shape", "ShapeN", "Size"}) &&
      find_attribute(node, "out_type") == nullptr) {
    return proto::DT_INT32;
  }
  for (const char* name : {"dtype", "DstT", "out_type", "output_type", "Tparams", "T", "Tidx"}) {
    if (const auto* type = find_attribute(node, name)) {
      return type->type();
    }
  }
  return proto::DT_FLOAT;
}

}  // namespace emplace::tensorflow
