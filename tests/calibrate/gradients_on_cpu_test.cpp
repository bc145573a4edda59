// Kernels and gradient rules, proved together: a small network is differentiated by the rules, all
// ops of its training graph are run, and each gradient that arrives at an update is compared with
// finite differences of the loss, for which only the forward graph is run.

#include "graph_on_device.hpp"

#include <emplace/base/random.hpp>
#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <boost/range/iterator_range.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace emplace::calibrate::gradients_on_cpu_test {
namespace {

// A network that ends in its loss. `relative deviation` is how far from zero its variables get.
struct Network {
  std::string name;
  std::function<void(ModelBuilder&)> build;
  float relative_deviation = 1;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

// The mean squared distance from numbers of the same shape.
void end_in_loss(ModelBuilder& net, Tensor y) {
  net.mean_squared_error(y, net.input("target", net.shape(y)));
}

// Numbers between -relative deviation and relative deviation, no two of which are near each other,
// nor zero: so no difference crosses the bend of a relu or finds another largest element.
void fill(std::span<float> numbers, float relative_deviation, RandomStream& random) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float place = (static_cast<float>(i) + 0.5F) / static_cast<float>(numbers.size());
    numbers[i] =
        relative_deviation * (2 * place - 1) + (numbers.size() == 1 ? relative_deviation / 2 : 0);
  }
  random.shuffle(numbers);
}

OpId last_op(const OpGraph& graph) { return num_ops(graph) - 1; }

// Sets inputs and variables of both graphs to the same numbers; those of ids are small.
void fill_all(GraphOnDevice& graph, float relative_deviation) {
  RandomStream random(7);
  for (OpId op = 0; op < num_ops(graph.graph()); ++op) {
    const Op& made = graph.graph()[static_cast<std::size_t>(op)];
    if (made.kind != "input" && made.kind != "variable") {
      continue;
    }
    if (made.outputs[0].type == DataType::kInt32) {
      for (std::int32_t& id : graph.integers({op, 0})) {
        id = static_cast<std::int32_t>(random.below(4));
      }
    } else {
      fill(graph.floats({op, 0}), made.kind == "variable" ? relative_deviation : 1, random);
    }
  }
}

// The gradient of each variable, by name: first input of its update.
std::map<std::string, std::vector<float>> gradients_of(GraphOnDevice& training) {
  std::map<std::string, std::vector<float>> result;
  const OpGraph& graph = training.graph();
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (graph[static_cast<std::size_t>(op)].kind != "optimizer_update") {
      continue;
    }
    std::vector<Tensor> inputs;
    for (const auto edge :
         boost::make_iterator_range(boost::in_edges(static_cast<std::size_t>(op), graph))) {
      inputs.push_back({static_cast<OpId>(boost::source(edge, graph)), graph[edge].output});
    }
    const auto gradient = training.floats(inputs[0]);
    result[graph[static_cast<std::size_t>(inputs[1].op)].name] = {gradient.begin(), gradient.end()};
  }
  return result;
}

// Of fourth order: its error is that of rounding, about 1e-6 here.
float difference_quotient(GraphOnDevice& forward, float& number) {
  constexpr float kStep = 0.02F;
  const OpId loss = last_op(forward.graph());
  const float before = number;
  const auto loss_at = [&](float distance) {
    number = before + distance;
    forward.run();
    return static_cast<double>(forward.floats({loss, 0})[0]);
  };
  const double near = loss_at(kStep) - loss_at(-kStep);
  const double far = loss_at(2 * kStep) - loss_at(-2 * kStep);
  number = before;
  return static_cast<float>((8 * near - far) / (12 * kStep));
}

class GradientsOnCpu : public testing::TestWithParam<Network> {
 protected:
  std::vector<int> core_{usable_cores().front()};
  std::unique_ptr<ComputeDevice> device_ = make_cpu_device("cpu:0", core_);
};

