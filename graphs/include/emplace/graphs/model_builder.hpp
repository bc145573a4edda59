#pragma once

// Describes a network by its forward layers, with real shapes; FLOPs, bytes, parameters and memory
// follow from them. Feature maps are NCHW. A layer that has parameters is one `variable` op for
// each tensor of them (float32 by default) and the op that reads it; both share a device. Weights
// that several ops read, as in an unrolled network, are a `variable` of the caller; it shares only
// the device of its first reader, because otherwise a whole unrolled layer would have to be on one
// device.
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
// A multiply-add counts as 2 FLOPs, any other operation on a number as 1. Bytes are what an ideal
// kernel must move: every input read once, every output written once, and batch_norm's input read a
// second time, because the mean must be known before it can be applied. No op needs workspace. Ops
// are called scope/kind, with a number from the second of a kind in a scope on: "block/conv2d_2".
// Shapes that do not fit each other throw kUsage, naming the graph and the scope.

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

/// How a window is moved over a feature map of height x width.
enum class Padding : std::uint8_t { kValid, kSame };

/// How far a window moves at a time.
struct Stride2d {
  std::int64_t down;
  std::int64_t across;

  /// Moves by the same distance both ways; not explicit, because most windows do.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Stride2d(std::int64_t both) : Stride2d(both, both) {}

  /// Moves by `rows` down and by `columns` across.
  constexpr Stride2d(std::int64_t rows, std::int64_t columns) : down(rows), across(columns) {}
};

/// The attributes of a convolution.
struct Conv2d {
  std::int64_t filters = 1;
  std::array<std::int64_t, 2> kernel{1, 1};  ///< height, width
  Stride2d stride = 1;
  Padding padding = Padding::kSame;
  std::int64_t dilation = 1;  ///< distance between neighbours under the window
};

/// The attributes of a depthwise convolution.
struct DepthwiseConv2d {
  std::array<std::int64_t, 2> kernel{1, 1};  ///< height, width
  Stride2d stride = 1;
  Padding padding = Padding::kSame;
};

/// The attributes of a pooling window.
struct Pool2d {
  std::int64_t kernel = 2;  ///< height and width
  std::int64_t stride = 2;
  Padding padding = Padding::kValid;
};

/// Which sides of a matrix product are stored transposed.
struct Transposed {
  bool left = false;
  bool right = false;
};

/// Whether a dense layer learns a bias.
enum class Bias : std::uint8_t { kNone, kLearned };

/// The state that an LSTM cell passes from one step to the next.
struct LstmState {
  Tensor h;  ///< its result, [N, H]
  Tensor c;  ///< its memory, [N, H]
};

/// Which experts the tokens go to.
struct Routing {
  Tensor weights;  ///< of each token's experts, [tokens, k]
  Tensor experts;  ///< their numbers, [tokens, k]
};

/// Builds a forward graph op by op. The order of calls is the order of op ids.
class ModelBuilder {
 public:
  /// Starts an empty graph called `name`; `source` is its reference, `type` that of its variables.
  explicit ModelBuilder(std::string name, std::string source = "",
                        DataType type = DataType::kFloat32);

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

  /// Returns the type of the variables.
  DataType type() const { return type_; }

  /// Adds an input of the step, for example a batch of images.
  Tensor input(std::string_view name, std::vector<std::int64_t> shape,
               DataType type = DataType::kFloat32);

  /// Adds trained numbers. They share the device of the first op that reads them; the gradients of
  /// all their uses are summed by one `add_n`.
  Tensor variable(std::string_view name, std::vector<std::int64_t> shape);

  /// Convolves a feature map, without bias. FLOPs: 2 N K P Q C R S.
  Tensor conv2d(Tensor x, const Conv2d& attributes);

  /// Convolves each channel with a filter of its own, without bias. FLOPs: 2 N C P Q R S.
  Tensor depthwise_conv2d(Tensor x, const DepthwiseConv2d& attributes);

  /// Enlarges a feature map by the transpose of a convolution, without bias: each element spreads
  /// over a window, and windows lie a stride apart. [N, C, P, Q] becomes [N, K, H, W] with K
  /// filters and H = P stride if same, (P - 1) stride + R if valid. FLOPs: 2 N C P Q K R S.
  Tensor conv2d_transpose(Tensor x, const Conv2d& attributes);

