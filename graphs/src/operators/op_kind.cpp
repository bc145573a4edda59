#include "foreign_op_kinds.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/imported_op_kinds.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <algorithm>
#include <array>

namespace emplace {
namespace {

// Entries of Op::shape, shared by an op and its gradients: a backward op has the shape of the
// forward op, because that is what its kernel is chosen by.
constexpr std::string_view kConv =
    "[N, C, H, W, K, R, S, U, V, dilation, P, Q]: N maps of C x H x W, K filters of R x S moved by "
    "U down and V across, results P x Q";
constexpr std::string_view kDepthwise =
    "[N, C, H, W, R, S, U, V, P, Q]: N maps of C x H x W, a filter of R x S for each channel moved "
    "by U down and V across, results P x Q";
constexpr std::string_view kTransposed =
    "that of the convolution that it transposes, from its results to its maps";
constexpr std::string_view kBias =
    "[rows, columns], a number for each column; or [N, C, rest], one for each channel";
constexpr std::string_view kPool =
    "[N, C, H, W, R, S, stride, P, Q]: N maps of C x H x W, windows of R x S, results P x Q";
constexpr std::string_view kMap = "[N, C, rest]: batch, channels, elements of one channel";
constexpr std::string_view kElements = "[elements]";
constexpr std::string_view kParts = "[parts, elements]: elements in all parts together";
constexpr std::string_view kTerms = "[terms, elements]: elements of one term";
constexpr std::string_view kRows = "[rows, columns]";
constexpr std::string_view kProduct = "[M, N, K]: M x K times K x N";
constexpr std::string_view kBatchProduct = "[B, M, N, K]: B products of M x K times K x N";
constexpr std::string_view kLookup = "[ids, vocabulary, width]";
constexpr std::string_view kCell = "[N, I, H]: batch, numbers of the input, numbers of the state";
constexpr std::string_view kPermutation = "the input's shape, then its axes in their new order";
constexpr std::string_view kRotation = "[matrices, positions, width]";
constexpr std::string_view kBlock = "[elements, elements of the whole]";
constexpr std::string_view kCopies = "[copies, elements of one]";
constexpr std::string_view kChoice = "[tokens, experts, k]: k experts for each token";
constexpr std::string_view kRouted =
    "[tokens, width, k, experts, capacity]: k experts for each token, capacity tokens for each "
    "expert";
constexpr std::string_view kProbabilities = "[tokens, experts]";
constexpr std::string_view kBags = "[bags, lookups, rows, width]";
constexpr std::string_view kSquares = "[N, F]: N matrices of F x F";
constexpr std::string_view kTensor = "the tensor's own shape";

using enum OpClass;
using enum ResultMemory;

constexpr std::array kKinds = {
    OpKind{"add", kElementwise, true, kElements, "sum of two tensors of one shape", kInPlace},
    OpKind{"add_losses", kReduction, true, kTerms, "weighted sum of scalar losses"},
    OpKind{"add_n", kElementwise, true, kTerms,
           "sum of tensors of one shape, for example gradients", kInPlace},
    OpKind{"avg_pool", kPooling, true, kPool, "mean under each window"},
    OpKind{"avg_pool_backward", kPooling, true, kPool, "gradient of avg_pool"},
    OpKind{"balance_loss", kReduction, true, kProbabilities,
           "loss that grows where few experts get most tokens"},
    OpKind{"balance_loss_backward", kReduction, true, kProbabilities,
           "gradient of balance_loss, from the routing"},
    OpKind{"batch_matmul", kMatmul, true, kBatchProduct,
           "matrix products; sides may be transposed"},
    OpKind{"batch_norm", kNormalization, true, kMap, "normalization of each channel, for training"},
    OpKind{"batch_norm_backward", kNormalization, true, kMap,
           "gradients of batch_norm: of its input, and of scale and offset"},
    OpKind{"bias_add", kElementwise, true, kBias,
           "adds the same tensor to each row, or a number to each channel", kInPlace},
    OpKind{"bias_add_backward", kReduction, true, kBias,
           "gradient of what bias_add adds: sum over all that it is added to"},
    OpKind{"broadcast", kDataMovement, true, kCopies, "copies of a tensor"},
    OpKind{"broadcast_backward", kReduction, true, kCopies, "gradient of broadcast: a sum"},
    OpKind{"causal_mask", kElementwise, true, kElements, "hides later keys from queries", kInPlace},
    OpKind{"concat", kDataMovement, true, kParts, "joins tensors along one dimension"},
    OpKind{"constant", kOther, false, kTensor, "numbers that are not trained"},
    OpKind{"conv2d", kConvolution, true, kConv, "dense convolution"},
    OpKind{"conv2d_backward_data", kConvolution, true, kConv, "gradient of the feature maps"},
    OpKind{"conv2d_backward_filter", kConvolution, true, kConv, "gradient of the filters"},
    OpKind{"conv2d_transpose", kConvolution, true, kTransposed,
           "transposed convolution; its gradients are a conv2d and a conv2d_backward_filter"},
    OpKind{"depthwise_conv2d", kDepthwiseConvolution, true, kDepthwise,
           "convolution of each channel on its own"},
    OpKind{"depthwise_conv2d_backward_data", kDepthwiseConvolution, true, kDepthwise,
           "gradient of the feature maps"},
    OpKind{"depthwise_conv2d_backward_filter", kDepthwiseConvolution, true, kDepthwise,
           "gradient of the filters"},
    OpKind{"dropout", kElementwise, true, kElements, "drops elements at random and scales the rest",
           kInPlace},
    OpKind{"dropout_backward", kElementwise, true, kElements, "gradient of dropout", kInPlace},
    OpKind{"embedding", kDataMovement, true, kLookup, "rows of a table, by integers"},
    OpKind{"embedding_backward", kDataMovement, true, kLookup,
           "gradient of the whole table, dense"},
    OpKind{"embedding_bag", kDataMovement, true, kBags, "sums of rows of a table, by integers"},
    OpKind{"embedding_bag_backward", kDataMovement, true, kBags,
           "gradient of the rows that were looked up"},
    OpKind{"gelu", kElementwise, true, kElements, "x times the normal distribution of x", kInPlace},
    OpKind{"gelu_backward", kElementwise, true, kElements, "gradient of gelu, from its input",
           kInPlace},
    OpKind{"input", kDataMovement, false, kTensor, "data that enters the step"},
    OpKind{"layer_norm", kNormalization, true, kRows, "normalization of each row"},
    OpKind{"layer_norm_backward", kNormalization, true, kRows,
           "gradients of layer_norm: of its input, and of scale and offset"},
    OpKind{"lower_triangle", kDataMovement, true, kSquares, "the part below the diagonals"},
    OpKind{"lower_triangle_backward", kDataMovement, true, kSquares, "gradient of lower_triangle"},
    OpKind{"lstm_cell", kMatmul, true, kCell, "one step of an LSTM cell, fused"},
    OpKind{"lstm_cell_backward", kMatmul, true, kCell, "gradients of lstm_cell: of all its inputs"},
    OpKind{"matmul", kMatmul, true, kProduct, "matrix product; either side may be transposed"},
    OpKind{"max_pool", kPooling, true, kPool, "largest element under each window"},
    OpKind{"max_pool_backward", kPooling, true, kPool, "gradient of max_pool"},
    OpKind{"mean_squared_error", kReduction, true, kElements, "mean squared difference"},
    OpKind{"mean_squared_error_backward", kReduction, true, kElements,
           "gradient of mean_squared_error"},
    OpKind{"moe_combine", kDataMovement, true, kRouted,
           "weighted sums of what its experts made of each token"},
    OpKind{"moe_combine_backward", kDataMovement, true, kRouted,
           "gradients of moe_combine: of the experts' results, and of the weights"},
    OpKind{"moe_dispatch", kDataMovement, true, kRouted, "copies of tokens for their experts"},
    OpKind{"moe_dispatch_backward", kDataMovement, true, kRouted, "gradient of moe_dispatch"},
    OpKind{"multiply", kElementwise, true, kElements, "product of two tensors of one shape",
           kInPlace},
    OpKind{"no_op", kOther, false, kTensor, "nothing; only its edges count"},
    OpKind{"optimizer_update", kUpdate, true, "[parameters, slots]", "one step of an optimizer"},
    OpKind{"relative_shift", kDataMovement, true, kElements,
           "scores by distance to scores by key, or back"},
    OpKind{"relu", kElementwise, true, kElements, "max(x, 0)", kInPlace},
    OpKind{"relu_backward", kElementwise, true, kElements, "gradient of relu, from its result",
           kInPlace},
    OpKind{"reshape", kDataMovement, false, kTensor, "the same elements in another shape", kView},
    OpKind{"rms_norm", kNormalization, true, kRows,
           "division of each row by its mean square's root"},
    OpKind{"rms_norm_backward", kNormalization, true, kRows,
           "gradients of rms_norm: of its input, and of its scale"},
    OpKind{"rotary_embedding", kElementwise, true, kRotation,
           "rotation of pairs by their position, or back"},
    OpKind{"scale", kElementwise, true, kElements,
           "product with a constant, or the same numbers in another type", kInPlace},
    OpKind{"shift2d", kDataMovement, true, kElements,
           "each feature map one place up and to the left"},
    OpKind{"shift2d_backward", kDataMovement, true, kElements, "gradient of shift2d"},
    OpKind{"sigmoid", kElementwise, true, kElements, "1 / (1 + exp(-x))", kInPlace},
    OpKind{"sigmoid_backward", kElementwise, true, kElements,
           "gradient of sigmoid, from its result", kInPlace},
    OpKind{"sigmoid_cross_entropy", kReduction, true, kElements,
           "mean cross entropy of sigmoid against labels"},
    OpKind{"sigmoid_cross_entropy_backward", kReduction, true, kElements,
           "gradient of sigmoid_cross_entropy, from the logits"},
    OpKind{"silu", kElementwise, true, kElements, "x times sigmoid of x", kInPlace},
    OpKind{"silu_backward", kElementwise, true, kElements, "gradient of silu, from its input",
           kInPlace},
    OpKind{"slice", kDataMovement, true, kBlock, "a block of a tensor"},
    OpKind{"slice_backward", kDataMovement, true, kBlock, "gradient of slice: zeros around it"},
    OpKind{"softmax", kReduction, true, kRows, "softmax of each row"},
    OpKind{"softmax_backward", kReduction, true, kRows, "gradient of softmax, from its result"},
    OpKind{"softmax_cross_entropy", kReduction, true, kRows,
           "mean cross entropy of softmax against class labels"},
    OpKind{"softmax_cross_entropy_backward", kReduction, true, kRows,
           "gradient of the mean cross entropy, from the probabilities"},
    OpKind{"split", kDataMovement, true, kParts, "parts of a tensor along one dimension"},
    OpKind{"subtract", kElementwise, true, kElements, "difference of two tensors of one shape",
           kInPlace},
    OpKind{"tanh", kElementwise, true, kElements, "hyperbolic tangent", kInPlace},
    OpKind{"tanh_backward", kElementwise, true, kElements, "gradient of tanh, from its result",
           kInPlace},
    OpKind{"task", kMatmul, true, "[FLOPs]",
           "a task of a classic task graph, costed like a matrix product without memory traffic"},
    OpKind{"top_k", kReduction, true, kChoice, "the most probable experts of each token"},
    OpKind{"top_k_backward", kReduction, true, kChoice, "gradient of top_k, from its choice"},
    OpKind{"transpose", kDataMovement, true, kPermutation, "the same elements, axes reordered"},
    OpKind{"variable", kOther, false, kTensor, "trained numbers"},
    OpKind{"zeros", kDataMovement, true, kTensor, "a tensor of zeros: a gradient that is missing"},
};

static_assert(std::ranges::is_sorted(kKinds, {}, &OpKind::name));

constexpr std::string_view kReduced = "[elements, elements of the result]";
constexpr std::string_view kMoved = "[elements of the result, elements]";
constexpr std::string_view kWindows = "[elements of the result, elements under a window]";
constexpr std::string_view kResult = "the result's shape";
constexpr std::string_view kRecurrent =
    "[T, N, I, H, directions]: steps, batch, numbers of the input, numbers of the state";
constexpr std::string_view kHeads =
    "[batch, heads, queries, keys, width, width of values]: of one head";

constexpr std::array kImported = {
    OpKind{"abs", kElementwise, true, kElements, "absolute value", kInPlace},
    OpKind{"acos", kElementwise, true, kElements, "arc cosine", kInPlace},
    OpKind{"acosh", kElementwise, true, kElements, "inverse hyperbolic cosine", kInPlace},
    OpKind{"and", kElementwise, true, kElements, "both of two truth values"},
    OpKind{"arg_max", kReduction, true, kElements, "where the largest number is"},
    OpKind{"arg_min", kReduction, true, kElements, "where the least number is"},
    OpKind{"asin", kElementwise, true, kElements, "arc sine", kInPlace},
    OpKind{"asinh", kElementwise, true, kElements, "inverse hyperbolic sine", kInPlace},
    OpKind{"atan", kElementwise, true, kElements, "arc tangent", kInPlace},
    OpKind{"atanh", kElementwise, true, kElements, "inverse hyperbolic tangent", kInPlace},
    OpKind{"attention", kMatmul, true, kHeads,
           "scores of queries and keys, softmax, weighted sums of values"},
    OpKind{"avg_pool_nd", kPooling, true, kWindows, "mean under windows of any dimensions"},
    OpKind{"bit_shift", kElementwise, true, kElements, "bits moved by some places", kInPlace},
    OpKind{"bitwise_and", kElementwise, true, kElements, "bits of both of two integers", kInPlace},
    OpKind{"bitwise_not", kElementwise, true, kElements, "the other bits", kInPlace},
    OpKind{"bitwise_or", kElementwise, true, kElements, "bits of one of two integers", kInPlace},
    OpKind{"bitwise_xor", kElementwise, true, kElements, "bits of one of two integers, not both",
           kInPlace},
    OpKind{"broadcast_add", kElementwise, true, kElements, "sum of tensors of other shapes"},
    OpKind{"broadcast_div", kElementwise, true, kElements, "quotient of tensors of other shapes"},
    OpKind{"broadcast_max", kElementwise, true, kElements, "maximum of tensors of other shapes"},
    OpKind{"broadcast_min", kElementwise, true, kElements, "minimum of tensors of other shapes"},
    OpKind{"broadcast_mod", kElementwise, true, kElements, "remainder of tensors of other shapes"},
    OpKind{"broadcast_multiply", kElementwise, true, kElements,
           "product of tensors of other shapes"},
    OpKind{"broadcast_pow", kElementwise, true, kElements, "power of tensors of other shapes"},
    OpKind{"broadcast_subtract", kElementwise, true, kElements,
           "difference of tensors of other shapes"},
    OpKind{"ceil", kElementwise, true, kElements, "next integer above", kInPlace},
    OpKind{"celu", kElementwise, true, kElements, "exponential linear unit, smooth", kInPlace},
    OpKind{"clip", kElementwise, true, kElements, "number between limits", kInPlace},
    OpKind{"conv", kConvolution, true, kResult, "dense convolution of any dimensions"},
    OpKind{"conv_transpose", kConvolution, true, kResult,
           "transposed convolution of any dimensions, in groups or not"},
    OpKind{"cos", kElementwise, true, kElements, "cosine", kInPlace},
    OpKind{"cosh", kElementwise, true, kElements, "hyperbolic cosine", kInPlace},
    OpKind{"cum_sum", kReduction, true, kElements, "sums up to each number"},
    OpKind{"depth_to_space", kDataMovement, true, kMoved, "channels become blocks of a map"},
    OpKind{"dequantize_linear", kElementwise, true, kElements, "integers become real numbers"},
    OpKind{"div", kElementwise, true, kElements, "quotient of two tensors of one shape", kInPlace},
    OpKind{"dynamic_quantize_linear", kElementwise, true, kElements,
           "real numbers become integers, by their range"},
    OpKind{"einsum", kMatmul, true, "[products]: elements over all indices",
           "sum over products in Einstein's notation"},
    OpKind{"elu", kElementwise, true, kElements, "exponential linear unit", kInPlace},
    OpKind{"equal", kElementwise, true, kElements, "comparison"},
    OpKind{"erf", kElementwise, true, kElements, "error function", kInPlace},
    OpKind{"exp", kElementwise, true, kElements, "exponential function", kInPlace},
    OpKind{"expand", kDataMovement, true, kMoved, "copies along any dimensions"},
    OpKind{"eye_like", kDataMovement, true, kMoved, "an identity matrix"},
    OpKind{"floor", kElementwise, true, kElements, "next integer below", kInPlace},
    OpKind{"gather", kDataMovement, true, kMoved, "parts of a tensor, by integers"},
    OpKind{"gather_elements", kDataMovement, true, kMoved, "elements of a tensor, by integers"},
    OpKind{"gather_nd", kDataMovement, true, kMoved, "parts of a tensor, by several integers each"},
    OpKind{"greater", kElementwise, true, kElements, "comparison"},
    OpKind{"greater_or_equal", kElementwise, true, kElements, "comparison"},
    OpKind{"grid_sample", kDataMovement, true, kElements, "a map seen at given places"},
    OpKind{"group_norm", kNormalization, true, kRows, "normalization of groups of channels"},
    OpKind{"grouped_conv", kConvolution, true, kResult, "convolution in groups of channels"},
    OpKind{"gru", kMatmul, true, kRecurrent, "all steps of a layer of gated recurrent units"},
    OpKind{"hard_sigmoid", kElementwise, true, kElements, "sigmoid of straight lines", kInPlace},
    OpKind{"hard_swish", kElementwise, true, kElements, "x times hard_sigmoid of x", kInPlace},
    OpKind{"hardmax", kReduction, true, kElements, "1 for the largest number of a row"},
    OpKind{"instance_norm", kNormalization, true, kRows, "normalization of each map"},
    OpKind{"is_inf", kElementwise, true, kElements, "whether a number is infinite"},
    OpKind{"is_nan", kElementwise, true, kElements, "whether there is no number"},
    OpKind{"leaky_relu", kElementwise, true, kElements, "relu with a slope below 0", kInPlace},
    OpKind{"less", kElementwise, true, kElements, "comparison"},
    OpKind{"less_or_equal", kElementwise, true, kElements, "comparison"},
    OpKind{"log", kElementwise, true, kElements, "natural logarithm", kInPlace},
    OpKind{"log_softmax", kReduction, true, kRows, "logarithm of the softmax of each row"},
    OpKind{"lp_normalization", kReduction, true, kElements, "division of each row by its norm"},
    OpKind{"lp_pool_nd", kPooling, true, kWindows, "norm under windows"},
    OpKind{"lrn", kNormalization, true, kElements, "local response normalization over channels"},
    OpKind{"lstm", kMatmul, true, kRecurrent, "all steps of a layer of LSTM cells"},
    OpKind{"max", kElementwise, true, kElements, "largest of several tensors", kInPlace},
    OpKind{"max_pool_nd", kPooling, true, kWindows, "largest under windows of any dimensions"},
    OpKind{"mean", kElementwise, true, kElements, "mean of several tensors", kInPlace},
    OpKind{"min", kElementwise, true, kElements, "least of several tensors", kInPlace},
    OpKind{"mish", kElementwise, true, kElements, "x times tanh of softplus of x", kInPlace},
    OpKind{"mod", kElementwise, true, kElements, "remainder", kInPlace},
    OpKind{"moe_layers", kMatmul, true,
           "[tokens, k, numbers]: k experts for each token, numbers of weights of one expert",
           "layers of a mixture of experts; each token takes k"},
    OpKind{"not", kElementwise, true, kElements, "the other truth value", kInPlace},
    OpKind{"one_hot", kDataMovement, true, kMoved, "rows with one number that is not 0"},
    OpKind{"or", kElementwise, true, kElements, "one of two truth values"},
    OpKind{"pad", kDataMovement, true, kMoved, "numbers around a tensor"},
    OpKind{"pow", kElementwise, true, kElements, "power", kInPlace},
    OpKind{"prelu", kElementwise, true, kElements, "relu with a learned slope below 0", kInPlace},
    OpKind{"quantize_linear", kElementwise, true, kElements, "real numbers become integers"},
    OpKind{"random", kElementwise, true, kElements, "random numbers"},
    OpKind{"range", kDataMovement, true, kMoved, "numbers at equal distances"},
    OpKind{"reciprocal", kElementwise, true, kElements, "quotient with a constant", kInPlace},
    OpKind{"reduce_l1", kReduction, true, kReduced, "sum of absolute values"},
    OpKind{"reduce_l2", kReduction, true, kReduced, "root of the sum of squares"},
    OpKind{"reduce_log_sum", kReduction, true, kReduced, "logarithm of the sum"},
    OpKind{"reduce_log_sum_exp", kReduction, true, kReduced, "logarithm of the sum of powers"},
    OpKind{"reduce_max", kReduction, true, kReduced, "largest number along some dimensions"},
    OpKind{"reduce_mean", kReduction, true, kReduced, "mean along some dimensions"},
    OpKind{"reduce_min", kReduction, true, kReduced, "least number along some dimensions"},
    OpKind{"reduce_prod", kReduction, true, kReduced, "product along some dimensions"},
    OpKind{"reduce_sum", kReduction, true, kReduced, "sum along some dimensions"},
    OpKind{"reduce_sum_square", kReduction, true, kReduced, "sum of squares"},
    OpKind{"resize", kDataMovement, true, kMoved, "a map in another size"},
    OpKind{"reverse_sequence", kDataMovement, true, kMoved, "rows from behind"},
    OpKind{"rnn", kMatmul, true, kRecurrent, "all steps of a plain recurrent layer"},
    OpKind{"roi_align", kPooling, true, kElements, "regions of a map in one size"},
    OpKind{"round", kElementwise, true, kElements, "nearest integer", kInPlace},
    OpKind{"scatter_elements", kDataMovement, true, kMoved, "a tensor with some elements replaced"},
    OpKind{"scatter_nd", kDataMovement, true, kMoved, "a tensor with some parts replaced"},
    OpKind{"selu", kElementwise, true, kElements, "exponential linear unit, scaled", kInPlace},
    OpKind{"shrink", kElementwise, true, kElements, "0 around 0", kInPlace},
    OpKind{"sign", kElementwise, true, kElements, "-1, 0 or 1", kInPlace},
    OpKind{"sin", kElementwise, true, kElements, "sine", kInPlace},
    OpKind{"sinh", kElementwise, true, kElements, "hyperbolic sine", kInPlace},
    OpKind{"softplus", kElementwise, true, kElements, "log(1 + exp(x))", kInPlace},
    OpKind{"softsign", kElementwise, true, kElements, "x / (1 + |x|)", kInPlace},
    OpKind{"space_to_depth", kDataMovement, true, kMoved, "blocks of a map become channels"},
    OpKind{"sqrt", kElementwise, true, kElements, "square root", kInPlace},
    OpKind{"sum", kElementwise, true, kElements, "sum of several tensors", kInPlace},
    OpKind{"tan", kElementwise, true, kElements, "tangent", kInPlace},
    OpKind{"thresholded_relu", kElementwise, true, kElements, "0 up to a limit", kInPlace},
    OpKind{"tile", kDataMovement, true, kMoved, "copies side by side"},
    OpKind{"trilu", kDataMovement, true, kMoved, "one side of a matrix' diagonal"},
    OpKind{"where", kElementwise, true, kElements, "numbers of one tensor or another"},
    OpKind{"xor", kElementwise, true, kElements, "one of two truth values, not both"},
};

static_assert(std::ranges::is_sorted(kImported, {}, &OpKind::name));

const OpKind* find_in(std::span<const OpKind> kinds, std::string_view name) {
  const auto found = std::ranges::lower_bound(kinds, name, {}, &OpKind::name);
  return found != kinds.end() && found->name == name ? &*found : nullptr;
}

// The kind of either table.
const OpKind* find_any(std::string_view name) {
  const OpKind* own = find_in(kKinds, name);
  return own != nullptr ? own : find_in(kImported, name);
}

}  // namespace

std::string_view to_string(OpClass op_class) {
  switch (op_class) {
    case kConvolution:
      return "convolution";
    case kDepthwiseConvolution:
      return "depthwise-convolution";
    case kMatmul:
      return "matmul";
    case kNormalization:
      return "normalization";
    case kPooling:
      return "pooling";
    case kElementwise:
      return "elementwise";
    case kDataMovement:
      return "data-movement";
    case kReduction:
      return "reduction";
    case kUpdate:
      return "update";
    case kOther:
      return "other";
  }
  EMPLACE_CHECK(false, "op class {}", static_cast<int>(op_class));
}

std::span<const OpKind> op_kinds() { return kKinds; }

std::span<const OpKind> imported_op_kinds() { return kImported; }

const OpKind* find_op_kind(std::string_view name) { return find_in(kKinds, name); }

OpClass op_class_of(std::string_view kind) {
  for (const std::string_view name : {kind, kind.substr(0, kind.find("_backward"))}) {
    if (const OpKind* found = find_any(name)) {
      return found->op_class;
    }
    if (const OpClass found = foreign_op_class(name); found != kOther) {
      return found;
    }
  }
  return kOther;
}

ResultMemory result_memory_of(std::string_view kind) {
  const OpKind* found = find_any(kind);
  return found == nullptr ? kOwn : found->memory;
}

bool launches(std::string_view kind) {
  const OpKind* found = find_op_kind(kind);
  return found == nullptr || found->launches;
}

}  // namespace emplace