TEST_P(GradientsOnCpu, EqualFiniteDifferencesOfTheLoss) {
  ModelBuilder net("net");
  GetParam().build(net);
  const OpGraph graph = std::move(net).finish();
  GraphOnDevice training(training_graph(graph, find_optimizer("sgd")), *device_);
  GraphOnDevice forward(graph, *device_);
  fill_all(training, GetParam().relative_deviation);
  fill_all(forward, GetParam().relative_deviation);
  training.run();
  const auto gradients = gradients_of(training);
  ASSERT_FALSE(gradients.empty());
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const Op& variable = graph[static_cast<std::size_t>(op)];
    if (variable.kind != "variable") {
      continue;
    }
    const std::vector<float>& gradient = gradients.at(variable.name);
    const std::span<float> numbers = forward.floats({op, 0});
    ASSERT_EQ(gradient.size(), numbers.size());
    const float largest =
        std::abs(*std::ranges::max_element(gradient, {}, [](float g) { return std::abs(g); }));
    EXPECT_GT(largest, 1e-4F) << variable.name;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_NEAR(gradient[i], difference_quotient(forward, numbers[i]), 2e-3F * largest + 2e-5F)
          << variable.name << "[" << i << "]";
    }
  }
}

Tensor x_of(ModelBuilder& net, std::vector<std::int64_t> shape) {
  return net.variable("x", std::move(shape));
}

// A layer with one input.
Network layer(std::string name, std::vector<std::int64_t> shape,
              std::function<Tensor(ModelBuilder&, Tensor)> apply, float relative_deviation = 1) {
  return {std::move(name),
          [shape = std::move(shape), apply = std::move(apply)](ModelBuilder& net) {
            end_in_loss(net, apply(net, x_of(net, shape)));
          },
          relative_deviation};
}

// A layer with two inputs of one shape.
Network layer_of_two(std::string name, Tensor (ModelBuilder::*apply)(Tensor, Tensor)) {
  return {std::move(name), [apply](ModelBuilder& net) {
            end_in_loss(net, (net.*apply)(x_of(net, {3, 5}), net.variable("other", {3, 5})));
          }};
}