  /// Moves each map by one place up and to the left; zeros come in.
  Tensor shift2d(Tensor x);

  /// Adds a learned number to each channel of [N, C, ...].
  Tensor channel_bias_add(Tensor x);

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

  /// Applies tanh(x).
  Tensor tanh(Tensor x);

  /// Applies 1 / (1 + exp(-x)).
  Tensor sigmoid(Tensor x);

  /// Multiplies by a constant, which changes no size and no cost and is not stored in the graph.
  Tensor scale(Tensor x);

  /// Adds two tensors of one shape.
  Tensor add(Tensor a, Tensor b);

  /// Subtracts `b` from `a`, two tensors of one shape.
  Tensor subtract(Tensor a, Tensor b);

  /// Multiplies two tensors of one shape, element by element.
  Tensor multiply(Tensor a, Tensor b);

  /// Joins tensors that differ along `axis` only; by default [N, C, ...] along the channels.
  Tensor concat(std::span<const Tensor> parts, std::size_t axis = 1);

  /// Cuts a tensor along `axis` into this many equal parts.
  std::vector<Tensor> split(Tensor x, std::int64_t parts, std::size_t axis);

  /// Gives the same elements another shape, without moving anything.
  Tensor reshape(Tensor x, std::vector<std::int64_t> shape);

  /// Reshapes [N, ...] to [N, rest].
  Tensor flatten(Tensor x);

  /// Reorders the axes: axis i of the result is axis `axes[i]` of `x`. Moves every element.
  Tensor transpose(Tensor x, std::span<const std::size_t> axes);

  /// Drops elements at random; its second output says which are left.
  Tensor dropout(Tensor x);

  /// Multiplies [..., K] by [K, N]; a left side that is a matrix may be stored as [K, M], a right
  /// side as [N, K]. FLOPs: 2 M N K, with M the product of the leading dimensions.
  Tensor matmul(Tensor left, Tensor right, Transposed transposed = {});

  /// Multiplies [..., M, K] by [..., K, N], matrix by matrix; the last two dimensions of either
  /// side may be stored the other way round. FLOPs: 2 B M N K.
  Tensor batch_matmul(Tensor left, Tensor right, Transposed transposed = {});

  /// Adds `bias`, whose shape is what `x`'s shape ends in, to each of x's rows.
  Tensor bias_add(Tensor x, Tensor bias);

  /// Multiplies [..., K] by a learned [K, units] matrix and adds a learned bias.
  Tensor dense(Tensor x, std::int64_t units, Bias bias = Bias::kLearned);

  /// Looks up rows of a table [vocabulary, width] by integers of any shape: [...] -> [..., width].
  Tensor embedding(Tensor table, Tensor ids);

  /// Runs one step of an LSTM cell (Hochreiter, Schmidhuber 1997, with forget gates, no peepholes)
  /// on x, [N, I]: one product with weights, [I + H, 4H], a bias, [4H], and the gates, fused as in
  /// cuDNN. FLOPs: 2 N (I + H) 4H + 13 N H. The op's third output is the gates after their
  /// activations, [N, 4H], for its gradient.
  LstmState lstm_cell(Tensor x, LstmState before, Tensor weights, Tensor bias);

  /// Returns the mean cross entropy of softmax(logits), [N, classes], against labels, [N]: the
  /// loss, a scalar. The op's second output is the probabilities.
  Tensor softmax_cross_entropy(Tensor logits, Tensor labels);

  /// Returns softmax over the last dimension.
  Tensor softmax(Tensor x);

  /// Returns the weighted sum of scalar losses, a scalar. Weights are constants that change no size
  /// and no cost and are not stored in the graph.
  Tensor add_losses(std::span<const Tensor> losses);

  // --- Transformers (model_builder_attention.cpp) ---

  /// Normalizes each row of [..., width], with learned scale and offset (one variable of 2 width
  /// numbers). FLOPs: 7 for each element. The op's second output is the rows' mean and deviation,
  /// for its gradient.
  Tensor layer_norm(Tensor x);

  /// Divides each row of [..., width] by its root mean square, with a learned scale. FLOPs: 4 for
  /// each element. The op's second output is what the rows were multiplied by.
  Tensor rms_norm(Tensor x);

  /// Applies x (1 + erf(x / sqrt(2))) / 2.
  Tensor gelu(Tensor x);

