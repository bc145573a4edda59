#include "work.hpp"

#include "work_rules.hpp"

#include <algorithm>
#include <array>

namespace emplace::tensorflow {
namespace {

using namespace work;  // the table names them all; NOLINT(google-build-using-namespace)

// Sorted by operator. A multiply-add is 2 FLOPs, any other operation on a number 1.
constexpr std::array kWorkRows = {
    WorkRow{"Abs", "", per_result, 1},
    WorkRow{"Add", "add", add, 1, 2},
    WorkRow{"AddN", "add_n", add_n, 1},
    WorkRow{"AddV2", "add", add, 1, 2},
    WorkRow{"ApplyAdam", "optimizer_update", update, 12, 1},
    WorkRow{"ApplyGradientDescent", "optimizer_update", update, 2, 1},
    WorkRow{"ApplyMomentum", "optimizer_update", update, 4, 1},
    WorkRow{"ApplyRMSProp", "optimizer_update", update, 11, 1},
    WorkRow{"ArgMax", "", per_input, 1, 1},
    WorkRow{"ArgMin", "", per_input, 1, 1},
    WorkRow{"AvgPool", "avg_pool", pool, 0, 1},
    WorkRow{"AvgPool3D", "avg_pool", pool, 0, 1},
    WorkRow{"AvgPoolGrad", "avg_pool_backward", avg_pool_backward, 0, 2},
    WorkRow{"BatchMatMul", "batch_matmul", matmul, 2, 2, true},
    WorkRow{"BatchMatMulV2", "batch_matmul", matmul, 2, 2, true},
    WorkRow{"BatchMatMulV3", "batch_matmul", matmul, 2, 2, true},
    WorkRow{"BiasAdd", "bias_add", bias_add},
    WorkRow{"BiasAddGrad", "bias_add_backward", bias_add_backward, 1, 1},
    WorkRow{"BlockLSTM", "", refuse, 0, 0, true},
    WorkRow{"BlockLSTMV2", "", refuse, 0, 0, true},
    WorkRow{"CheckNumerics", "reshape", per_result},
    WorkRow{"ClipByValue", "", per_result, 2},
    WorkRow{"Concat", "concat", concat},
    WorkRow{"ConcatV2", "concat", concat},
    WorkRow{"Const", "constant", per_result},
    WorkRow{"Conv2D", "conv2d", conv, 2, 2, true},
    WorkRow{"Conv2DBackpropFilter", "conv2d_backward_filter", conv_backward_filter, 2, 3, true},
    WorkRow{"Conv2DBackpropInput", "conv2d_backward_data", conv_backward_data, 2, 3, true},
    WorkRow{"Conv3D", "", conv, 2, 2, true},
    WorkRow{"Conv3DBackpropFilterV2", "", conv_backward_filter, 2, 3, true},
    WorkRow{"Conv3DBackpropInputV2", "", conv_backward_data, 2, 3, true},
    WorkRow{"Cos", "", per_result, 1},
    WorkRow{"CropAndResize", "", per_result, 9},
    WorkRow{"CudnnRNN", "", refuse, 0, 0, true},
    WorkRow{"CudnnRNNBackprop", "", refuse, 0, 0, true},
    WorkRow{"CudnnRNNBackpropV3", "", refuse, 0, 0, true},
    WorkRow{"CudnnRNNV2", "", refuse, 0, 0, true},
    WorkRow{"CudnnRNNV3", "", refuse, 0, 0, true},
    WorkRow{"Cumprod", "", per_result, 1},
    WorkRow{"Cumsum", "", per_result, 1},
    WorkRow{"DepthwiseConv2dNative", "depthwise_conv2d", conv, 2, 2, true},
    WorkRow{"DepthwiseConv2dNativeBackpropFilter", "depthwise_conv2d_backward_filter",
            conv_backward_filter, 2, 3, true},
    WorkRow{"DepthwiseConv2dNativeBackpropInput", "depthwise_conv2d_backward_data",
            conv_backward_data, 2, 3, true},
    WorkRow{"Div", "", per_result, 1},
    WorkRow{"DivNoNan", "", per_result, 1},
    WorkRow{"Einsum", "batch_matmul", einsum, 2, 1, true},
    WorkRow{"Elu", "", per_result, 1},
    WorkRow{"EnsureShape", "reshape", per_result},
    WorkRow{"Equal", "", per_result, 1},
    WorkRow{"Erf", "", per_result, 1},
    WorkRow{"Exp", "", per_result, 1},
    WorkRow{"ExpandDims", "reshape", per_result},
    WorkRow{"FakeQuantWithMinMaxArgs", "", per_result, 4},
    WorkRow{"FakeQuantWithMinMaxVars", "", per_result, 4},
    WorkRow{"FakeQuantWithMinMaxVarsPerChannel", "", per_result, 4},
    WorkRow{"Floor", "", per_result, 1},
    WorkRow{"FloorDiv", "", per_result, 1},
    WorkRow{"FloorMod", "", per_result, 1},
    WorkRow{"FusedBatchNorm", "batch_norm", batch_norm, 5, 1},
    WorkRow{"FusedBatchNormGrad", "batch_norm_backward", batch_norm_backward, 9, 2},
    WorkRow{"FusedBatchNormGradV2", "batch_norm_backward", batch_norm_backward, 9, 2},
    WorkRow{"FusedBatchNormGradV3", "batch_norm_backward", batch_norm_backward, 9, 2},
    WorkRow{"FusedBatchNormV2", "batch_norm", batch_norm, 5, 1},
    WorkRow{"FusedBatchNormV3", "batch_norm", batch_norm, 5, 1},
    WorkRow{"GRUBlockCell", "", refuse, 0, 0, true},
    WorkRow{"Gather", "", gather, 0, 2},
    WorkRow{"GatherNd", "", slice, 0, 1},
    WorkRow{"GatherV2", "gather", gather, 0, 2},
    WorkRow{"Greater", "", per_result, 1},
    WorkRow{"GreaterEqual", "", per_result, 1},
    WorkRow{"Identity", "reshape", per_result},
    WorkRow{"IdentityN", "reshape", per_result},
    WorkRow{"IteratorGetNext", "input", per_result},
    WorkRow{"L2Loss", "", per_input, 2, 1},
    WorkRow{"LRN", "", local_response},
    WorkRow{"LSTMBlockCell", "lstm_cell", lstm_block_cell, 0, 3, true},
    WorkRow{"LeakyRelu", "", per_result, 1},
    WorkRow{"Less", "", per_result, 1},
    WorkRow{"LessEqual", "", per_result, 1},
    WorkRow{"Log", "", per_result, 1},
    WorkRow{"Log1p", "", per_result, 1},
    WorkRow{"LogSoftmax", "", per_input, 5, 1},
    WorkRow{"LogicalAnd", "", per_result, 1},
    WorkRow{"LogicalNot", "", per_result, 1},
    WorkRow{"LogicalOr", "", per_result, 1},
    WorkRow{"MatMul", "matmul", matmul, 2, 2, true},
    WorkRow{"Max", "", per_input, 1, 1},
    WorkRow{"MaxPool", "max_pool", pool, 0, 1},
    WorkRow{"MaxPool3D", "max_pool", pool, 0, 1},
    WorkRow{"MaxPoolGrad", "max_pool_backward", max_pool_backward, 0, 3},
    WorkRow{"MaxPoolWithArgmax", "max_pool", pool, 0, 1},
    WorkRow{"Maximum", "", per_result, 1},
    WorkRow{"Mean", "", mean, 1, 1},
    WorkRow{"Merge", "reshape", per_result},
    WorkRow{"Min", "", per_input, 1, 1},
    WorkRow{"Minimum", "", per_result, 1},
    WorkRow{"Mul", "multiply", multiply, 1, 2},
    WorkRow{"Neg", "", per_result, 1},
    WorkRow{"NoOp", "no_op"},
    WorkRow{"NotEqual", "", per_result, 1},
    WorkRow{"Placeholder", "input", per_result},
    WorkRow{"PlaceholderWithDefault", "reshape", per_result},
    WorkRow{"Pow", "", per_result, 1},
    WorkRow{"PreventGradient", "reshape", per_result},
    WorkRow{"Prod", "", per_input, 1, 1},
    WorkRow{"QuantizedConv2D", "", refuse, 0, 0, true},
    WorkRow{"QuantizedMatMul", "", refuse, 0, 0, true},
    WorkRow{"Rank", "no_op"},
    WorkRow{"ReadVariableOp", "reshape", per_result},
    WorkRow{"RealDiv", "", per_result, 1},
    WorkRow{"Reciprocal", "", per_result, 1},
    WorkRow{"Relu", "relu", per_result, 1},
    WorkRow{"Relu6", "relu", per_result, 1},
    WorkRow{"Relu6Grad", "relu_backward", per_result, 1},
    WorkRow{"ReluGrad", "relu_backward", per_result, 1},
    WorkRow{"Reshape", "reshape", per_result},
    WorkRow{"ResizeArea", "", per_result, 1},
    WorkRow{"ResizeBicubic", "", per_result, 35},
    WorkRow{"ResizeBilinear", "", per_result, 9},
    WorkRow{"ResourceApplyAdam", "optimizer_update", update, 12, 1},
    WorkRow{"ResourceApplyGradientDescent", "optimizer_update", update, 2, 1},
    WorkRow{"ResourceApplyMomentum", "optimizer_update", update, 4, 1},
    WorkRow{"ResourceGather", "gather", gather, 0, 2},
    WorkRow{"Round", "", per_result, 1},
    WorkRow{"Rsqrt", "", per_result, 1},
    WorkRow{"Selu", "", per_result, 1},
    WorkRow{"Shape", "no_op"},
    WorkRow{"ShapeN", "no_op"},
    WorkRow{"Sigmoid", "sigmoid", per_result, 1},
    WorkRow{"SigmoidGrad", "sigmoid_backward", per_result, 3},
    WorkRow{"Sign", "", per_result, 1},
    WorkRow{"Sin", "", per_result, 1},
    WorkRow{"Size", "no_op"},
    WorkRow{"Slice", "slice", slice, 0, 1},
    WorkRow{"Snapshot", "reshape", per_result},
    WorkRow{"Softmax", "softmax", softmax, 5, 1},
    WorkRow{"SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", cross_entropy, 5, 1},
    WorkRow{"Softplus", "", per_result, 1},
    WorkRow{"Softsign", "", per_result, 1},
    WorkRow{"SparseMatMul", "matmul", matmul, 2, 2, true},
    WorkRow{"SparseSoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", cross_entropy, 5, 1},
    WorkRow{"SparseTensorDenseMatMul", "", refuse, 0, 0, true},
    WorkRow{"Split", "split", split},
    WorkRow{"SplitV", "split", split},
    WorkRow{"Sqrt", "", per_result, 1},
    WorkRow{"Square", "", per_result, 1},
    WorkRow{"SquaredDifference", "", per_result, 2},
    WorkRow{"Squeeze", "reshape", per_result},
    WorkRow{"StopGradient", "reshape", per_result},
    WorkRow{"StridedSlice", "slice", slice, 0, 1},
    WorkRow{"Sub", "subtract", per_result, 1},
    WorkRow{"Sum", "", per_input, 1, 1},
    WorkRow{"Switch", "reshape", per_result},
    WorkRow{"Tanh", "tanh", per_result, 1},
    WorkRow{"TanhGrad", "tanh_backward", per_result, 3},
    WorkRow{"Transpose", "transpose", transpose, 0, 1},
    WorkRow{"Unpack", "split", split},
    WorkRow{"VarHandleOp", "variable", per_result},
    WorkRow{"Variable", "variable", per_result},
    WorkRow{"VariableV2", "variable", per_result},
    WorkRow{"_FusedBatchNormEx", "batch_norm", batch_norm, 5, 1},
    WorkRow{"_FusedConv2D", "conv2d", conv, 2, 2, true},
    WorkRow{"_FusedDepthwiseConv2dNative", "depthwise_conv2d", conv, 2, 2, true},
    WorkRow{"_FusedMatMul", "matmul", matmul, 2, 2, true},
};

static_assert(std::ranges::is_sorted(kWorkRows, {}, &WorkRow::op));

const WorkRow* find_work_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kWorkRows, op, {}, &WorkRow::op);
  return found != kWorkRows.end() && found->op == op ? &*found : nullptr;
}

}  // namespace

std::string kind_of(std::string_view op) {
  const WorkRow* const row = find_work_row(op);
  return row != nullptr && !row->kind.empty() ? std::string(row->kind) : in_small_letters(op);
}

bool is_heavy(std::string_view op) {
  const WorkRow* const row = find_work_row(op);
  return row != nullptr && row->is_heavy;
}

void count_work(Op& op, const proto::NodeDef& node, const Known& known) {
  const WorkRow* const row = find_work_row(node.op());
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
  if (row->count == work::refuse || (known.is_known && has_inputs)) {
    row->count(work);
  }
}

}  // namespace emplace::tensorflow