Network product(std::string name, std::vector<std::int64_t> left, std::vector<std::int64_t> right,
                Transposed transposed) {
  return {std::move(name),
          [left = std::move(left), right = std::move(right), transposed](ModelBuilder& net) {
            const Tensor a = x_of(net, left);
            const Tensor b = net.variable("other", right);
            end_in_loss(net, right.size() == 2 ? net.matmul(a, b, transposed)
                                               : net.batch_matmul(a, b, transposed));
          }};
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Elementwise, GradientsOnCpu, testing::Values(
  layer_of_two("add", &ModelBuilder::add),
  layer_of_two("subtract", &ModelBuilder::subtract),
  layer_of_two("multiply", &ModelBuilder::multiply),
  layer("relu", {3, 7}, [](auto& net, Tensor x) { return net.relu(x); }, 4),
  layer("tanh", {3, 7}, [](auto& net, Tensor x) { return net.tanh(x); }),
  layer("sigmoid", {3, 7}, [](auto& net, Tensor x) { return net.sigmoid(x); }),
  layer("scale", {3, 7}, [](auto& net, Tensor x) { return net.scale(x); }),
  layer("gelu", {3, 7}, [](auto& net, Tensor x) { return net.gelu(x); }, 2),
  layer("silu", {3, 7}, [](auto& net, Tensor x) { return net.silu(x); }, 2),
  layer("dropout", {8, 9}, [](auto& net, Tensor x) { return net.dropout(x); }),
  // Ten uses of one tensor: more terms than add_n takes at a time.
  layer("uses_summed_by_add_n", {4}, [](auto& net, Tensor x) {
    Tensor y = net.tanh(x);
    for (int i = 0; i < 9; ++i) { y = net.multiply(y, net.sigmoid(x)); y = net.add(y, x); }
    return y; }, 0.5F)),
  [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Maps, GradientsOnCpu, testing::Values(
  layer("conv2d_same", {2, 3, 5, 4}, [](auto& net, Tensor x) {
    return net.conv2d(x, {.filters = 2, .kernel = {3, 3}}); }),
  layer("conv2d_with_strides", {2, 2, 7, 6}, [](auto& net, Tensor x) {
    return net.conv2d(x, {.filters = 3, .kernel = {3, 2}, .stride = {2, 3}}); }),
  layer("conv2d_valid_leaving_out_the_last", {1, 2, 6, 6}, [](auto& net, Tensor x) {
    return net.conv2d(x, {.filters = 2, .kernel = {3, 3}, .stride = 2, .padding = Padding::kValid}); }),
  layer("conv2d_dilated", {1, 2, 6, 5}, [](auto& net, Tensor x) {
    return net.conv2d(x, {.filters = 2, .kernel = {2, 3}, .dilation = 2}); }),
  layer("conv2d_transpose_same", {2, 3, 3, 2}, [](auto& net, Tensor x) {
    return net.conv2d_transpose(x, {.filters = 2, .kernel = {3, 3}, .stride = 2}); }),
  layer("conv2d_transpose_valid", {1, 2, 3, 3}, [](auto& net, Tensor x) {
    return net.conv2d_transpose(x, {.filters = 3, .kernel = {3, 2}, .stride = 2, .padding = Padding::kValid}); }),
  layer("depthwise_same", {2, 3, 5, 4}, [](auto& net, Tensor x) {
    return net.depthwise_conv2d(x, {.kernel = {3, 3}}); }),
  layer("depthwise_with_strides", {2, 2, 6, 7}, [](auto& net, Tensor x) {
    return net.depthwise_conv2d(x, {.kernel = {3, 2}, .stride = {2, 3}, .padding = Padding::kValid}); }),
  layer("shift2d", {2, 2, 3, 4}, [](auto& net, Tensor x) { return net.shift2d(x); }),
  layer("channel_bias", {2, 3, 2, 4}, [](auto& net, Tensor x) { return net.channel_bias_add(x); }),
  layer("batch_norm", {3, 2, 2, 3}, [](auto& net, Tensor x) { return net.batch_norm(x); }, 2),
  layer("batch_norm_of_rows", {6, 3}, [](auto& net, Tensor x) { return net.batch_norm(x); }, 2),
  layer("max_pool", {1, 2, 5, 5}, [](auto& net, Tensor x) {
    return net.max_pool(x, {.kernel = 3, .stride = 2}); }, 4),
  layer("max_pool_same", {1, 1, 5, 4}, [](auto& net, Tensor x) {
    return net.max_pool(x, {.kernel = 3, .stride = 1, .padding = Padding::kSame}); }, 4),
  layer("avg_pool", {2, 2, 6, 6}, [](auto& net, Tensor x) {
    return net.avg_pool(x, {.kernel = 2, .stride = 2}); }),
  layer("avg_pool_same", {1, 2, 5, 4}, [](auto& net, Tensor x) {
    return net.avg_pool(x, {.kernel = 3, .stride = 2, .padding = Padding::kSame}); }),
  layer("global_avg_pool", {2, 3, 4, 3}, [](auto& net, Tensor x) { return net.global_avg_pool(x); })),
  [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Moves, GradientsOnCpu, testing::Values(
  layer("concat_of_channels", {2, 3, 4}, [](auto& net, Tensor x) {
    return net.concat(std::array{x, net.tanh(x), net.variable("z", {2, 1, 4})}); }),
  layer("concat_of_rows", {2, 3}, [](auto& net, Tensor x) {
    return net.concat(std::array{net.tanh(x), x}, 0); }),
  layer("split", {2, 6, 2}, [](auto& net, Tensor x) {
    const auto parts = net.split(x, 3, 1);
    return net.multiply(parts[0], parts[2]); }),
  layer("reshape", {2, 6}, [](auto& net, Tensor x) { return net.reshape(net.tanh(x), {3, 4}); }),
  layer("transpose", {2, 3, 4, 2}, [](auto& net, Tensor x) {
    return net.transpose(x, std::array<std::size_t, 4>{2, 0, 3, 1}); }),
  layer("transpose_of_heads", {2, 3, 2, 4}, [](auto& net, Tensor x) {
    return net.transpose(x, std::array<std::size_t, 4>{0, 2, 1, 3}); }),
  layer("slice", {3, 4, 5}, [](auto& net, Tensor x) { return net.add(net.slice(x, {2, 4, 3}),
                                                                    net.slice(x, {2, 4, 3})); }),
  layer("broadcast", {2, 3}, [](auto& net, Tensor x) { return net.broadcast(x, 4); }),
  layer("lower_triangle", {2, 4, 4}, [](auto& net, Tensor x) { return net.lower_triangle(net.tanh(x)); })),
  [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Rows, GradientsOnCpu, testing::Values(
  product("matmul", {3, 5}, {5, 4}, {}),
  product("matmul_of_more_axes", {2, 3, 5}, {5, 4}, {}),
  product("matmul_left_transposed", {5, 3}, {5, 4}, {.left = true}),
  product("matmul_right_transposed", {3, 5}, {4, 5}, {.right = true}),
  product("matmul_both_transposed", {5, 3}, {4, 5}, {.left = true, .right = true}),
  product("batch_matmul", {2, 3, 5}, {2, 5, 4}, {}),
  product("batch_matmul_of_heads", {2, 2, 3, 5}, {2, 2, 4, 5}, {.right = true}),
  product("batch_matmul_left_transposed", {2, 5, 3}, {2, 5, 4}, {.left = true}),
  product("batch_matmul_both_transposed", {2, 5, 3}, {2, 4, 5}, {.left = true, .right = true}),
  product("matmul_by_a_square", {3, 4}, {4, 4}, {}),
  product("batch_matmul_of_a_square", {2, 4, 4}, {2, 4, 3}, {}),
  layer("dense", {3, 4}, [](auto& net, Tensor x) { return net.dense(x, 5); }),
  layer("softmax", {3, 4}, [](auto& net, Tensor x) { return net.softmax(x); }),
  layer("layer_norm", {2, 3, 5}, [](auto& net, Tensor x) { return net.layer_norm(x); }, 2),
  layer("rms_norm", {4, 5}, [](auto& net, Tensor x) { return net.rms_norm(x); }, 2),
  layer("rotary_embedding", {2, 3, 4}, [](auto& net, Tensor x) { return net.rotary_embedding(x); }),
  layer("causal_mask", {2, 3, 4}, [](auto& net, Tensor x) { return net.softmax(net.causal_mask(x)); }),
  layer("relative_shift", {2, 3, 4}, [](auto& net, Tensor x) { return net.relative_shift(x); })),
  [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Losses, GradientsOnCpu, testing::Values(
  Network{"mean_squared_error", [](auto& net) { end_in_loss(net, x_of(net, {3, 4})); }},
  Network{"softmax_cross_entropy", [](auto& net) {
    net.softmax_cross_entropy(x_of(net, {3, 4}), net.input("labels", {3}, DataType::kInt32)); }},
  Network{"sigmoid_cross_entropy", [](auto& net) {
    net.sigmoid_cross_entropy(x_of(net, {3, 4}), net.input("labels", {3, 4})); }},
  Network{"add_losses", [](auto& net) {
    const Tensor x = x_of(net, {3, 4});
    const Tensor a = net.softmax_cross_entropy(x, net.input("labels", {3}, DataType::kInt32));
    const Tensor b = net.mean_squared_error(x, net.input("target", {3, 4}));
    net.add_losses(std::array{a, b}); }}),
  [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Choices, GradientsOnCpu, testing::Values(
  Network{"embedding", [](auto& net) {
    end_in_loss(net, net.embedding(net.variable("table", {4, 3}),
                                   net.input("ids", {3, 5}, DataType::kInt32))); }},
  layer("top_k", {5, 4}, [](auto& net, Tensor x) { return net.top_k(x, 2).weights; }, 4),
  // Eight places for ten choices: some tokens are dropped.
  Network{"experts", [](auto& net) {
    const Tensor x = x_of(net, {5, 3});
    const Routing routing = net.top_k(net.variable("probabilities", {5, 4}), 2);
    std::vector<Tensor> results;
    for (const Tensor part : net.dispatch(x, routing, 4, 2)) { results.push_back(net.tanh(part)); }
    end_in_loss(net, net.combine(results, routing)); }, 4},
  Network{"balance_loss", [](auto& net) {
    const Tensor probabilities = x_of(net, {5, 4});
    const Tensor a = net.balance_loss(probabilities, net.top_k(probabilities, 2));
    const Tensor b = net.mean_squared_error(probabilities, net.input("target", {5, 4}));
    net.add_losses(std::array{a, b}); }, 4},
  // Two steps: the first cell's gradients come by its result and its memory.
  Network{"lstm_cell", [](auto& net) {
    const Tensor weights = net.variable("weights", {5, 8});
    const Tensor bias = net.variable("bias", {8});
    LstmState state{.h = net.variable("h", {2, 2}), .c = net.variable("c", {2, 2})};
    state = net.lstm_cell(x_of(net, {2, 3}), state, weights, bias);
    state = net.lstm_cell(net.input("x2", {2, 3}), state, weights, bias);
    end_in_loss(net, state.h); }},
  // Input and state of one shape, and no one wants the gradient of the state.
  Network{"lstm_cell_of_one_width", [](auto& net) {
    const Tensor weights = net.variable("weights", {6, 12});
    const Tensor bias = net.variable("bias", {12});
    const LstmState before{.h = net.input("h", {2, 3}), .c = net.input("c", {2, 3})};
    end_in_loss(net, net.lstm_cell(x_of(net, {2, 3}), before, weights, bias).h); }}),
  [](const auto& test) { return test.param.name; });
// clang-format on

}  // namespace
}  // namespace emplace::calibrate::gradients_on_cpu_test
