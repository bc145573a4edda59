#include "aten.hpp"

#include "operators/operators.hpp"

#include <array>
#include <unordered_map>

namespace emplace {
namespace {

using enum AtenRole;

// The operators of PyTorch that are one operator of the library. Those that have its name already
// are not listed; an operator and those that PyTorch calls within it are the same. A convolution's
// gradients are one operator; which of them it computes decides its kind.
struct Names {
  std::string_view kind;
  std::string_view aten;
  AtenRole role = kComputes;
};

constexpr std::array kNames = {
    // --- Each number by itself ---
    Names{"and", "__and__ bitwise_and logical_and"},
    Names{"clip", "clamp clamp_max hardtanh relu6"},
    Names{"clip_backward", "hardtanh_backward"},
    Names{"dropout", "_fused_dropout feature_dropout native_dropout"},
    Names{"dropout_backward", "native_dropout_backward"},
    Names{"div", "true_divide"},
    Names{"equal", "eq"},
    Names{"exp", "exp2 expm1"},
    Names{"greater", "gt"},
    Names{"greater_or_equal", "ge"},
    Names{"hard_sigmoid", "hardsigmoid"},
    Names{"hard_sigmoid_backward", "hardsigmoid_backward"},
    Names{"hard_swish", "hardswish"},
    Names{"hard_swish_backward", "hardswish_backward"},
    Names{"is_finite", "isfinite"},
    Names{"is_inf", "isinf"},
    Names{"is_nan", "isnan"},
    Names{"less", "lt"},
    Names{"less_or_equal", "le"},
    Names{"log", "log10 log1p log2"},
    Names{"max", "maximum"},
    Names{"min", "minimum"},
    Names{"mod", "fmod remainder"},
    Names{"multiply", "mul"},
    Names{"not", "bitwise_not logical_not"},
    Names{"not_equal", "ne"},
    Names{"or", "__or__ bitwise_or logical_or"},
    Names{"pow", "rsqrt square"},
    Names{"prelu", "_prelu_kernel"},
    Names{"random",
          "bernoulli normal rand rand_like randint randint_like randn randn_like uniform"},
    Names{"relu", "clamp_min"},
    Names{"relu_backward", "threshold_backward"},
    Names{"softplus", "log_sigmoid log_sigmoid_forward"},
    Names{"softplus_backward", "log_sigmoid_backward"},
    Names{"subtract", "rsub sub"},
    Names{"xor", "__xor__ bitwise_xor logical_xor"},

    // --- Products, convolutions, recurrent layers ---
    Names{"attention",
          "_cudnn_attention_forward _efficient_attention_forward _flash_attention_forward "
          "_scaled_dot_product_attention _scaled_dot_product_attention_math "
          "_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention "
          "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
          "_scaled_dot_product_fused_attention_overrideable scaled_dot_product_attention"},
    Names{"attention_backward",
          "_cudnn_attention_backward _efficient_attention_backward _flash_attention_backward "
          "_scaled_dot_product_cudnn_attention_backward "
          "_scaled_dot_product_efficient_attention_backward "
          "_scaled_dot_product_flash_attention_backward "
          "_scaled_dot_product_flash_attention_for_cpu_backward "
          "_scaled_dot_product_fused_attention_overrideable_backward "
          "scaled_dot_product_attention_backward"},
    Names{"batch_matmul", "baddbmm bmm"},
    Names{"conv2d",
          "_conv_depthwise2d _convolution _convolution_mode _slow_conv2d_forward conv1d conv3d "
          "conv_depthwise3d convolution convolution_overrideable cudnn_convolution "
          "cudnn_convolution_add_relu cudnn_convolution_relu miopen_convolution "
          "miopen_depthwise_convolution mkldnn_convolution slow_conv3d_forward slow_conv_dilated2d "
          "thnn_conv2d"},
    Names{"conv2d_backward_data",
          "cudnn_convolution_backward_input mkldnn_convolution_backward_input"},
    Names{"conv2d_backward_filter",
          "cudnn_convolution_backward_weight mkldnn_convolution_backward_weights"},
    Names{"conv2d_transpose",
          "conv_transpose1d conv_transpose2d conv_transpose3d cudnn_convolution_transpose "
          "miopen_convolution_transpose mkldnn_convolution_transpose slow_conv_transpose2d "
          "slow_conv_transpose3d"},
    Names{"convolution_backward",
          "_slow_conv2d_backward convolution_backward_overrideable cudnn_convolution_backward "
          "mkldnn_convolution_backward slow_conv2d_backward"},
    Names{"grouped_matmul", "_grouped_mm grouped_mm_fallback"},
    Names{"matmul",
          "_addmm_activation _int_mm _scaled_mm addmm addmv dot linear mkldnn_linear mm mv vdot"},
    Names{"rnn", "_cudnn_rnn miopen_rnn mkldnn_rnn_layer rnn_relu rnn_tanh"},
    Names{"rnn_backward", "_cudnn_rnn_backward miopen_rnn_backward mkldnn_rnn_layer_backward"},

    // --- Normalizations, pools, reductions, losses ---
    Names{"arg_max", "argmax"},
    Names{"arg_min", "argmin"},
    Names{"avg_pool",
          "_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
          "adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d"},
    Names{"avg_pool_backward",
          "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward avg_pool2d_backward "
          "avg_pool3d_backward"},
    Names{"batch_norm",
          "_batch_norm_impl_index _batch_norm_with_update _native_batch_norm_legit "
          "_native_batch_norm_legit_functional cudnn_batch_norm miopen_batch_norm "
          "native_batch_norm"},
    Names{"batch_norm_backward",
          "cudnn_batch_norm_backward miopen_batch_norm_backward native_batch_norm_backward"},
    Names{"batch_norm_inference", "_native_batch_norm_legit_no_training"},
    Names{"cum_prod", "cumprod"},
    Names{"cum_sum", "cumsum"},
    Names{"group_norm", "native_group_norm"},
    Names{"group_norm_backward", "native_group_norm_backward"},
    Names{"layer_norm", "native_layer_norm"},
    Names{"layer_norm_backward", "native_layer_norm_backward"},
    Names{"log_softmax", "_log_softmax"},
    Names{"log_softmax_backward", "_log_softmax_backward_data"},
    Names{"max_pool",
          "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d max_pool1d max_pool2d "
          "max_pool2d_with_indices max_pool3d max_pool3d_with_indices"},
    Names{"max_pool_backward", "max_pool2d_with_indices_backward max_pool3d_with_indices_backward"},
    Names{"mean_squared_error", "mse_loss"},
    Names{"mean_squared_error_backward", "mse_loss_backward"},
    Names{"negative_log_likelihood_loss",
          "nll_loss nll_loss2d_forward nll_loss_forward nll_loss_nd"},
    Names{"reduce_l2", "frobenius_norm linalg_vector_norm norm"},
    Names{"reduce_log_sum_exp", "logsumexp"},
    Names{"reduce_max", "amax any max"},
    Names{"reduce_mean", "mean"},
    Names{"reduce_min", "all amin min"},
    Names{"reduce_prod", "prod"},
    Names{"reduce_std", "std std_mean"},
    Names{"reduce_sum", "sum"},
    Names{"reduce_variance", "var var_mean"},
    Names{"rms_norm", "_fused_rms_norm"},
    Names{"rms_norm_backward", "_fused_rms_norm_backward"},
    Names{"sigmoid_cross_entropy", "binary_cross_entropy_with_logits"},
    Names{"softmax", "_softmax"},
    Names{"softmax_backward", "_softmax_backward_data"},
    Names{"softmax_cross_entropy", "cross_entropy_loss"},
    Names{"top_k", "topk"},

    // --- What moves numbers ---
    Names{"concat", "cat hstack stack vstack"},
    Names{"copy", "flip roll"},
    Names{"depth_to_space", "pixel_shuffle"},
    Names{"embedding_backward", "embedding_dense_backward"},
    Names{"embedding_bag", "_embedding_bag _embedding_bag_forward_only"},
    Names{"embedding_bag_backward", "_embedding_bag_dense_backward"},
    Names{"gather", "index index_select"},
    Names{"gather_elements", "gather take_along_dim"},
    Names{"grid_sample", "grid_sampler grid_sampler_2d grid_sampler_3d"},
    Names{"pad",
          "constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
          "replication_pad2d replication_pad3d"},
    Names{"range", "arange"},
    Names{"resize",
          "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d "
          "upsample_nearest2d upsample_nearest3d upsample_trilinear3d"},
    Names{"resize_backward",
          "upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_linear1d_backward "
          "upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward "
          "upsample_trilinear3d_backward"},
    Names{"scatter_elements", "index_add index_copy scatter scatter_add scatter_reduce"},
    Names{"scatter_nd", "index_put select_scatter slice_scatter"},
    Names{"slice_backward", "select_backward"},
    Names{"space_to_depth", "pixel_unshuffle"},
    Names{"tile", "repeat repeat_interleave"},
    Names{"trilu", "tril triu"},

    // --- Copies, and memory that is filled ---
    Names{"cast", "_to_copy to type_as", kCopies},
    Names{"copy", "_copy_from _copy_from_and_resize _pin_memory clone contiguous copy pin_memory",
          kCopies},
    Names{"zeros",
          "fill full full_like new_full new_ones new_zeros ones ones_like zero zeros zeros_like",
          kFills},

    // --- Views, which cost nothing ---
    Names{"expand_view", "expand expand_as", kDescribes},
    Names{
        "reshape",
        "_reshape_alias _unsafe_view alias as_strided detach flatten lift_fresh lift_fresh_copy "
        "mT movedim numpy_T permute reshape resolve_conj resolve_neg squeeze swapaxes t transpose "
        "unflatten unsqueeze view view_as",
        kDescribes},
    Names{"slice_view", "diagonal narrow select slice unfold", kDescribes},
    Names{"split_view",
          "chunk split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split "
          "unsafe_split_with_sizes",
          kDescribes},
    Names{"no_op",
          "_efficientzerotensor _has_compatible_shallow_copy_type _local_scalar_dense "
          "_nested_tensor_size _use_cudnn_rnn_flatten_weight can_cast cudnn_is_acceptable empty "
          "empty_like empty_permuted empty_strided is_floating_point is_nonzero is_pinned item "
          "new_empty new_empty_strided record_stream resize resize_as result_type set size stride "
          "sym_size",
          kDescribes},
};

const Names* find_row(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Names*> rows;
    for (const Names& row : kNames) {
      for (const std::string_view aten : operators::names_in(row.aten)) {
        rows.emplace(aten, &row);
      }
    }
    return rows;
  }();
  const auto found = by_name.find(name);
  return found != by_name.end() ? found->second : nullptr;
}

}  // namespace

std::string_view name_of_aten(std::string_view name) {
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
    name = name.substr(0, name.find('.'));
  }
  if (name.size() > 1 && name.ends_with('_') && !name.ends_with("__")) {
    name.remove_suffix(1);
  }
  return name;
}

std::string kind_of_aten(std::string_view name) {
  const std::string_view own = name_of_aten(name);
  const Names* row = find_row(own);
  return std::string(row != nullptr ? row->kind : own);
}

AtenRole role_of_aten(std::string_view name) {
  const Names* row = find_row(name_of_aten(name));
  return row != nullptr ? row->role : kComputes;
}

}  // namespace emplace
