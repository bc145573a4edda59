#include "agents/src/nn/optimizer.hpp"

#include <emplace/graphs/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::agents::nn::nn_optimizer_test {
namespace {

TEST(NnOptimizer, SgdGoesAgainstTheGradient) {
  Optimizer optimizer(OptimizerKind::kSgd, 2);
  std::vector<float> x = {1, 2};
  optimizer.step(x, std::vector<float>{4, -8}, 0.25);
  EXPECT_EQ(x, (std::vector<float>{0, 4}));
}

// The mean square starts at 1: after g = 3 it is 0.9 + 0.1 * 9 = 1.8.
TEST(NnOptimizer, RmspropDividesByTheRootOfTheMeanSquare) {
  Optimizer optimizer(OptimizerKind::kRmsprop, 1);
  std::vector<float> x = {0};
  optimizer.step(x, std::vector<float>{3}, 0.1);
  EXPECT_NEAR(x[0], -0.1 * 3 / std::sqrt(1.8), 1e-6);
}

// With both corrections the first step is the rate, whatever the gradient's size; the second after
// gradients g and 0 has mean 0.09 g / 0.19 and square 0.000999 g^2 / 0.001999.
TEST(NnOptimizer, AdamCorrectsItsMoments) {
  Optimizer optimizer(OptimizerKind::kAdam, 2);
  std::vector<float> x = {0, 0};
  optimizer.step(x, std::vector<float>{100, -0.01F}, 0.5);
  EXPECT_NEAR(x[0], -0.5, 1e-5);
  EXPECT_NEAR(x[1], 0.5, 1e-4);  // 1e-8 beside the root of 1e-7
  optimizer.step(x, std::vector<float>{0, 0}, 0.5);
  const double second = 0.5 * (0.09 / 0.19) / std::sqrt(0.000999 / 0.001999);
  EXPECT_NEAR(x[0], -0.5 - second, 1e-4);
  EXPECT_NEAR(x[1], 0.5 + second, 1e-4);
}

// Minimizes (x - 3)^2 + 10 (y + 1)^2.
TEST(NnOptimizer, EachFindsTheBottomOfABowl) {
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kRmsprop, OptimizerKind::kAdam}) {
    SCOPED_TRACE(optimizer_names()[static_cast<std::size_t>(kind)]);
    Optimizer optimizer(kind, 2);
    std::vector<float> x = {0, 0};
    for (int step = 0; step < 2000; ++step) {
      const std::vector<float> gradient = {2 * (x[0] - 3), 20 * (x[1] + 1)};
      optimizer.step(x, gradient, 0.05 * (1 - step / 2000.0));
    }
    EXPECT_NEAR(x[0], 3, 1e-2);
    EXPECT_NEAR(x[1], -1, 1e-2);
  }
}

// Ten steps at once, or five and five with the moments written down and read in between.
TEST(NnOptimizer, GoesOnFromItsText) {
  const std::vector<float> gradient = {0.3F, -7};
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kRmsprop, OptimizerKind::kAdam}) {
    SCOPED_TRACE(optimizer_names()[static_cast<std::size_t>(kind)]);
    std::vector<float> whole = {1, 2};
    std::vector<float> cut = whole;
    Optimizer optimizer(kind, 2);
    Optimizer before(kind, 2);
    for (int step = 0; step < 10; ++step) {
      optimizer.step(whole, gradient, 0.1);
    }
    for (int step = 0; step < 5; ++step) {
      before.step(cut, gradient, 0.1);
    }
    Optimizer after(kind, 2);
    after.load(JsonDocument::parse(before.to_json(), "optimizer").root());
    for (int step = 0; step < 5; ++step) {
      after.step(cut, gradient, 0.1);
    }
    EXPECT_EQ(cut, whole);
    EXPECT_EQ(after.to_json(), optimizer.to_json());
  }
  Optimizer adam(OptimizerKind::kAdam, 2);
  const Optimizer rmsprop(OptimizerKind::kRmsprop, 2);
  EXPECT_THROW(adam.load(JsonDocument::parse(rmsprop.to_json(), "optimizer").root()), Error);
}

TEST(NnOptimizer, ClipsTheNormOfWhatIsTooLong) {
  std::vector<float> gradient = {3, -4};
  EXPECT_DOUBLE_EQ(clip_norm(gradient, 6), 5);
  EXPECT_EQ(gradient, (std::vector<float>{3, -4}));
  EXPECT_DOUBLE_EQ(clip_norm(gradient, 1), 5);
  EXPECT_NEAR(gradient[0], 0.6, 1e-7);
  EXPECT_NEAR(gradient[1], -0.8, 1e-7);
}

TEST(NnOptimizer, IsFoundByName) {
  const auto name = [](OptimizerKind kind) {
    return optimizer_names().at(static_cast<std::size_t>(kind));
  };
  EXPECT_EQ(name(OptimizerKind::kAdam), "adam");
  EXPECT_EQ(name(OptimizerKind::kRmsprop), "rmsprop");
  EXPECT_EQ(name(OptimizerKind::kSgd), "sgd");
}

}  // namespace
}  // namespace emplace::agents::nn::nn_optimizer_test
