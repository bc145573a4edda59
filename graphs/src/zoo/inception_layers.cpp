#include "inception_layers.hpp"

#include "image_layers.hpp"

#include <fmt/format.h>

namespace emplace {

ModelBuilder::Scope InceptionLayers::scope_of(int role) {
  return net_.scope(fmt::format("branch_{}", role));
}

Tensor InceptionLayers::conv(Tensor x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
                             std::int64_t stride, Padding padding) {
  return conv_norm_relu(
      net_, x, {.filters = filters, .kernel = kernel, .stride = stride, .padding = padding});
}

Tensor InceptionLayers::branch(int role, Tensor x, std::initializer_list<Conv2d> convolutions) {
  const auto scope = scope_of(role);
  for (const Conv2d& convolution : convolutions) {
    x = conv_norm_relu(net_, x, convolution);
  }
  return x;
}

Tensor InceptionLayers::fanning_branch(int role, Tensor x,
                                       std::initializer_list<Conv2d> convolutions,
                                       std::int64_t filters) {
  const auto scope = scope_of(role);
  for (const Conv2d& convolution : convolutions) {
    x = conv_norm_relu(net_, x, convolution);
  }
  return net_.concat(std::array{conv(x, filters, {1, 3}), conv(x, filters, {3, 1})});
}

Tensor InceptionLayers::max_pool(Tensor x) {
  return net_.max_pool(x, {.kernel = 3, .stride = 2, .padding = Padding::kValid});
}

Tensor InceptionLayers::one_by_one(Tensor x, std::int64_t filters) {
  const auto scope = scope_of(0);
  return conv(x, filters, {1, 1});
}

Tensor InceptionLayers::smoothed(Tensor x, std::int64_t filters) {
  const auto scope = scope_of(3);
  constexpr Pool2d kSmooth{.kernel = 3, .stride = 1, .padding = Padding::kSame};
  return conv(net_.avg_pool(x, kSmooth), filters, {1, 1});
}

Tensor InceptionLayers::max_pooled(Tensor x) {
  const auto scope = scope_of(3);
  return max_pool(x);
}

}  // namespace emplace
