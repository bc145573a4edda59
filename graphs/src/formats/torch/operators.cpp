#include "aten.hpp"
#include "conversions.hpp"

#include <algorithm>
#include <array>

namespace emplace::torch_program {
namespace {

struct Row {
  std::string_view name;  // of an operator of PyTorch, or of the library
  Conversion convert;
};

// Sorted by name. An operator of PyTorch that has no row is converted as its operator of the
// library.
constexpr std::array kRows = {
    Row{"_scaled_dot_product_attention_math", unfused_attention},
    Row{"_trilinear", trilinear},
    Row{"_weight_norm", weight_norm},
    Row{"_weight_norm_interface", weight_norm},
    Row{"adaptive_max_pool1d", adaptive_pool},
    Row{"adaptive_max_pool2d", adaptive_pool},
    Row{"adaptive_max_pool3d", adaptive_pool},
    Row{"add", binary},
    Row{"addcmul", multiply_add},
    Row{"addmm", addmm},
    Row{"attention", attention},
    Row{"avg_pool", pool},
    Row{"baddbmm", baddbmm},
    Row{"batch_matmul", matmul},
    Row{"batch_norm", batch_norm},
    Row{"batch_norm_inference", batch_norm},
    Row{"bilinear", bilinear},
    Row{"cast", cast},
    Row{"clip", of_one},
    Row{"clone", copied},
    Row{"concat", concat},
    Row{"contiguous", copied},
    Row{"conv2d", convolution},
    Row{"conv2d_transpose", convolution},
    Row{"copy", copy},
    Row{"cum_sum", along_axis},
    Row{"div", binary},
    Row{"dropout", dropout},
    Row{"einsum", einsum},
    Row{"embedding", embedding},
    Row{"embedding_bag", embedding_bag},
    Row{"expand_view", expand},
    Row{"flip", plain},
    Row{"gather", pick},
    Row{"gather_elements", pick},
    Row{"getitem", unchanged},
    Row{"glu", gated},
    Row{"group_norm", group_norm},
    Row{"gru", recurrent},
    Row{"instance_norm", group_norm},
    Row{"layer_norm", layer_norm},
    Row{"linear", linear},
    Row{"log_softmax", log_softmax},
    Row{"lstm", recurrent},
    Row{"lstm_cell", lstm_cell},
    Row{"masked_fill", masked_fill},
    Row{"matmul", matmul},
    Row{"max", extreme},
    Row{"max_pool", pool},
    Row{"mean_squared_error", difference},
    Row{"min", extreme},
    Row{"mod", binary},
    Row{"multiply", binary},
    Row{"negative_log_likelihood_loss", cross_entropy},
    Row{"pad", pad},
    Row{"pow", binary},
    Row{"reduce_l2", reduce},
    Row{"reduce_log_sum_exp", reduce},
    Row{"reduce_max", extreme},
    Row{"reduce_mean", reduce},
    Row{"reduce_min", extreme},
    Row{"reduce_prod", reduce},
    Row{"reduce_std", reduce},
    Row{"reduce_sum", reduce},
    Row{"reduce_variance", reduce},
    Row{"reshape", view},
    Row{"resize", resize},
    Row{"rms_norm", layer_norm},
    Row{"rnn", recurrent},
    Row{"roll", plain},
    Row{"sigmoid_cross_entropy", difference},
    Row{"slice_view", block},
    Row{"softmax", along_axis},
    Row{"softmax_cross_entropy", cross_entropy},
    Row{"softplus", first_result},
    Row{"split_view", split},
    Row{"subtract", binary},
    Row{"top_k", along_axis},
    Row{"where", where},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

constexpr std::array kShapeReaders = std::to_array<std::string_view>(
    {"empty_like", "full_like", "new_empty", "new_empty_strided", "new_full", "new_ones",
     "new_zeros", "ones_like", "rand_like", "randint_like", "randn_like", "zero", "zeros_like"});

constexpr std::array<std::string_view, 8> kRandom = {
    "bernoulli", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform"};

const Row* find_row(std::string_view name) {
  const auto found = std::ranges::lower_bound(kRows, name, {}, &Row::name);
  return found != kRows.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

Conversion find_conversion(std::string_view op) {
  const std::string_view name = name_of_aten(op);
  if (name.find("adaptive_avg_pool") != std::string_view::npos) {
    return adaptive_pool;
  }
  const Row* row = find_row(name);
  row = row == nullptr ? find_row(kind_of_aten(name)) : row;
  return row == nullptr ? plain : row->convert;
}

bool reads_only_shapes(std::string_view op) {
  return std::ranges::find(kShapeReaders, name_of_aten(op)) != kShapeReaders.end();
}

bool draws_at_random(std::string_view op) {
  return std::ranges::find(kRandom, name_of_aten(op)) != kRandom.end();
}

}  // namespace emplace::torch_program
