#include "../tensorflow.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace emplace::tensorflow {
namespace {

struct Row {
  std::string_view op;
  std::string_view kind;
};

// Sorted by operator.
constexpr std::array kRows = {
    Row{"Add", "add"},
    Row{"AddN", "add_n"},
    Row{"AddV2", "add"},
    Row{"ApplyAdam", "optimizer_update"},
    Row{"ApplyGradientDescent", "optimizer_update"},
    Row{"ApplyMomentum", "optimizer_update"},
    Row{"ApplyRMSProp", "optimizer_update"},
    Row{"AvgPool", "avg_pool"},
    Row{"AvgPoolGrad", "avg_pool_backward"},
    Row{"BatchMatMul", "batch_matmul"},
    Row{"BatchMatMulV2", "batch_matmul"},
    Row{"BiasAdd", "bias_add"},
    Row{"BiasAddGrad", "bias_add_backward"},
    Row{"Concat", "concat"},
    Row{"ConcatV2", "concat"},
    Row{"Const", "constant"},
    Row{"Conv2D", "conv2d"},
    Row{"Conv2DBackpropFilter", "conv2d_backward_filter"},
    Row{"Conv2DBackpropInput", "conv2d_backward_data"},
    Row{"ExpandDims", "reshape"},
    Row{"FusedBatchNorm", "batch_norm"},
    Row{"FusedBatchNormGrad", "batch_norm_backward"},
    Row{"FusedBatchNormGradV3", "batch_norm_backward"},
    Row{"FusedBatchNormV3", "batch_norm"},
    Row{"Identity", "reshape"},
    Row{"IteratorGetNext", "input"},
    Row{"MatMul", "matmul"},
    Row{"MaxPool", "max_pool"},
    Row{"MaxPoolGrad", "max_pool_backward"},
    Row{"Mul", "multiply"},
    Row{"NoOp", "no_op"},
    Row{"Placeholder", "input"},
    Row{"ReadVariableOp", "reshape"},
    Row{"Relu", "relu"},
    Row{"ReluGrad", "relu_backward"},
    Row{"Reshape", "reshape"},
    Row{"ResourceApplyAdam", "optimizer_update"},
    Row{"ResourceApplyGradientDescent", "optimizer_update"},
    Row{"ResourceApplyMomentum", "optimizer_update"},
    Row{"Sigmoid", "sigmoid"},
    Row{"SigmoidGrad", "sigmoid_backward"},
    Row{"Softmax", "softmax"},
    Row{"SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy"},
    Row{"SparseSoftmaxCrossEntropyWithLogits", "softmax_cross_entropy"},
    Row{"Split", "split"},
    Row{"SplitV", "split"},
    Row{"Squeeze", "reshape"},
    Row{"StopGradient", "reshape"},
    Row{"Tanh", "tanh"},
    Row{"TanhGrad", "tanh_backward"},
    Row{"Transpose", "transpose"},
    Row{"VarHandleOp", "variable"},
    Row{"Variable", "variable"},
    Row{"VariableV2", "variable"},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

}  // namespace

std::string kind_of(std::string_view op) {
  const auto found = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  if (found != kRows.end() && found->op == op) {
    return std::string(found->kind);
  }
  std::string kind(op);
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return kind;
}

}  // namespace emplace::tensorflow
