// What ops give on the CPU, against numbers worked out by hand.

#include "graph_on_device.hpp"

#include <emplace/calibrate/cpu_device.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace emplace::calibrate::ops_on_cpu_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kNear = 1e-5F;

class OpsOnCpu : public testing::Test {
 protected:
  Tensor input(std::vector<std::int64_t> shape) { return net_.input("x", std::move(shape)); }

  // Runs the network with these numbers in its inputs and variables, in their order.
  void run(std::vector<std::vector<float>> numbers) {
    graph_ = std::make_unique<GraphOnDevice>(std::move(net_).finish(), *device_);
    std::size_t next = 0;
    for (OpId op = 0; op < num_ops(graph_->graph()); ++op) {
      const Op& made = graph_->graph()[static_cast<std::size_t>(op)];
      if (made.kind != "input" && made.kind != "variable") {
        continue;
      }
      ASSERT_LT(next, numbers.size());
      const std::vector<float>& given = numbers[next++];
      if (made.outputs[0].type == DataType::kInt32) {
        const auto to = graph_->integers({op, 0});
        ASSERT_EQ(given.size(), to.size()) << made.name;
        std::ranges::transform(given, to.begin(), [](float x) { return static_cast<int>(x); });
      } else {
        const auto to = graph_->floats({op, 0});
        ASSERT_EQ(given.size(), to.size()) << made.name;
        std::ranges::copy(given, to.begin());
      }
    }
    graph_->run();
  }

  void expect(Tensor tensor, std::vector<float> numbers) {
    EXPECT_THAT(graph_->floats(tensor), Pointwise(FloatNear(kNear), numbers));
  }

  ModelBuilder net_{"net"};
  std::vector<int> core_{usable_cores().front()};
  std::unique_ptr<ComputeDevice> device_ = make_cpu_device("cpu:0", core_);
  std::unique_ptr<GraphOnDevice> graph_;
};

TEST_F(OpsOnCpu, ApplyFunctions) {
  const Tensor x = input({3});
  const Tensor relu = net_.relu(x);
  const Tensor tanh = net_.tanh(x);
  const Tensor sigmoid = net_.sigmoid(x);
  const Tensor gelu = net_.gelu(x);
  const Tensor silu = net_.silu(x);
  const Tensor twice = net_.add(x, x);
  const Tensor square = net_.multiply(x, x);
  const Tensor nothing = net_.subtract(x, x);
  run({{-1, 0, 2}});
  expect(relu, {0, 0, 2});
  expect(tanh, {-0.7615942F, 0, 0.9640276F});
  expect(sigmoid, {0.2689414F, 0.5F, 0.8807971F});
  expect(gelu, {-0.1586553F, 0, 1.9544997F});  // x times 0.1586553, 0.5, 0.9772499
  expect(silu, {-0.2689414F, 0, 1.7615942F});
  expect(twice, {-2, 0, 4});
  expect(square, {1, 0, 4});
  expect(nothing, {0, 0, 0});
}

