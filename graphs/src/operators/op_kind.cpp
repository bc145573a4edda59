// The kinds of ops, from the tables of the library, and the classes of operators of other programs.

#include "operators.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace emplace {
namespace {

using enum OpClass;

// Names of PyTorch (aten) and TensorFlow that are no operators of the library, by their class:
// their costs follow from it, and are no guess.
struct Names {
  OpClass op_class;
  std::string_view names;
};

constexpr std::array kNames = {
    Names{kConvolution, "convolution deform_conv2d"},
    Names{kMatmul,
          "_native_multi_head_attention _thnn_fused_gru_cell _thnn_fused_lstm_cell "
          "_transformer_encoder_layer_fwd addbmm addr baddbmm bilinear blocklstm blocklstmv2 "
          "chain_matmul cudnnrnn cudnnrnnbackprop cudnnrnnbackpropv3 cudnnrnnv2 cudnnrnnv3 dot "
          "gru_cell grublockcell inner kron linalg_matmul multi_head_attention_forward outer "
          "quantizedconv2d quantizedmatmul rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell "
          "scaled_dot_product_attention sparsetensordensematmul tensordot vdot"},
    Names{kNormalization, "local_response_norm renorm"},
    Names{kPooling, "roi_pool"},
    Names{kElementwise,
          "addcmul angle arctan2 atan2 bernoulli bitwise_left_shift bitwise_right_shift clamp "
          "clamp_max clamp_min copysign cosine_similarity cross deg2rad dequantize digamma eq "
          "erfc erfinv exp2 expm1 fake_quantize_per_tensor_affine floor_divide fmod frac ge glu "
          "gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot isfinite isinf isnan le "
          "lgamma log10 log1p log2 log_sigmoid log_sigmoid_forward logaddexp logical_and "
          "logical_not logical_or logical_xor lt masked_fill maximum minimum nan_to_num ne "
          "normal polygamma positive quantize_per_channel quantize_per_tensor rand randint "
          "randn relu6 rrelu rrelu_with_noise rsqrt select sgn signbit sinc softshrink square "
          "threshold true_divide trunc uniform xlogy"},
    Names{kDataMovement,
          "_copy_from _copy_from_and_resize _index_put_impl_ _pin_memory _to_copy "
          "affine_grid_generator arange as_strided_scatter broadcast_to channel_shuffle clone "
          "col2im combinations compress constant_of_shape constant_pad_nd contiguous diag "
          "diag_embed diagflat eye fill fill_diagonal flip fliplr flipud fold gather_nd "
          "gather_nd_backward grid_sampler "
          "grid_sampler_2d grid_sampler_3d hstack im2col index index_add index_copy index_fill "
          "index_put index_select linspace logspace masked_scatter masked_select meshgrid "
          "non_zero nonzero pin_memory pixel_shuffle pixel_unshuffle put reflection_pad1d "
          "reflection_pad2d reflection_pad3d repeat repeat_interleave replication_pad1d "
          "replication_pad2d replication_pad3d roll rot90 scatter scatter_add scatter_reduce "
          "select_backward select_scatter slice_scatter take take_along_dim tensor_split to "
          "tril tril_indices triu triu_indices type_as upsample_bicubic2d upsample_bilinear2d "
          "upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
          "upsample_trilinear3d vstack"},
    Names{kReduction,
          "_foreach_norm _unique2 all amax amin aminmax any argmax argmin argsort "
          "binary_cross_entropy binary_cross_entropy_with_logits bincount cdist count_nonzero "
          "cross_entropy_loss cumprod cumsum frobenius_norm huber_loss kl_div kthvalue l1_loss "
          "linalg_vector_norm logcumsumexp logsumexp median mode mse_loss nanmean nansum "
          "nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward nll_loss_nd norm prod "
          "smooth_l1_loss soft_margin_loss sort std std_mean topk trace unique "
          "unique_consecutive var var_mean"},
    Names{kUpdate,
          "_foreach_add _foreach_addcdiv _foreach_addcmul _foreach_div _foreach_lerp "
          "_foreach_maximum _foreach_mul _foreach_neg _foreach_sqrt _foreach_sub _fused_adam "
          "_fused_adamw _fused_sgd addcdiv applyadadelta applyadagrad assign assignadd "
          "assignsub lerp"},
};

// Classes by the names above.
const auto& classes() {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, OpClass> all;
    for (const auto& [op_class, names] : kNames) {
      for (const std::string_view name : operators::names_in(names)) {
        all.emplace(name, op_class);
      }
    }
    return all;
  }();
  return by_name;
}

// Kinds of the library, sorted by name.
std::vector<OpKind> listed(bool only_imported) {
  std::vector<OpKind> kinds;
  for (const auto& [name, row] : operators::all()) {
    if (row->only_imported == only_imported) {
      kinds.push_back(row->kind);
    }
  }
  std::ranges::sort(kinds, {}, &OpKind::name);
  return kinds;
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

std::span<const OpKind> op_kinds() {
  static const std::vector<OpKind> kinds = listed(false);
  return kinds;
}

std::span<const OpKind> imported_op_kinds() {
  static const std::vector<OpKind> kinds = listed(true);
  return kinds;
}

const OpKind* find_op_kind(std::string_view name) {
  const auto kinds = op_kinds();
  const auto found = std::ranges::lower_bound(kinds, name, {}, &OpKind::name);
  return found != kinds.end() && found->name == name ? &*found : nullptr;
}

OpClass op_class_of(std::string_view kind) {
  for (const std::string_view name : {kind, kind.substr(0, kind.find("_backward"))}) {
    if (const operators::Operator* row = operators::find(name)) {
      return row->kind.op_class;
    }
    if (const auto found = classes().find(name); found != classes().end()) {
      return found->second;
    }
  }
  return kOther;
}

ResultMemory result_memory_of(std::string_view kind) {
  const operators::Operator* row = operators::find(kind);
  return row == nullptr ? ResultMemory::kOwn : row->kind.memory;
}

std::int64_t num_kernels(const Op& op) {
  if (!launches(op.kind)) {
    return 0;
  }
  const std::string_view kind = op.kind;
  const operators::Operator* own = operators::find(kind);
  // The gradient of a layer of many steps, which has no definition, takes as many as the layer.
  const operators::Operator* row =
      own != nullptr ? own : operators::find(kind.substr(0, kind.find("_backward")));
  if (row != nullptr && row->kernels_of != nullptr) {
    return row->kernels_of(op);
  }
  return own != nullptr ? own->kernels : 1;
}

bool launches(std::string_view kind) {
  const operators::Operator* row = operators::find(kind);
  return row == nullptr || row->kind.launches;
}

}  // namespace emplace
