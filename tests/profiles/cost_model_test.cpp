// The costs below are worked out by hand from a profile with round numbers: 1,000 FLOP/us, 100
// bytes/us.

#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <gtest/gtest.h>

namespace emplace::cost_model_test {
namespace {

DeviceProfile round_numbers() {
  DeviceProfile profile;
  profile.name = "round";
  profile.device_class = "gpu-round";
  profile.peak_flops_per_us = 1000;
  profile.memory_bytes_per_us = 100;
  profile.rooflines[static_cast<std::size_t>(OpClass::kConvolution)] =
      Roofline{.fixed_us = 3, .compute_efficiency = 0.5, .memory_efficiency = 0.25};
  profile.fallback = {.fixed_us = 10, .compute_efficiency = 0.1, .memory_efficiency = 0.2};
  return profile;
}

Op conv2d(std::int64_t flops, std::int64_t bytes_read, std::int64_t bytes_written) {
  Op op;
  op.name = "conv";
  op.kind = "conv2d";
  op.flops = flops;
  op.bytes_read = bytes_read;
  op.bytes_written = bytes_written;
  return op;
}

TEST(CostModel, ComputeBoundOpTakesFixedTimeAndFlopsOverEffectivePeak) {
  // 3 + max(4000 / (0.5 * 1000), 100 / (0.25 * 100)) = 3 + max(8, 4).
  const Cost cost = op_cost(round_numbers(), conv2d(4000, 60, 40));
  EXPECT_DOUBLE_EQ(cost.us, 11);
  EXPECT_EQ(cost.source, CostSource::kRoofline);
}

TEST(CostModel, MemoryBoundOpTakesFixedTimeAndBytesOverEffectiveBandwidth) {
  // 3 + max(500 / 500, (60 + 40) / 25) = 3 + max(1, 4).
  EXPECT_DOUBLE_EQ(op_cost(round_numbers(), conv2d(500, 60, 40)).us, 7);
}

TEST(CostModel, BytesThatOverflowTheirSumDoNotWrap) {
  const std::int64_t most = std::int64_t{1} << 62;
  EXPECT_DOUBLE_EQ(op_cost(round_numbers(), conv2d(0, most, most)).us,
                   3 + 9223372036854775808.0 / 25);
}

TEST(CostModel, MeasuredCostOfTheDeviceClassGoesBeforeTheRoofline) {
  Op op = conv2d(4000, 60, 40);
  op.measured = {{.device_class = "gpu-other", .cost_us = 1.5},
                 {.device_class = "gpu-round", .cost_us = 42.5}};
  const Cost cost = op_cost(round_numbers(), op);
  EXPECT_DOUBLE_EQ(cost.us, 42.5);
  EXPECT_EQ(cost.source, CostSource::kMeasured);
}

TEST(CostModel, CostMeasuredOnAnotherClassOfDevicesSaysNothing) {
  Op op = conv2d(4000, 60, 40);
  op.measured = {{.device_class = "gpu-other", .cost_us = 1.5}};
  const Cost cost = op_cost(round_numbers(), op);
  EXPECT_DOUBLE_EQ(cost.us, 11);
  EXPECT_EQ(cost.source, CostSource::kRoofline);
}

// 10 + max(4000 / (0.1 * 1000), 100 / (0.2 * 100)) = 10 + max(40, 5).
TEST(CostModel, ClassThatTheProfileDoesNotListAndUnknownKindAreGuesses) {
  for (const char* kind : {"matmul", "quantum-sort"}) {
    Op op = conv2d(4000, 60, 40);
    op.kind = kind;
    EXPECT_DOUBLE_EQ(op_cost(round_numbers(), op).us, 50) << kind;
    EXPECT_EQ(op_cost(round_numbers(), op).source, CostSource::kGuess) << kind;
  }
}

TEST(CostModel, OpThatLaunchesNothingCostsExactlyNothing) {
  Op op = conv2d(0, 1000, 1000);
  op.kind = "variable";
  ASSERT_FALSE(launches(op.kind));
  op.measured = {{.device_class = "gpu-round", .cost_us = 42.5}};
  const Cost cost = op_cost(round_numbers(), op);
  EXPECT_EQ(cost.us, 0);
  EXPECT_EQ(cost.source, CostSource::kRoofline);
}

TEST(CostModel, DeviationIsThatOfTheSource) {
  DeviceProfile profile = round_numbers();
  profile.rooflines[static_cast<std::size_t>(OpClass::kConvolution)]->relative_deviation = 0.2;
  profile.fallback.relative_deviation = 0.5;
  Op op = conv2d(4000, 60, 40);
  EXPECT_EQ(op_cost(profile, op).relative_deviation, 0.2);
  op.kind = "quantum-sort";
  EXPECT_EQ(op_cost(profile, op).relative_deviation, 0.5);
  op.measured = {{.device_class = "gpu-round", .cost_us = 42.5, .relative_deviation = 0.03}};
  EXPECT_EQ(op_cost(profile, op).relative_deviation, 0.03);
  op.measured.front().relative_deviation = 0;
  EXPECT_EQ(op_cost(profile, op).relative_deviation, 0);
  op.kind = "variable";
  EXPECT_EQ(op_cost(profile, op).relative_deviation, 0);
}

// A convolution of 4 MFLOP and 1 MB that took 42.5 us, and one of four times as much that took four
// times as long. The roofline would give 40,003 us to the first.
DeviceProfile with_measurements() {
  DeviceProfile profile = round_numbers();
  profile.measured = MeasurementTable({{.key = {.kind = "conv2d", .shape = {1}},
                                        .us = 42.5,
                                        .relative_deviation = 0.03,
                                        .runs = 20,
                                        .flops = 4'000'000,
                                        .bytes = 1'000'000},
                                       {.key = {.kind = "conv2d", .shape = {4}},
                                        .us = 170,
                                        .relative_deviation = 0.02,
                                        .runs = 20,
                                        .flops = 16'000'000,
                                        .bytes = 4'000'000}});
  return profile;
}

TEST(CostModel, MeasurementOfTheProfileGoesBeforeTheRoofline) {
  Op op = conv2d(4'000'000, 600'000, 400'000);
  op.shape = {1};
  const Cost cost = op_cost(with_measurements(), op);
  EXPECT_EQ(cost.us, 42.5);
  EXPECT_EQ(cost.source, CostSource::kMeasured);
  EXPECT_EQ(cost.relative_deviation, 0.03);
}

TEST(CostModel, CostInTheGraphGoesBeforeTheMeasurementOfTheProfile) {
  Op op = conv2d(4'000'000, 600'000, 400'000);
  op.shape = {1};
  op.measured = {{.device_class = "gpu-round", .cost_us = 40}};
  EXPECT_EQ(op_cost(with_measurements(), op).us, 40);
}

TEST(CostModel, OpBetweenMeasurementsIsInterpolated) {
  Op op = conv2d(8'000'000, 1'200'000, 800'000);
  op.shape = {2};
  const Cost cost = op_cost(with_measurements(), op);
  EXPECT_NEAR(cost.us, 85, 0.01);
  EXPECT_EQ(cost.source, CostSource::kInterpolated);
  EXPECT_NEAR(cost.relative_deviation, 0.03, 1e-3);
}

TEST(CostModel, OpOfAnotherTypeOrOutsideTheMeasurementsHasTheRoofline) {
  Op op = conv2d(8'000'000, 1'200'000, 800'000);
  op.outputs = {{.type = DataType::kBfloat16}};
  EXPECT_EQ(op_cost(with_measurements(), op).source, CostSource::kRoofline);
  EXPECT_EQ(op_cost(with_measurements(), conv2d(32'000'000, 6'000'000, 2'000'000)).source,
            CostSource::kRoofline);
}

TEST(CostModel, CostSourcesHaveTheNamesOfTheDocumentation) {
  EXPECT_EQ(to_string(CostSource::kMeasured), "measured");
  EXPECT_EQ(to_string(CostSource::kInterpolated), "interpolated");
  EXPECT_EQ(to_string(CostSource::kRoofline), "roofline");
  EXPECT_EQ(to_string(CostSource::kGuess), "guess");
}

TEST(CostModel, ShippedProfilesGuessNoClassThatTheyCouldKnow) {
  for (const std::string& name : device_profile_names()) {
    const DeviceProfile profile = load_device_profile(name);
    for (const OpKind& kind : op_kinds()) {
      if (kind.op_class != OpClass::kOther) {
        Op op = conv2d(1000, 1000, 1000);
        op.kind = kind.name;
        EXPECT_NE(op_cost(profile, op).source, CostSource::kGuess) << name << ", " << kind.name;
      }
    }
  }
}

TEST(CostModel, InAStepOpsTakeTheFactorOfTheirPrecision) {
  DeviceProfile profile = round_numbers();
  profile.float16_flops_per_us = 8000;
  profile.step_factors = {1.5, 1, 2};
  Op op = conv2d(4000, 60, 40);
  EXPECT_DOUBLE_EQ(op_cost(profile, op).us, 1.5 * 11);
  op.outputs = {{.type = DataType::kFloat16}};
  EXPECT_DOUBLE_EQ(op_cost(profile, op).us, 2 * (3 + 4));
  op.kind = "relu";  // multiplies nothing; by the fallback: 10 + max(4000 / 100, 100 / 20)
  EXPECT_DOUBLE_EQ(op_cost(profile, op).us, 1.5 * (10 + 40));
  op.measured = {{.device_class = "gpu-round", .cost_us = 42.5}};  // in a step
  EXPECT_DOUBLE_EQ(op_cost(profile, op).us, 42.5);
}

TEST(CostModel, ImagesOfAnotherLayoutAreTransposed) {
  DeviceProfile profile = round_numbers();
  profile.float16_flops_per_us = 8000;
  profile.tf32_flops_per_us = 4000;
  Op op = conv2d(0, 0, 0);
  op.shape = {2, 3, 10, 10, 4, 3, 3, 1, 1, 1, 5, 5};
  op.outputs = {{.type = DataType::kFloat32}};
  const auto transposes_us = [&](const char* layout, Precision precision) {
    op.attributes = ConvAttributes{.layout = layout};
    return transpose_us(profile, op, precision);
  };
  // Read and written at 100 bytes/us: 2 (3 * 100 + 4 * 25) numbers of 4 bytes.
  const double us = 2 * 2 * 400 * 4 / 100.0;
  EXPECT_EQ(transposes_us("nchw", Precision::kFloat32), 0);
  EXPECT_DOUBLE_EQ(transposes_us("nhwc", Precision::kFloat32), us);
  EXPECT_EQ(transposes_us("nchw", Precision::kTf32), 0);
  EXPECT_EQ(transposes_us("nhwc", Precision::kTf32), 0);
  op.outputs[0].type = DataType::kFloat16;
  EXPECT_DOUBLE_EQ(transposes_us("nchw", Precision::kFloat16), us / 2);
  EXPECT_EQ(transposes_us("nhwc", Precision::kFloat16), 0);
  EXPECT_EQ(transposes_us("", Precision::kFloat16), 0);
  profile.stream_bytes_per_us = 80;
  EXPECT_DOUBLE_EQ(transposes_us("nchw", Precision::kFloat16), us / 2 * 100 / 80);
  // In addition to the op: 3 us, as it has no work.
  profile.step_factors = {1, 1, 2};
  op.attributes = ConvAttributes{.layout = "nchw"};
  EXPECT_DOUBLE_EQ(op_cost(profile, op).us, 2 * (3 + us / 2 * 100 / 80));
}

}  // namespace
}  // namespace emplace::cost_model_test
