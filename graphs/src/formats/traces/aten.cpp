#include "aten.hpp"

#include <algorithm>
#include <array>

namespace emplace {
namespace {

using enum AtenRole;

struct AtenRow {
  std::string_view aten;
  std::string_view kind;  // empty: the operator's own name
  AtenRole role = kComputes;
};

// Sorted. An operator and the one that PyTorch calls within it are the same kind. A convolution's
// gradients are one operator; which of them it computes decides its kind (aten_work.hpp).
constexpr std::array kAtenRows = {
    AtenRow{"_adaptive_avg_pool2d", "avg_pool"},
    AtenRow{"_adaptive_avg_pool2d_backward", "avg_pool_backward"},
    AtenRow{"_addmm_activation", "matmul"},
    AtenRow{"_batch_norm_impl_index", "batch_norm"},
    AtenRow{"_batch_norm_with_update", "batch_norm"},
    AtenRow{"_conv_depthwise2d", "conv2d"},
    AtenRow{"_convolution", "conv2d"},
    AtenRow{"_convolution_mode", "conv2d"},
    AtenRow{"_copy_from", "", kCopies},
    AtenRow{"_copy_from_and_resize", "", kCopies},
    AtenRow{"_cudnn_attention_backward", "scaled_dot_product_attention_backward"},
    AtenRow{"_cudnn_attention_forward", "scaled_dot_product_attention"},
    AtenRow{"_cudnn_rnn", "rnn"},
    AtenRow{"_cudnn_rnn_backward", "rnn_backward"},
    AtenRow{"_efficient_attention_backward", "scaled_dot_product_attention_backward"},
    AtenRow{"_efficient_attention_forward", "scaled_dot_product_attention"},
    AtenRow{"_efficientzerotensor", "no_op", kDescribes},
    AtenRow{"_embedding_bag", "embedding_bag"},
    AtenRow{"_embedding_bag_dense_backward", "embedding_bag_backward"},
    AtenRow{"_embedding_bag_forward_only", "embedding_bag"},
    AtenRow{"_flash_attention_backward", "scaled_dot_product_attention_backward"},
    AtenRow{"_flash_attention_forward", "scaled_dot_product_attention"},
    AtenRow{"_fused_dropout", "dropout"},
    AtenRow{"_fused_rms_norm", "rms_norm"},
    AtenRow{"_fused_rms_norm_backward", "rms_norm_backward"},
    AtenRow{"_has_compatible_shallow_copy_type", "no_op", kDescribes},
    AtenRow{"_int_mm", "matmul"},
    AtenRow{"_local_scalar_dense", "no_op", kDescribes},
    AtenRow{"_log_softmax", "softmax"},
    AtenRow{"_log_softmax_backward_data", "softmax_backward"},
    AtenRow{"_native_batch_norm_legit", "batch_norm"},
    AtenRow{"_nested_tensor_size", "no_op", kDescribes},
    AtenRow{"_pin_memory", "", kCopies},
    AtenRow{"_reshape_alias", "reshape", kDescribes},
    AtenRow{"_scaled_dot_product_attention", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_attention_math", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_cudnn_attention", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_cudnn_attention_backward",
            "scaled_dot_product_attention_backward"},
    AtenRow{"_scaled_dot_product_efficient_attention", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_efficient_attention_backward",
            "scaled_dot_product_attention_backward"},
    AtenRow{"_scaled_dot_product_flash_attention", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_flash_attention_backward",
            "scaled_dot_product_attention_backward"},
    AtenRow{"_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_flash_attention_for_cpu_backward",
            "scaled_dot_product_attention_backward"},
    AtenRow{"_scaled_dot_product_fused_attention_overrideable", "scaled_dot_product_attention"},
    AtenRow{"_scaled_dot_product_fused_attention_overrideable_backward",
            "scaled_dot_product_attention_backward"},
    AtenRow{"_scaled_mm", "matmul"},
    AtenRow{"_slow_conv2d_backward", "convolution_backward"},
    AtenRow{"_slow_conv2d_forward", "conv2d"},
    AtenRow{"_softmax", "softmax"},
    AtenRow{"_softmax_backward_data", "softmax_backward"},
    AtenRow{"_to_copy", "", kCopies},
    AtenRow{"_unsafe_view", "reshape", kDescribes},
    AtenRow{"_use_cudnn_rnn_flatten_weight", "no_op", kDescribes},
    AtenRow{"adaptive_avg_pool2d", "avg_pool"},
    AtenRow{"addmm", "matmul"},
    AtenRow{"addmv", "matmul"},
    AtenRow{"alias", "reshape", kDescribes},
    AtenRow{"as_strided", "reshape", kDescribes},
    AtenRow{"avg_pool2d", "avg_pool"},
    AtenRow{"avg_pool2d_backward", "avg_pool_backward"},
    AtenRow{"baddbmm", "batch_matmul"},
    AtenRow{"batch_norm", "batch_norm"},
    AtenRow{"batch_norm_backward", "batch_norm_backward"},
    AtenRow{"bmm", "batch_matmul"},
    AtenRow{"can_cast", "no_op", kDescribes},
    AtenRow{"cat", "concat"},
    AtenRow{"chunk", "reshape", kDescribes},
    AtenRow{"clamp_min", "relu"},
    AtenRow{"clone", "", kCopies},
    AtenRow{"contiguous", "", kCopies},
    AtenRow{"conv1d", "conv2d"},
    AtenRow{"conv2d", "conv2d"},
    AtenRow{"conv3d", "conv2d"},
    AtenRow{"conv_depthwise3d", "conv2d"},
    AtenRow{"conv_transpose1d", "conv2d_transpose"},
    AtenRow{"conv_transpose2d", "conv2d_transpose"},
    AtenRow{"conv_transpose3d", "conv2d_transpose"},
    AtenRow{"convolution", "conv2d"},
    AtenRow{"convolution_backward", "convolution_backward"},
    AtenRow{"convolution_backward_overrideable", "convolution_backward"},
    AtenRow{"convolution_overrideable", "conv2d"},
    AtenRow{"copy", "", kCopies},
    AtenRow{"cross_entropy_loss", "softmax_cross_entropy"},
    AtenRow{"cudnn_batch_norm", "batch_norm"},
    AtenRow{"cudnn_batch_norm_backward", "batch_norm_backward"},
    AtenRow{"cudnn_convolution", "conv2d"},
    AtenRow{"cudnn_convolution_add_relu", "conv2d"},
    AtenRow{"cudnn_convolution_backward", "convolution_backward"},
    AtenRow{"cudnn_convolution_backward_input", "conv2d_backward_data"},
    AtenRow{"cudnn_convolution_backward_weight", "conv2d_backward_filter"},
    AtenRow{"cudnn_convolution_relu", "conv2d"},
    AtenRow{"cudnn_convolution_transpose", "conv2d_transpose"},
    AtenRow{"cudnn_is_acceptable", "no_op", kDescribes},
    AtenRow{"detach", "reshape", kDescribes},
    AtenRow{"diagonal", "reshape", kDescribes},
    AtenRow{"dot", "matmul"},
    AtenRow{"embedding_dense_backward", "embedding_backward"},
    AtenRow{"empty", "no_op", kDescribes},
    AtenRow{"empty_like", "no_op", kDescribes},
    AtenRow{"empty_permuted", "no_op", kDescribes},
    AtenRow{"empty_strided", "no_op", kDescribes},
    AtenRow{"expand", "reshape", kDescribes},
    AtenRow{"expand_as", "reshape", kDescribes},
    AtenRow{"fill", "zeros", kFills},
    AtenRow{"flatten", "reshape", kDescribes},
    AtenRow{"full", "zeros", kFills},
    AtenRow{"full_like", "zeros", kFills},
    AtenRow{"group_norm", "batch_norm"},
    AtenRow{"instance_norm", "batch_norm"},
    AtenRow{"is_floating_point", "no_op", kDescribes},
    AtenRow{"is_nonzero", "no_op", kDescribes},
    AtenRow{"is_pinned", "no_op", kDescribes},
    AtenRow{"item", "no_op", kDescribes},
    AtenRow{"layer_norm", "layer_norm"},
    AtenRow{"lift_fresh", "reshape", kDescribes},
    AtenRow{"linear", "matmul"},
    AtenRow{"log_softmax", "softmax"},
    AtenRow{"matmul", "matmul"},
    AtenRow{"max_pool2d", "max_pool"},
    AtenRow{"max_pool2d_with_indices", "max_pool"},
    AtenRow{"max_pool2d_with_indices_backward", "max_pool_backward"},
    AtenRow{"miopen_batch_norm", "batch_norm"},
    AtenRow{"miopen_batch_norm_backward", "batch_norm_backward"},
    AtenRow{"miopen_convolution", "conv2d"},
    AtenRow{"miopen_convolution_transpose", "conv2d_transpose"},
    AtenRow{"miopen_depthwise_convolution", "conv2d"},
    AtenRow{"miopen_rnn", "rnn"},
    AtenRow{"miopen_rnn_backward", "rnn_backward"},
    AtenRow{"mkldnn_convolution", "conv2d"},
    AtenRow{"mkldnn_convolution_backward", "convolution_backward"},
    AtenRow{"mkldnn_convolution_backward_input", "conv2d_backward_data"},
    AtenRow{"mkldnn_convolution_backward_weights", "conv2d_backward_filter"},
    AtenRow{"mkldnn_convolution_transpose", "conv2d_transpose"},
    AtenRow{"mkldnn_linear", "matmul"},
    AtenRow{"mkldnn_rnn_layer", "rnn"},
    AtenRow{"mkldnn_rnn_layer_backward", "rnn_backward"},
    AtenRow{"mm", "matmul"},
    AtenRow{"movedim", "reshape", kDescribes},
    AtenRow{"mul", "multiply"},
    AtenRow{"mv", "matmul"},
    AtenRow{"narrow", "reshape", kDescribes},
    AtenRow{"native_batch_norm", "batch_norm"},
    AtenRow{"native_batch_norm_backward", "batch_norm_backward"},
    AtenRow{"native_dropout", "dropout"},
    AtenRow{"native_dropout_backward", "dropout_backward"},
    AtenRow{"native_group_norm", "batch_norm"},
    AtenRow{"native_group_norm_backward", "batch_norm_backward"},
    AtenRow{"native_layer_norm", "layer_norm"},
    AtenRow{"native_layer_norm_backward", "layer_norm_backward"},
    AtenRow{"new_empty", "no_op", kDescribes},
    AtenRow{"new_empty_strided", "no_op", kDescribes},
    AtenRow{"new_full", "zeros", kFills},
    AtenRow{"new_ones", "zeros", kFills},
    AtenRow{"new_zeros", "zeros", kFills},
    AtenRow{"numpy_T", "reshape", kDescribes},
    AtenRow{"ones", "zeros", kFills},
    AtenRow{"ones_like", "zeros", kFills},
    AtenRow{"permute", "reshape", kDescribes},
    AtenRow{"pin_memory", "", kCopies},
    AtenRow{"record_stream", "no_op", kDescribes},
    AtenRow{"reshape", "reshape", kDescribes},
    AtenRow{"resize", "no_op", kDescribes},
    AtenRow{"resize_as", "no_op", kDescribes},
    AtenRow{"resolve_conj", "reshape", kDescribes},
    AtenRow{"resolve_neg", "reshape", kDescribes},
    AtenRow{"result_type", "no_op", kDescribes},
    AtenRow{"rms_norm", "rms_norm"},
    AtenRow{"rsub", "subtract"},
    AtenRow{"select", "reshape", kDescribes},
    AtenRow{"set", "no_op", kDescribes},
    AtenRow{"size", "no_op", kDescribes},
    AtenRow{"slice", "reshape", kDescribes},
    AtenRow{"slow_conv2d_backward", "convolution_backward"},
    AtenRow{"slow_conv3d_forward", "conv2d"},
    AtenRow{"slow_conv_dilated2d", "conv2d"},
    AtenRow{"slow_conv_transpose2d", "conv2d_transpose"},
    AtenRow{"slow_conv_transpose3d", "conv2d_transpose"},
    AtenRow{"softmax", "softmax"},
    AtenRow{"split", "reshape", kDescribes},
    AtenRow{"split_with_sizes", "reshape", kDescribes},
    AtenRow{"squeeze", "reshape", kDescribes},
    AtenRow{"stack", "concat"},
    AtenRow{"stride", "no_op", kDescribes},
    AtenRow{"sub", "subtract"},
    AtenRow{"swapaxes", "reshape", kDescribes},
    AtenRow{"sym_size", "no_op", kDescribes},
    AtenRow{"t", "reshape", kDescribes},
    AtenRow{"thnn_conv2d", "conv2d"},
    AtenRow{"threshold_backward", "relu_backward"},
    AtenRow{"to", "", kCopies},
    AtenRow{"transpose", "reshape", kDescribes},
    AtenRow{"type_as", "", kCopies},
    AtenRow{"unbind", "reshape", kDescribes},
    AtenRow{"unflatten", "reshape", kDescribes},
    AtenRow{"unfold", "reshape", kDescribes},
    AtenRow{"unsafe_split", "reshape", kDescribes},
    AtenRow{"unsqueeze", "reshape", kDescribes},
    AtenRow{"view", "reshape", kDescribes},
    AtenRow{"view_as", "reshape", kDescribes},
    AtenRow{"zero", "zeros", kFills},
    AtenRow{"zeros", "zeros", kFills},
    AtenRow{"zeros_like", "zeros", kFills},
};

static_assert(std::ranges::is_sorted(kAtenRows, {}, &AtenRow::aten));

const AtenRow* find_row(std::string_view name) {
  const auto found = std::ranges::lower_bound(kAtenRows, name, {}, &AtenRow::aten);
  return found != kAtenRows.end() && found->aten == name ? &*found : nullptr;
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
  const AtenRow* row = find_row(own);
  return std::string(row != nullptr && !row->kind.empty() ? row->kind : own);
}

AtenRole role_of_aten(std::string_view name) {
  const AtenRow* row = find_row(name_of_aten(name));
  return row != nullptr ? row->role : kComputes;
}

}  // namespace emplace