  /// Applies x / (1 + exp(-x)).
  Tensor silu(Tensor x);

  /// Turns pairs of the numbers of [..., positions, width] by angles that depend on the position
  /// (Su et al. 2021). FLOPs: 3 for each element. Reads a table of cosines and sines.
  Tensor rotary_embedding(Tensor x);

  /// Sets the scores, [..., queries, keys], of later keys to minus infinity; softmax follows.
  Tensor causal_mask(Tensor scores);

  /// Moves each row of scores, [..., queries, distances], so that its columns become keys (Dai et
  /// al. 2019, appendix B).
  Tensor relative_shift(Tensor scores);

  /// Takes a block of these extents out of a tensor; its position does not matter here.
  Tensor slice(Tensor x, std::vector<std::int64_t> extents);

  /// Repeats a tensor: [...] -> [copies, ...].
  Tensor broadcast(Tensor x, std::int64_t copies);

  // --- Choices (model_builder_routing.cpp) ---

  /// Chooses for each row of probabilities, [tokens, experts], its k most probable experts. FLOPs:
  /// k comparisons for each probability.
  Routing top_k(Tensor probabilities, std::int64_t k);

  /// Copies each token of x, [tokens, width], to its experts, each of which takes `capacity`.
  /// Returns what each expert receives, [capacity, width].
  std::vector<Tensor> dispatch(Tensor x, const Routing& routing, std::int64_t experts,
                               std::int64_t capacity);

  /// Adds up what its experts made of each token, by their weights: [tokens, width]. FLOPs: 2
  /// tokens k width.
  Tensor combine(std::span<const Tensor> results, const Routing& routing);

  /// Returns the loss that grows where few experts get most tokens (Shazeer et al. 2017; Fedus et
  /// al. 2021, equation 4), a scalar.
  Tensor balance_loss(Tensor probabilities, const Routing& routing);

  /// Adds up rows of a table [rows, width] by integers [bags, lookups]: [bags, width]. Its gradient
  /// is that of the rows that were looked up, and only they are updated.
  Tensor embedding_bag(Tensor table, Tensor ids);

  /// Takes the elements below the diagonals of [N, F, F]: [N, F (F - 1) / 2].
  Tensor lower_triangle(Tensor x);

  /// Returns the mean cross entropy of sigmoid(logits) against labels of the same shape.
  Tensor sigmoid_cross_entropy(Tensor logits, Tensor labels);

  /// Returns the mean squared difference of two tensors of one shape.
  Tensor mean_squared_error(Tensor x, Tensor target);

  /// Returns the shape of a tensor.
  const std::vector<std::int64_t>& shape(Tensor x) const;

  /// Returns the graph, validated.
  OpGraph finish() &&;

 private:
  [[noreturn]] void fail(const std::string& message) const;
  void check_extents(std::string_view name, std::span<const std::int64_t> shape) const;
  const std::vector<std::int64_t>& feature_map(Tensor x) const;
  void check_window(std::array<std::int64_t, 2> kernel, Stride2d stride,
                    std::int64_t dilation) const;
  Window window(Tensor x, std::array<std::int64_t, 2> kernel, Stride2d stride, Padding padding,
                std::int64_t dilation = 1) const;
  Op make_op(std::string_view kind);
  Tensor emit(Op op, std::span<const Tensor> inputs);
  Tensor emit(Op op, std::initializer_list<Tensor> inputs);
  Tensor define(Op op, std::string_view op_name, Attributes attributes,
                std::span<const Tensor> inputs);
  Tensor define(Op op, std::string_view op_name, Attributes attributes,
                std::initializer_list<Tensor> inputs);
  Tensor define(std::string_view kind, std::initializer_list<Tensor> inputs,
                Attributes attributes = {});
  Tensor add_variable(const std::string& name, std::vector<std::int64_t> shape);
  Tensor variable(const Op& reader, std::string_view name, std::vector<std::int64_t> shape);
  Tensor same_shape(std::string_view kind, Tensor a, Tensor b);
  std::string in_scope(std::string_view name) const;
  std::string unique_name(const std::string& first);

  OpGraph graph_;
  DataType type_;
  std::string scope_;
  std::map<std::string, int, std::less<>> used_;  // how often each name was asked for
};

}  // namespace emplace
