#include "aten.hpp"

#include <algorithm>
#include <array>

namespace emplace {
namespace {

using enum AtenRole;

struct Row {
  std::string_view aten;
  std::string_view kind;  // empty: the operator's own name
  AtenRole role = kComputes;
};

// Sorted. An operator and the one that PyTorch calls within it are the same kind. A convolution's
// gradients are one operator; which of them it computes decides its kind (aten_work.hpp).
constexpr std::array kRows = {
    Row{"_adaptive_avg_pool2d", "avg_pool"},
    Row{"_adaptive_avg_pool2d_backward", "avg_pool_backward"},
    Row{"_addmm_activation", "matmul"},
    Row{"_batch_norm_impl_index", "batch_norm"},
    Row{"_batch_norm_with_update", "batch_norm"},
    Row{"_conv_depthwise2d", "conv2d"},
    Row{"_convolution", "conv2d"},
    Row{"_convolution_mode", "conv2d"},
    Row{"_copy_from", "", kCopies},
    Row{"_copy_from_and_resize", "", kCopies},
    Row{"_cudnn_attention_backward", "scaled_dot_product_attention_backward"},
    Row{"_cudnn_attention_forward", "scaled_dot_product_attention"},
    Row{"_cudnn_rnn", "rnn"},
    Row{"_cudnn_rnn_backward", "rnn_backward"},
    Row{"_efficient_attention_backward", "scaled_dot_product_attention_backward"},
    Row{"_efficient_attention_forward", "scaled_dot_product_attention"},
    Row{"_efficientzerotensor", "no_op", kDescribes},
    Row{"_embedding_bag", "embedding_bag"},
    Row{"_embedding_bag_dense_backward", "embedding_bag_backward"},
    Row{"_embedding_bag_forward_only", "embedding_bag"},
    Row{"_flash_attention_backward", "scaled_dot_product_attention_backward"},
    Row{"_flash_attention_forward", "scaled_dot_product_attention"},
    Row{"_fused_dropout", "dropout"},
    Row{"_fused_rms_norm", "rms_norm"},
    Row{"_fused_rms_norm_backward", "rms_norm_backward"},
    Row{"_has_compatible_shallow_copy_type", "no_op", kDescribes},
    Row{"_int_mm", "matmul"},
    Row{"_local_scalar_dense", "no_op", kDescribes},
    Row{"_log_softmax", "softmax"},
    Row{"_log_softmax_backward_data", "softmax_backward"},
    Row{"_native_batch_norm_legit", "batch_norm"},
    Row{"_nested_tensor_size", "no_op", kDescribes},
    Row{"_pin_memory", "", kCopies},
    Row{"_reshape_alias", "reshape", kDescribes},
    Row{"_scaled_dot_product_attention", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_attention_math", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_cudnn_attention", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_cudnn_attention_backward", "scaled_dot_product_attention_backward"},
    Row{"_scaled_dot_product_efficient_attention", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_efficient_attention_backward",
        "scaled_dot_product_attention_backward"},
    Row{"_scaled_dot_product_flash_attention", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_flash_attention_backward", "scaled_dot_product_attention_backward"},
    Row{"_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_flash_attention_for_cpu_backward",
        "scaled_dot_product_attention_backward"},
    Row{"_scaled_dot_product_fused_attention_overrideable", "scaled_dot_product_attention"},
    Row{"_scaled_dot_product_fused_attention_overrideable_backward",
        "scaled_dot_product_attention_backward"},
    Row{"_scaled_mm", "matmul"},
    Row{"_slow_conv2d_backward", "convolution_backward"},
    Row{"_slow_conv2d_forward", "conv2d"},
    Row{"_softmax", "softmax"},
    Row{"_softmax_backward_data", "softmax_backward"},
    Row{"_to_copy", "", kCopies},
    Row{"_unsafe_view", "reshape", kDescribes},
    Row{"_use_cudnn_rnn_flatten_weight", "no_op", kDescribes},
    Row{"adaptive_avg_pool2d", "avg_pool"},
    Row{"addmm", "matmul"},
    Row{"addmv", "matmul"},
    Row{"alias", "reshape", kDescribes},
    Row{"as_strided", "reshape", kDescribes},
    Row{"avg_pool2d", "avg_pool"},
    Row{"avg_pool2d_backward", "avg_pool_backward"},
    Row{"baddbmm", "batch_matmul"},
    Row{"batch_norm", "batch_norm"},
    Row{"batch_norm_backward", "batch_norm_backward"},
    Row{"bmm", "batch_matmul"},
    Row{"can_cast", "no_op", kDescribes},
    Row{"cat", "concat"},
    Row{"chunk", "reshape", kDescribes},
    Row{"clamp_min", "relu"},
    Row{"clone", "", kCopies},
    Row{"contiguous", "", kCopies},
    Row{"conv1d", "conv2d"},
    Row{"conv2d", "conv2d"},
    Row{"conv3d", "conv2d"},
    Row{"conv_depthwise3d", "conv2d"},
    Row{"conv_transpose1d", "conv2d_transpose"},
    Row{"conv_transpose2d", "conv2d_transpose"},
    Row{"conv_transpose3d", "conv2d_transpose"},
    Row{"convolution", "conv2d"},
    Row{"convolution_backward", "convolution_backward"},
    Row{"convolution_backward_overrideable", "convolution_backward"},
    Row{"convolution_overrideable", "conv2d"},
    Row{"copy", "", kCopies},
    Row{"cross_entropy_loss", "softmax_cross_entropy"},
    Row{"cudnn_batch_norm", "batch_norm"},
    Row{"cudnn_batch_norm_backward", "batch_norm_backward"},
    Row{"cudnn_convolution", "conv2d"},
    Row{"cudnn_convolution_add_relu", "conv2d"},
    Row{"cudnn_convolution_backward", "convolution_backward"},
    Row{"cudnn_convolution_backward_input", "conv2d_backward_data"},
    Row{"cudnn_convolution_backward_weight", "conv2d_backward_filter"},
    Row{"cudnn_convolution_relu", "conv2d"},
    Row{"cudnn_convolution_transpose", "conv2d_transpose"},
    Row{"cudnn_is_acceptable", "no_op", kDescribes},
    Row{"detach", "reshape", kDescribes},
    Row{"diagonal", "reshape", kDescribes},
    Row{"dot", "matmul"},
    Row{"embedding_dense_backward", "embedding_backward"},
    Row{"empty", "no_op", kDescribes},
    Row{"empty_like", "no_op", kDescribes},
    Row{"empty_permuted", "no_op", kDescribes},
    Row{"empty_strided", "no_op", kDescribes},
    Row{"expand", "reshape", kDescribes},
    Row{"expand_as", "reshape", kDescribes},
    Row{"fill", "zeros", kFills},
    Row{"flatten", "reshape", kDescribes},
    Row{"full", "zeros", kFills},
    Row{"full_like", "zeros", kFills},
    Row{"group_norm", "batch_norm"},
    Row{"instance_norm", "batch_norm"},
    Row{"is_floating_point", "no_op", kDescribes},
    Row{"is_nonzero", "no_op", kDescribes},
    Row{"is_pinned", "no_op", kDescribes},
    Row{"item", "no_op", kDescribes},
    Row{"layer_norm", "layer_norm"},
    Row{"lift_fresh", "reshape", kDescribes},
    Row{"linear", "matmul"},
    Row{"log_softmax", "softmax"},
    Row{"matmul", "matmul"},
    Row{"max_pool2d", "max_pool"},
    Row{"max_pool2d_with_indices", "max_pool"},
    Row{"max_pool2d_with_indices_backward", "max_pool_backward"},
    Row{"miopen_batch_norm", "batch_norm"},
    Row{"miopen_batch_norm_backward", "batch_norm_backward"},
    Row{"miopen_convolution", "conv2d"},
    Row{"miopen_convolution_transpose", "conv2d_transpose"},
    Row{"miopen_depthwise_convolution", "conv2d"},
    Row{"miopen_rnn", "rnn"},
    Row{"miopen_rnn_backward", "rnn_backward"},
    Row{"mkldnn_convolution", "conv2d"},
    Row{"mkldnn_convolution_backward", "convolution_backward"},
    Row{"mkldnn_convolution_backward_input", "conv2d_backward_data"},
    Row{"mkldnn_convolution_backward_weights", "conv2d_backward_filter"},
    Row{"mkldnn_convolution_transpose", "conv2d_transpose"},
    Row{"mkldnn_linear", "matmul"},
    Row{"mkldnn_rnn_layer", "rnn"},
    Row{"mkldnn_rnn_layer_backward", "rnn_backward"},
    Row{"mm", "matmul"},
    Row{"movedim", "reshape", kDescribes},
    Row{"mul", "multiply"},
    Row{"mv", "matmul"},
    Row{"narrow", "reshape", kDescribes},
    Row{"native_batch_norm", "batch_norm"},
    Row{"native_batch_norm_backward", "batch_norm_backward"},
    Row{"native_dropout", "dropout"},
    Row{"native_dropout_backward", "dropout_backward"},
    Row{"native_group_norm", "batch_norm"},
    Row{"native_group_norm_backward", "batch_norm_backward"},
    Row{"native_layer_norm", "layer_norm"},
    Row{"native_layer_norm_backward", "layer_norm_backward"},
    Row{"new_empty", "no_op", kDescribes},
    Row{"new_empty_strided", "no_op", kDescribes},
    Row{"new_full", "zeros", kFills},
    Row{"new_ones", "zeros", kFills},
    Row{"new_zeros", "zeros", kFills},
    Row{"numpy_T", "reshape", kDescribes},
    Row{"ones", "zeros", kFills},
    Row{"ones_like", "zeros", kFills},
    Row{"permute", "reshape", kDescribes},
    Row{"pin_memory", "", kCopies},
    Row{"record_stream", "no_op", kDescribes},
    Row{"reshape", "reshape", kDescribes},
    Row{"resize", "no_op", kDescribes},
    Row{"resize_as", "no_op", kDescribes},
    Row{"resolve_conj", "reshape", kDescribes},
    Row{"resolve_neg", "reshape", kDescribes},
    Row{"result_type", "no_op", kDescribes},
    Row{"rms_norm", "rms_norm"},
    Row{"rsub", "subtract"},
    Row{"select", "reshape", kDescribes},
    Row{"set", "no_op", kDescribes},
    Row{"size", "no_op", kDescribes},
    Row{"slice", "reshape", kDescribes},
    Row{"slow_conv2d_backward", "convolution_backward"},
    Row{"slow_conv3d_forward", "conv2d"},
    Row{"slow_conv_dilated2d", "conv2d"},
    Row{"slow_conv_transpose2d", "conv2d_transpose"},
    Row{"slow_conv_transpose3d", "conv2d_transpose"},
    Row{"softmax", "softmax"},
    Row{"split", "reshape", kDescribes},
    Row{"split_with_sizes", "reshape", kDescribes},
    Row{"squeeze", "reshape", kDescribes},
    Row{"stack", "concat"},
    Row{"stride", "no_op", kDescribes},
    Row{"sub", "subtract"},
    Row{"swapaxes", "reshape", kDescribes},
    Row{"sym_size", "no_op", kDescribes},
    Row{"t", "reshape", kDescribes},
    Row{"thnn_conv2d", "conv2d"},
    Row{"threshold_backward", "relu_backward"},
    Row{"to", "", kCopies},
    Row{"transpose", "reshape", kDescribes},
    Row{"type_as", "", kCopies},
    Row{"unbind", "reshape", kDescribes},
    Row{"unflatten", "reshape", kDescribes},
    Row{"unfold", "reshape", kDescribes},
    Row{"unsafe_split", "reshape", kDescribes},
    Row{"unsqueeze", "reshape", kDescribes},
    Row{"view", "reshape", kDescribes},
    Row{"view_as", "reshape", kDescribes},
    Row{"zero", "zeros", kFills},
    Row{"zeros", "zeros", kFills},
    Row{"zeros_like", "zeros", kFills},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::aten));

const Row* find_row(std::string_view name) {
  const auto found = std::ranges::lower_bound(kRows, name, {}, &Row::aten);
  return found != kRows.end() && found->aten == name ? &*found : nullptr;
}

}  // namespace

std::string_view name_of_aten(std::string_view name) {
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
    name = name.substr(0, name.find('.'));
  }
  if (name.size() > 1 && name.ends_with('_')) {
    name.remove_suffix(1);
  }
  return name;
}

std::string kind_of_aten(std::string_view name) {
  const std::string_view own = name_of_aten(name);
  const Row* row = find_row(own);
  return std::string(row != nullptr && !row->kind.empty() ? row->kind : own);
}

AtenRole role_of_aten(std::string_view name) {
  const Row* row = find_row(name_of_aten(name));
  return row != nullptr ? row->role : kComputes;
}

}  // namespace emplace
