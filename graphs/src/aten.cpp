#include "aten.hpp"

#include <algorithm>
#include <array>

namespace emplace {
namespace {

struct Row {
  std::string_view aten;
  std::string_view kind;
};

// Sorted. An operator and the one that PyTorch calls within it are the same kind.
constexpr std::array kRows = {
    Row{"_convolution", "conv2d"},
    Row{"_log_softmax", "log_softmax"},
    Row{"_log_softmax_backward_data", "log_softmax_backward"},
    Row{"_reshape_alias", "flatten"},
    Row{"_softmax", "softmax"},
    Row{"_softmax_backward_data", "softmax_backward"},
    Row{"_unsafe_view", "flatten"},
    Row{"adaptive_avg_pool2d", "avg_pool"},
    Row{"addmm", "matmul"},
    Row{"as_strided", "flatten"},
    Row{"avg_pool2d", "avg_pool"},
    Row{"avg_pool2d_backward", "avg_pool_backward"},
    Row{"baddbmm", "batch_matmul"},
    Row{"batch_norm", "batch_norm"},
    Row{"bmm", "batch_matmul"},
    Row{"cat", "concat"},
    Row{"conv2d", "conv2d"},
    Row{"convolution", "conv2d"},
    Row{"cudnn_batch_norm", "batch_norm"},
    Row{"cudnn_batch_norm_backward", "batch_norm_backward"},
    Row{"cudnn_convolution", "conv2d"},
    Row{"detach", "flatten"},
    Row{"embedding_dense_backward", "embedding_backward"},
    Row{"empty", "no_op"},
    Row{"empty_like", "no_op"},
    Row{"empty_strided", "no_op"},
    Row{"expand", "flatten"},
    Row{"lift_fresh", "flatten"},
    Row{"linear", "matmul"},
    Row{"matmul", "matmul"},
    Row{"max_pool2d", "max_pool"},
    Row{"max_pool2d_with_indices", "max_pool"},
    Row{"max_pool2d_with_indices_backward", "max_pool_backward"},
    Row{"mkldnn_convolution", "conv2d"},
    Row{"mm", "matmul"},
    Row{"mul", "multiply"},
    Row{"native_batch_norm", "batch_norm"},
    Row{"native_batch_norm_backward", "batch_norm_backward"},
    Row{"native_dropout", "dropout"},
    Row{"native_dropout_backward", "dropout_backward"},
    Row{"native_layer_norm", "layer_norm"},
    Row{"native_layer_norm_backward", "layer_norm_backward"},
    Row{"permute", "flatten"},
    Row{"reshape", "flatten"},
    Row{"select", "flatten"},
    Row{"slice", "flatten"},
    Row{"squeeze", "flatten"},
    Row{"t", "flatten"},
    Row{"thnn_conv2d", "conv2d"},
    Row{"threshold_backward", "relu_backward"},
    Row{"transpose", "flatten"},
    Row{"unsqueeze", "flatten"},
    Row{"view", "flatten"},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::aten));

}  // namespace

std::string kind_of_aten(std::string_view name) {
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
  }
  // A trailing underscore says that the result replaces the first input.
  if (name.size() > 1 && name.ends_with('_')) {
    name.remove_suffix(1);
  }
  const auto found = std::ranges::lower_bound(kRows, name, {}, &Row::aten);
  return std::string(found != kRows.end() && found->aten == name ? found->kind : name);
}

}  // namespace emplace
