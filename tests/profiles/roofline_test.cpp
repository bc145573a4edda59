// Times are worked out by hand: 1,000 FLOP/us, 100 bytes/us, 2 multiprocessors.

#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/roofline.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace emplace::roofline_test {
namespace {

constexpr DeviceRates kRates = {.flops_per_us = 1000, .bytes_per_us = 100, .multiprocessors = 2};

TEST(Roofline, MaximumIsTheLongerOfComputeAndMemory) {
  const Roofline roofline = {.fixed_us = 3, .compute_efficiency = 0.5, .memory_efficiency = 0.25};
  EXPECT_DOUBLE_EQ(roofline_us(roofline, {.flops = 1500, .bytes = 100}, kRates), 3 + 4);
  EXPECT_DOUBLE_EQ(roofline_us(roofline, {.flops = 4000, .bytes = 100}, kRates), 3 + 8);
}

// 3 us of compute and 4 us of memory: 5 us.
TEST(Roofline, SmoothIsTheRootOfTheSumOfSquares) {
  const Roofline roofline = {.fixed_us = 1,
                             .compute_efficiency = 0.5,
                             .memory_efficiency = 0.25,
                             .form = CostForm::kSmooth};
  EXPECT_DOUBLE_EQ(roofline_us(roofline, {.flops = 1500, .bytes = 100}, kRates), 6);
}

TEST(Roofline, ComputeEfficiencyAboveOneSavesMultiplications) {
  const Roofline roofline = {.compute_efficiency = 2};
  EXPECT_DOUBLE_EQ(roofline_us(roofline, {.flops = 4000}, kRates), 2);
}

// Four tiles of 128 x 128 on two multiprocessors: two rounds of 2 x 128 x 128 x 512 FLOPs each on
// both. The root adds the half of a round that a depth of 512 takes at least.
TEST(Roofline, ProductTakesRoundsOfTiles) {
  const Roofline roofline = {.form = CostForm::kTiles, .tile_efficiencies = {1e-3, 1e-3}};
  const OpWork work = op_work("matmul", std::array<std::int64_t, 3>{256, 256, 512}, 0, 0);
  const double round_us = 2.0 * 128 * 128 * 512 * 2 / 1000;
  EXPECT_DOUBLE_EQ(roofline_us(roofline, work, kRates), std::sqrt(2 * 2 + 0.25) * round_us);
}

// One row wastes 31 of 32 rows of the smallest tile, 127 of 128 of the largest.
TEST(Roofline, SmallProductTakesTheSmallTile) {
  const OpWork work = op_work("matmul", std::array<std::int64_t, 3>{1, 8192, 64}, 0, 0);
  Roofline roofline = {.form = CostForm::kTiles, .tile_efficiencies = {0.5, 0.5}};
  const double small = roofline_us(roofline, work, kRates);
  roofline.tile_efficiencies = {1e-3, 1e-3};
  const double large = roofline_us(roofline, work, kRates);
  EXPECT_NEAR(large / small, 128.0 / 32 * 0.5, 0.02);
}

TEST(Roofline, BatchesCountAsMoreTiles) {
  const Roofline roofline = {.form = CostForm::kTiles};
  const OpWork one = op_work("matmul", std::array<std::int64_t, 3>{1024, 1024, 512}, 0, 0);
  const OpWork many = op_work("batch_matmul", std::array<std::int64_t, 4>{64, 128, 128, 512}, 0, 0);
  EXPECT_DOUBLE_EQ(roofline_us(roofline, one, kRates), roofline_us(roofline, many, kRates));
}

TEST(Roofline, OpThatIsNoProductHasTheSmoothForm) {
  Roofline roofline = {.form = CostForm::kTiles};
  const OpWork work =
      op_work("lstm_cell_backward", std::array<std::int64_t, 3>{4, 5, 6}, 3000, 400);
  EXPECT_DOUBLE_EQ(roofline_us(roofline, work, kRates), 5);
  roofline.form = CostForm::kSmooth;
  EXPECT_DOUBLE_EQ(roofline_us(roofline, work, kRates), 5);
}

DeviceProfile with_tensor_cores() {
  DeviceProfile profile;
  profile.peak_flops_per_us = 1000;
  profile.tf32_flops_per_us = 8000;
  profile.float16_flops_per_us = 16000;
  profile.memory_bytes_per_us = 1e9;
  return profile;
}

TEST(Precision, IsThatOfFrameworksUnlessTheMathModeSaysOtherwise) {
  const DeviceProfile profile = with_tensor_cores();
  const auto of = [&](std::string_view kind, MathMode math) {
    return precision_of(profile, kind, DataType::kFloat32, math);
  };
  EXPECT_EQ(of("conv2d", MathMode::kFramework), Precision::kTf32);
  EXPECT_EQ(of("matmul", MathMode::kFramework), Precision::kFloat32);
  EXPECT_EQ(of("conv2d", MathMode::kFloat32), Precision::kFloat32);
  EXPECT_EQ(of("matmul", MathMode::kTf32), Precision::kTf32);
  EXPECT_EQ(of("relu", MathMode::kTf32), Precision::kFloat32);
}

TEST(Precision, OfHalfPrecisionIsThatOfTheTensorCoresWhereThereAreAny) {
  DeviceProfile profile = with_tensor_cores();
  EXPECT_EQ(precision_of(profile, "matmul", DataType::kBfloat16), Precision::kFloat16);
  profile.float16_flops_per_us = 0;
  EXPECT_EQ(precision_of(profile, "matmul", DataType::kBfloat16), Precision::kFloat32);
}

Op convolution(std::int64_t window, std::int64_t step) {
  Op op;
  op.kind = "conv2d";
  op.shape = {1, 8, 32, 32, 8, window, window, step, step, 1, 32, 32};
  op.flops = 16000;
  return op;
}

TEST(CostCase, FirstThatSelectsTheOpCounts) {
  DeviceProfile profile = with_tensor_cores();
  const auto at = static_cast<std::size_t>(OpClass::kConvolution);
  profile.rooflines[at] = Roofline{};
  profile.cases[at] = {{.window = 3, .roofline = {.compute_efficiency = 2}},
                       {.kinds = {"conv2d"},
                        .precision = Precision::kFloat32,
                        .roofline = {.compute_efficiency = 0.5}}};
  EXPECT_DOUBLE_EQ(op_cost(profile, convolution(3, 1)).us, 1);  // TF32: 16000 / (2 * 8000)
  EXPECT_DOUBLE_EQ(op_cost(profile, convolution(3, 2)).us, 2);  // of the class
  EXPECT_DOUBLE_EQ(op_cost(profile, convolution(5, 1), MathMode::kFloat32).us, 32);
  Op gradient = convolution(5, 1);
  gradient.kind = "conv2d_backward_data";
  EXPECT_DOUBLE_EQ(op_cost(profile, gradient, MathMode::kFloat32).us, 16);
}

TEST(MathMode, ClusterNameMaySayIt) {
  EXPECT_EQ(load_cluster("dgx-a100").math, MathMode::kFramework);
  EXPECT_EQ(load_cluster("dgx-a100:math=tf32").math, MathMode::kTf32);
  EXPECT_EQ(load_cluster("dgx-a100:math=float32").math, MathMode::kFloat32);
  EXPECT_THROW(load_cluster("dgx-a100:math=float8"), std::runtime_error);
}

TEST(Framework, ClusterNameMayLeaveItOut) {
  const StepFactors none = DeviceProfile().step_factors;
  EXPECT_NE(load_cluster("dgx-a100").profiles[0].step_factors, none);
  const Cluster bare = load_cluster("dgx-a100:math=tf32,framework=false");
  EXPECT_EQ(bare.profiles[0].step_factors, none);
  EXPECT_EQ(bare.math, MathMode::kTf32);
  EXPECT_EQ(load_cluster(without_framework("dgx-a100:math=tf32")), bare);
  EXPECT_EQ(load_cluster(without_framework("dgx-a100")).profiles[0].step_factors, none);
  // What Placeto's K80s take was fitted to steps.
  EXPECT_EQ(load_cluster("p2-8xlarge-4").profiles[0].step_factors, none);
  EXPECT_THROW(load_cluster("dgx-a100:framework=maybe"), std::runtime_error);
  EXPECT_THROW(load_cluster("dgx-a100:frame=true"), std::runtime_error);
}

}  // namespace
}  // namespace emplace::roofline_test
