#include "agents/src/nn/optimizer.hpp"

#include <emplace/base/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::agents::nn::nn_optimizer_test {
namespace {

// With both corrections the first step is the rate, whatever the gradient's size; the second after
// gradients g and 0 has mean 0.09 g / 0.19 and square 0.000999 g^2 / 0.001999.
TEST(NnOptimizer, CorrectsItsMoments) {
  Optimizer optimizer(2);
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
TEST(NnOptimizer, FindsTheBottomOfABowl) {
  Optimizer optimizer(2);
  std::vector<float> x = {0, 0};
  for (int step = 0; step < 2000; ++step) {
    const std::vector<float> gradient = {2 * (x[0] - 3), 20 * (x[1] + 1)};
    optimizer.step(x, gradient, 0.05 * (1 - step / 2000.0));
  }
  EXPECT_NEAR(x[0], 3, 1e-2);
  EXPECT_NEAR(x[1], -1, 1e-2);
}

// Ten steps at once, or five and five with the moments written down and read in between.
TEST(NnOptimizer, GoesOnFromItsText) {
  const std::vector<float> gradient = {0.3F, -7};
  std::vector<float> whole = {1, 2};
  std::vector<float> cut = whole;
  Optimizer optimizer(2);
  Optimizer before(2);
  for (int step = 0; step < 10; ++step) {
    optimizer.step(whole, gradient, 0.1);
  }
  for (int step = 0; step < 5; ++step) {
    before.step(cut, gradient, 0.1);
  }
  Optimizer after(2);
  after.load(JsonDocument::parse(before.to_json(), "optimizer").root());
  for (int step = 0; step < 5; ++step) {
    after.step(cut, gradient, 0.1);
  }
  EXPECT_EQ(cut, whole);
  EXPECT_EQ(after.to_json(), optimizer.to_json());
  const Optimizer larger(3);
  EXPECT_THROW(after.load(JsonDocument::parse(larger.to_json(), "optimizer").root()), Error);
}

TEST(NnOptimizer, ClipsTheNormOfWhatIsTooLong) {
  std::vector<float> gradient = {3, -4};
  EXPECT_DOUBLE_EQ(clip_norm(gradient, 6), 5);
  EXPECT_EQ(gradient, (std::vector<float>{3, -4}));
  EXPECT_DOUBLE_EQ(clip_norm(gradient, 1), 5);
  EXPECT_NEAR(gradient[0], 0.6, 1e-7);
  EXPECT_NEAR(gradient[1], -0.8, 1e-7);
}

}  // namespace
}  // namespace emplace::agents::nn::nn_optimizer_test