TEST_F(OpsOnCpu, DropATenthAndScaleTheRest) {
  const Tensor y = net_.dropout(input({10'000}));
  run({std::vector<float>(10'000, 9)});
  const auto numbers = graph_->floats(y);
  const auto dropped = std::ranges::count(numbers, 0.0F);
  EXPECT_NEAR(static_cast<double>(dropped), 1000, 4 * std::sqrt(900));  // four deviations
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_left = graph_->bytes({y.op, 1})[i] == std::byte{1};
    ASSERT_FLOAT_EQ(numbers[i], is_left ? 10.0F : 0.0F);
  }
}

TEST_F(OpsOnCpu, TakeSoftmaxAndItsCrossEntropy) {
  const Tensor logits = input({2, 2});
  const Tensor loss =
      net_.softmax_cross_entropy(logits, net_.input("labels", {2}, DataType::kInt32));
  const Tensor large = net_.softmax(net_.input("large", {1, 2}));
  run({{0, std::log(3.0F), 0, 0}, {1, 0}, {1000, 1000}});
  expect({loss.op, 1}, {0.25F, 0.75F, 0.5F, 0.5F});
  expect(loss, {(-std::log(0.75F) - std::log(0.5F)) / 2});
  expect(large, {0.5F, 0.5F});
}

TEST_F(OpsOnCpu, TakeMeanLosses) {
  const Tensor x = input({2});
  const Tensor target = net_.input("target", {2});
  const Tensor squares = net_.mean_squared_error(x, target);
  const Tensor entropy = net_.sigmoid_cross_entropy(x, target);
  const Tensor both = net_.add_losses(std::array{squares, entropy});
  run({{0, std::log(3.0F)}, {1, 0}});
  const float error = (1 + std::log(3.0F) * std::log(3.0F)) / 2;
  const float loss = (std::log(2.0F) + std::log(4.0F)) / 2;  // -log 1/2, -log (1 - 3/4)
  expect(squares, {error});
  expect(entropy, {loss});
  expect(both, {error + loss});
}

// Channel 0 holds 1, 3, 5, 7 (mean 4, variance 5), channel 1 twice 2, twice 4 (3 and 1).
TEST_F(OpsOnCpu, NormalizeChannelsAndKeepMovingStatistics) {
  const Tensor y = net_.batch_norm(input({2, 2, 2}));
  run({{1, 3, 2, 2, 5, 7, 4, 4}, {2, 1, 10, 0}});
  const float root = std::sqrt(5.0F);
  expect({y.op, 1}, {4, 3, root, 1});
  EXPECT_THAT(graph_->floats(y),
              Pointwise(FloatNear(1e-4F), {10 - 6 / root, 10 - 2 / root, -1.0F, -1.0F,
                                           10 + 2 / root, 10 + 6 / root, 1.0F, 1.0F}));
  EXPECT_THAT(graph_->state(y.op),
              Pointwise(FloatNear(kNear), {0.04F, 0.03F, 0.05F, 0.01F}));  // from 0, by a hundredth
}

TEST_F(OpsOnCpu, NormalizeRows) {
  const Tensor x = input({1, 4});
  const Tensor layer = net_.layer_norm(x);
  const Tensor rms = net_.rms_norm(x);
  run({{1, 3, 5, 7}, {1, 1, 1, 2, 0, 0, 0, 1}, {1, 1, 1, 2}});
  const float root = std::sqrt(5.0F);
  EXPECT_THAT(graph_->floats(layer),
              Pointwise(FloatNear(1e-4F), {-3 / root, -1 / root, 1 / root, 6 / root + 1}));
  expect({layer.op, 1}, {4, root});
  const float size = std::sqrt(21.0F);  // of 1 + 9 + 25 + 49 over 4
  EXPECT_THAT(graph_->floats(rms),
              Pointwise(FloatNear(1e-4F), {1 / size, 3 / size, 5 / size, 14 / size}));
}

// The map 1 2 3 / 4 5 6 / 7 8 9 under windows of 2 x 2, a row and column of which reach beyond it.
TEST_F(OpsOnCpu, PoolWhatLiesOnTheMap) {
  const Tensor x = input({1, 1, 3, 3});
  const Pool2d same{.kernel = 2, .stride = 2, .padding = Padding::kSame};
  const Tensor largest = net_.max_pool(x, same);
  const Tensor mean = net_.avg_pool(x, same);
  const Tensor global = net_.global_avg_pool(x);
  run({{1, 2, 3, 4, 5, 6, 7, 8, 9}});
  expect(largest, {5, 6, 8, 9});
  expect(mean, {3, 4.5F, 7.5F, 9});
  expect(global, {5});
}

// Filters that pick the left and the lower neighbour, and the sum of both.
TEST_F(OpsOnCpu, ConvolveMaps) {
  const Tensor x = input({1, 1, 3, 3});
  const Tensor y = net_.conv2d(x, {.filters = 2, .kernel = {3, 3}});
  const Tensor strided = net_.conv2d(x, {.kernel = {3, 3}, .stride = 2});
  const Tensor own = net_.depthwise_conv2d(x, {.kernel = {3, 3}});
  const std::vector<float> left{0, 0, 0, 1, 0, 0, 0, 0, 0};
  const std::vector<float> lower{0, 0, 0, 0, 0, 0, 0, 1, 0};
  std::vector<float> both = left;
  both.insert(both.end(), lower.begin(), lower.end());
  run({{1, 2, 3, 4, 5, 6, 7, 8, 9}, both, lower, {0, 0, 0, 1, 0, 0, 0, 1, 0}});
  expect(y, {0, 1, 2, 0, 4, 5, 0, 7, 8, 4, 5, 6, 7, 8, 9, 0, 0, 0});
  expect(strided, {4, 6, 0, 0});
  expect(own, {4, 6, 8, 7, 12, 14, 0, 7, 8});
}

// Each element relative deviations over 2 x 2, and windows do not overlap.
TEST_F(OpsOnCpu, EnlargeMapsByTransposedConvolutions) {
  const Tensor y = net_.conv2d_transpose(input({1, 1, 1, 2}), {.kernel = {2, 2}, .stride = 2});
  run({{1, 10}, {1, 2, 3, 4}});
  expect(y, {1, 2, 10, 20, 3, 4, 30, 40});
}

TEST_F(OpsOnCpu, MultiplyMatrices) {
  const Tensor a = input({2, 3});
  const Tensor y = net_.matmul(a, net_.input("b", {3, 2}));
  const Tensor turned = net_.matmul(a, net_.input("c", {1, 3}), {.right = true});
  const Tensor biased = net_.bias_add(y, net_.input("bias", {2}));
  run({{1, 2, 3, 4, 5, 6}, {1, 2, 0, 1, 1, 0}, {1, 1, 1}, {10, 20}});
  expect(y, {4, 4, 10, 13});
  expect(turned, {6, 15});
  expect(biased, {14, 24, 20, 33});
}

TEST_F(OpsOnCpu, JoinAndCut) {
  const Tensor a = input({2, 2});
  const Tensor joined = net_.concat(std::array{a, net_.input("b", {2, 1})});
  const auto parts = net_.split(joined, 3, 1);
  const Tensor turned = net_.transpose(joined, std::array<std::size_t, 2>{1, 0});
  const Tensor block = net_.slice(joined, {2, 2});
  const Tensor copies = net_.broadcast(a, 2);
  run({{1, 2, 3, 4}, {5, 6}});
  expect(joined, {1, 2, 5, 3, 4, 6});
  expect(parts[1], {2, 4});
  expect(turned, {1, 3, 2, 4, 5, 6});
  expect(block, {1, 2, 3, 4});
  expect(copies, {1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_F(OpsOnCpu, ShiftMapsAndTakeTriangles) {
  const Tensor x = input({1, 3, 3});
  const Tensor below = net_.lower_triangle(x);
  const Tensor shifted = net_.shift2d(net_.reshape(x, {1, 1, 3, 3}));
  run({{1, 2, 3, 4, 5, 6, 7, 8, 9}});
  expect(below, {4, 7, 8});
  expect(shifted, {5, 6, 0, 8, 9, 0, 0, 0, 0});
}

// Dai et al. 2019, appendix B: the first of two rows moves by one place, the last stays.
TEST_F(OpsOnCpu, MaskAndShiftScores) {
  const Tensor scores = input({2, 3});
  const Tensor shifted = net_.relative_shift(scores);
  const Tensor masked = net_.softmax(net_.causal_mask(scores));
  run({{1, 2, 3, 4, 4, 4}});
  expect(shifted, {2, 3, 0, 4, 4, 4});
  const float first = 1 / (1 + std::exp(1.0F));
  expect(masked, {first, 1 - first, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
}

// Position 1 turns the first pair by 1, the second by 1 / 100.
TEST_F(OpsOnCpu, TurnPairsByTheirPosition) {
  const Tensor y = net_.rotary_embedding(input({2, 4}));
  run({{1, 2, 3, 4, 1, 0, 0, 1}});
  expect(y, {1, 2, 3, 4, std::cos(1.0F), std::sin(1.0F), -std::sin(0.01F), std::cos(0.01F)});
}

TEST_F(OpsOnCpu, LookUpRowsAndFoldIdsThatAreOutOfRange) {
  const Tensor table = input({3, 2});
  const Tensor rows = net_.embedding(table, net_.input("ids", {3}, DataType::kInt32));
  const Tensor bags = net_.embedding_bag(table, net_.input("bags", {1, 3}, DataType::kInt32));
  run({{1, 2, 3, 4, 5, 6}, {2, 0, 4}, {0, 2, 2}});
  expect(rows, {5, 6, 1, 2, 3, 4});
  expect(bags, {11, 14});
}

// Of three choices of expert 1 the last finds no place.
TEST_F(OpsOnCpu, SendTokensToTheirExperts) {
  const Routing routing = net_.top_k(input({3, 3}), 2);
  const auto parts = net_.dispatch(net_.input("tokens", {3, 1}), routing, 3, 2);
  const Tensor y = net_.combine(parts, routing);
  run({{0.1F, 0.6F, 0.3F, 0.5F, 0.5F, 0, 0.2F, 0.7F, 0.1F}, {10, 20, 30}});
  EXPECT_THAT(graph_->integers(routing.experts), ElementsAre(1, 2, 0, 1, 1, 0));
  expect(routing.weights, {0.6F, 0.3F, 0.5F, 0.5F, 0.7F, 0.2F});
  expect(parts[0], {20, 30});
  expect(parts[1], {10, 20});
  expect(parts[2], {10, 0});
  expect(y, {9, 20, 6});
}

// Even choices and probabilities give 1; all on one expert of two, the number of experts.
TEST_F(OpsOnCpu, MeasureTheBalanceOfExperts) {
  const auto loss = [&](const char* name) {
    const Tensor p = net_.input(name, {2, 2});
    return net_.balance_loss(p, net_.top_k(p, 1));
  };
  const Tensor even = loss("even");
  const Tensor one = loss("one");
  run({{1, 0, 0, 1}, {1, 0, 1, 0}});
  expect(even, {1});
  expect(one, {2});
}

// Weights of zero: the gates are functions of their biases.
TEST_F(OpsOnCpu, RunAnLstmCell) {
  const Tensor h = input({1, 1});
  const Tensor c = net_.input("c", {1, 1});
  const Tensor x = net_.input("x", {1, 2});
  const Tensor weights = net_.input("weights", {3, 4});
  const LstmState after = net_.lstm_cell(x, {.h = h, .c = c}, weights, net_.input("bias", {4}));
  const float three = std::log(3.0F);  // sigmoid 0.75, tanh 0.8
  run({{5}, {4}, {1, 1}, std::vector<float>(12, 0), {three, -three, three, 0}});
  const float memory = 0.25F * 4 + 0.75F * 0.8F;
  expect({after.h.op, 2}, {0.75F, 0.25F, 0.8F, 0.5F});
  expect(after.c, {memory});
  expect(after.h, {0.5F * std::tanh(memory)});
}

// The loss (w - 0)^2 of w = 2 has the gradient 4.
class OptimizersOnCpu : public OpsOnCpu, public testing::WithParamInterface<const char*> {};

TEST_P(OptimizersOnCpu, StepAgainstTheGradient) {
  const Tensor w = net_.variable("w", {1});
  net_.mean_squared_error(w, net_.input("target", {1}));
  const OpGraph training = training_graph(std::move(net_).finish(), find_optimizer(GetParam()));
  GraphOnDevice graph(training, *device_);
  graph.floats(w)[0] = 2;
  graph.run();
  const OpId update = num_ops(training) - 1;
  const auto slots = graph.state(update);
  const float moved = (2 - graph.floats(w)[0]) / 1e-3F;  // in learning rates
  const std::string name = GetParam();
  if (name == "sgd" || name == "momentum") {
    EXPECT_NEAR(moved, 4, 1e-3F);
  } else if (name == "adam") {
    EXPECT_THAT(slots, Pointwise(FloatNear(kNear), {0.4F, 0.016F}));
    EXPECT_NEAR(moved, 0.4F / std::sqrt(0.016F), 1e-3F);
  } else {
    EXPECT_NEAR(slots[0], 1.6F, kNear);
    EXPECT_NEAR(moved, 4 / std::sqrt(1.6F), 1e-3F);
  }
  if (name == "momentum") {
    EXPECT_NEAR(slots[0], 4, kNear);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizersOnCpu,
                         testing::Values("sgd", "momentum", "rmsprop", "adam"));

// bfloat16 keeps 8 bits of the mantissa: 1 + 1/256 is rounded to even, 1 + 3/256 up.
TEST_F(OpsOnCpu, RoundBfloat16ToTheNearest) {
  const Tensor x = net_.input("x", {4}, DataType::kBfloat16);
  const Tensor half = net_.input("half", {4}, DataType::kBfloat16);
  const Tensor sum = net_.add(x, half);
  GraphOnDevice graph(std::move(net_).finish(), *device_);
  const auto fill = [&](Tensor to, std::vector<std::uint16_t> bits) {
    std::memcpy(graph.bytes(to).data(), bits.data(), graph.bytes(to).size());
  };
  // 1, 1 + 1/128, 3, -1; and 1/256 four times.
  fill(x, {0x3f80, 0x3f81, 0x4040, 0xbf80});
  fill(half, {0x3b80, 0x3b80, 0x3b80, 0x3b80});
  graph.run();
  std::vector<std::uint16_t> bits(4);
  std::memcpy(bits.data(), graph.bytes(sum).data(), 8);
  // -1 + 1/256 = -0.99609375 is a bfloat16.
  EXPECT_THAT(bits, ElementsAre(0x3f80, 0x3f82, 0x4040, 0xbf7f));
}

}  // namespace
}  // namespace emplace::calibrate::ops_on_cpu_test
