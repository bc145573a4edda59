#pragma once

// Writes a network down as its forward layers, with real shapes; FLOPs, bytes, parameters and
// memory follow from them. Feature maps are NCHW. A layer that has parameters is one `variable` op
// for each tensor of them (float32) and the op that reads it; both share a device.
//
//     ModelBuilder net("tiny");
//     Tensor x = net.input("image", {64, 3, 32, 32});
//     {
//       auto scope = net.scope("block");
//       x = net.relu(net.batch_norm(net.conv2d(x, {.filters = 16, .kernel = {3, 3}})));
//     }
//     Tensor logits = net.dense(net.global_avg_pool(x), 10);
//     net.softmax_cross_entropy(logits, net.input("labels", {64}, DataType::kInt32));
//     OpGraph forward = std::move(net).finish();
//     OpGraph training = training_graph(forward, find_optimizer("adam"));
//
// What is counted: a multiply-add is 2 FLOPs, any other operation on a number 1. Bytes are what an
// ideal kernel must move: every input read once, every output written once, and batch_norm's input
// read a second time, because the mean must be known before it can be applied. No op needs
// workspace. Ops are called scope/kind, from the second of a kind in a scope on with a number:
// "block/conv2d_2". Shapes that do not fit each other throw kUsage, naming the graph and the scope.

#include <emplace/graphs/op_graph.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Names one output of an op in a graph that is being built.
struct Tensor {
  OpId op = -1;
  std::int32_t output = 0;
};

/// Says how a window is moved over a feature map of height x width.
enum class Padding : std::uint8_t { kValid, kSame };

/// Holds the attributes of a convolution.
struct Conv2d {
  std::int64_t filters = 1;
  std::array<std::int64_t, 2> kernel{1, 1};  ///< height, width
  std::int64_t stride = 1;
  Padding padding = Padding::kSame;
};

/// Holds the attributes of a pooling window.
struct Pool2d {
  std::int64_t kernel = 2;  ///< height and width
  std::int64_t stride = 2;
  Padding padding = Padding::kValid;
};

/// Builds a forward graph op by op. The order of calls is the order of op ids.
class ModelBuilder {
 public:
  /// Starts an empty graph called `name`; `source` is its reference.
  explicit ModelBuilder(std::string name, std::string source = "");

  /// Ends a scope when it goes out of scope itself.
  class Scope {
   public:
    explicit Scope(ModelBuilder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModelBuilder& builder_;
    std::size_t length_;
  };

  /// Enters the scope `name` within the present one.
  [[nodiscard]] Scope scope(std::string_view name) { return Scope(*this, name); }

  /// Adds an input of the step, for example a batch of images.
  Tensor input(std::string_view name, std::vector<std::int64_t> shape,
               DataType type = DataType::kFloat32);

  /// Convolves a feature map, without bias. FLOPs: 2 N K P Q C R S.
  Tensor conv2d(Tensor x, const Conv2d& attributes);

  /// Normalizes each channel of [N, C, ...] over the batch, with learned scale and offset (one
  /// variable of 2C numbers). The op keeps moving mean and variance (2C numbers, not trained) and
  /// has a second output, the batch's mean and deviation, for its gradient.
  Tensor batch_norm(Tensor x);

  /// Applies max(x, 0).
  Tensor relu(Tensor x);

  /// Takes the largest element under each window.
  Tensor max_pool(Tensor x, const Pool2d& attributes);

  /// Takes the mean under each window.
  Tensor avg_pool(Tensor x, const Pool2d& attributes);

  /// Takes the mean of each channel over the whole map: [N, C, H, W] -> [N, C].
  Tensor global_avg_pool(Tensor x);

  /// Joins tensors [N, C, ...] along the channels.
  Tensor concat(std::span<const Tensor> parts);

  /// Adds two tensors of one shape.
  Tensor add(Tensor a, Tensor b);

  /// Drops elements at random; its second output says which are left.
  Tensor dropout(Tensor x);

  /// Flattens [N, ...] to [N, rest] without moving anything.
  Tensor flatten(Tensor x);

  /// Multiplies [N, K] by a learned [K, units] matrix and adds a learned bias. FLOPs: 2 N K units.
  Tensor dense(Tensor x, std::int64_t units);

  /// Returns the mean cross entropy of softmax(logits), [N, classes], against labels, [N]: the
  /// loss, a scalar. The op's second output is the probabilities.
  Tensor softmax_cross_entropy(Tensor logits, Tensor labels);

  /// Returns softmax over the columns of [N, columns].
  Tensor softmax(Tensor x);

  /// Returns the weighted sum of scalar losses, a scalar. Weights are constants that change no size
  /// and no cost, so a graph does not know them.
  Tensor add_losses(std::span<const Tensor> losses);

  /// Returns the shape of a tensor.
  const std::vector<std::int64_t>& shape(Tensor x) const;

  /// Returns the graph, validated.
  OpGraph finish() &&;

 private:
  // What the dimensions of a window over a feature map come to.
  struct Window {
    std::int64_t n, c, h, w, p, q;
  };

  [[noreturn]] void fail(const std::string& message) const;
  Window window(Tensor x, std::array<std::int64_t, 2> kernel, std::int64_t stride,
                Padding padding) const;
  Op make_op(std::string_view kind);
  Tensor emit(Op op, std::span<const Tensor> inputs);
  Tensor emit(Op op, std::initializer_list<Tensor> inputs);
  Tensor variable(Op& reader, std::string_view name, std::vector<std::int64_t> shape);
  Op make_pool(std::string_view kind, Tensor x, std::array<std::int64_t, 2> kernel,
               std::int64_t stride, Padding padding);
  Tensor elementwise(std::string_view kind, std::int64_t flops_per_element, Tensor x);
  std::string in_scope(std::string_view name) const;
  std::string unique_name(const std::string& first);

  OpGraph graph_;
  std::string scope_;
  std::map<std::string, int, std::less<>> used_;  // how often each name was asked for
};

}  // namespace emplace
