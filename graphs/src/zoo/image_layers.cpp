#include "image_layers.hpp"

namespace emplace {

ImageBatch image_batch(ModelBuilder& net, std::int64_t batch, std::int64_t pixels) {
  const auto scope = net.scope("input");
  const Tensor images = net.input("images", {batch, 3, pixels, pixels});
  return {images, net.input("labels", {batch}, DataType::kInt32)};
}

Tensor conv_norm(ModelBuilder& net, Tensor x, const Conv2d& attributes) {
  return net.batch_norm(net.conv2d(x, attributes));
}

Tensor conv_norm_relu(ModelBuilder& net, Tensor x, const Conv2d& attributes) {
  return net.relu(conv_norm(net, x, attributes));
}

Tensor relu_conv_norm(ModelBuilder& net, Tensor x, const Conv2d& attributes) {
  return conv_norm(net, net.relu(x), attributes);
}

}  // namespace emplace
