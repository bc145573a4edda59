#pragma once

// What image classifiers share: their inputs, and convolutions with batch normalization.

#include <emplace/graphs/model_builder.hpp>

#include <cstdint>

namespace emplace {

/// The number of classes of ImageNet.
inline constexpr std::int64_t kImageNetClasses = 1000;

/// Holds the inputs of a step that classifies images.
struct ImageBatch {
  Tensor images;  ///< [batch, 3, pixels, pixels]
  Tensor labels;  ///< [batch]
};

/// Adds the inputs, in the scope "input".
ImageBatch image_batch(ModelBuilder& net, std::int64_t batch, std::int64_t pixels);

/// Convolves, then normalizes.
Tensor conv_norm(ModelBuilder& net, Tensor x, const Conv2d& attributes);

/// Convolves, normalizes, then applies relu.
Tensor conv_norm_relu(ModelBuilder& net, Tensor x, const Conv2d& attributes);

/// Applies relu, convolves, then normalizes.
Tensor relu_conv_norm(ModelBuilder& net, Tensor x, const Conv2d& attributes);

}  // namespace emplace
