#include "work.hpp"

#include "work_rules.hpp"

#include <algorithm>
#include <array>

namespace emplace::tensorflow {
namespace {

using namespace work;  // the table names them all; NOLINT(google-build-using-namespace)

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
