// Numbers are large, so that the 1 which the rule adds to FLOPs and bytes changes nothing to speak
// of, and simple, so that each estimate can be worked out by hand.

#include "support/properties.hpp"

#include <emplace/base/check.hpp>
#include <emplace/profiles/measurement_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace emplace::measurement_table_test {
namespace {

constexpr double kRounding = 1e-4;  // relative, by the 1 that is added

OpMeasurement measured(std::int64_t flops, std::int64_t bytes, double us,
                       double relative_deviation = 0) {
  return {.key = {.kind = "matmul", .shape = {flops, bytes}},
          .us = us,
          .relative_deviation = relative_deviation,
          .runs = 20,
          .library = "cublas",
          .flops = flops,
          .bytes = bytes};
}

// 10 us for an op, and `us` for one that does four times as much.
MeasurementTable four_times_the_work_in(double us) {
  return MeasurementTable({measured(1'000'000, 100'000, 10), measured(4'000'000, 400'000, us)});
}

// Nothing is expected unless a test says so, so estimates are the least that measurements allow.
std::optional<TimeEstimate> estimate(const MeasurementTable& table, double flops, double bytes,
                                     const TimeEstimate& expected = {}) {
  return table.estimate("matmul", DataType::kFloat32, flops, bytes, expected);
}

double estimated_us(const MeasurementTable& table, double flops, double bytes,
                    double expected_us = 0) {
  const auto found = estimate(table, flops, bytes, {.us = expected_us});
  EXPECT_TRUE(found.has_value()) << flops << " FLOPs, " << bytes << " bytes";
  return found ? found->us : 0;
}

Op op_of(std::string kind, std::vector<std::int64_t> shape, DataType type) {
  return {.kind = std::move(kind), .shape = std::move(shape), .outputs = {{.type = type}}};
}

TEST(MeasurementTable, FindsAnOpByKindShapeAndType) {
  std::vector<OpMeasurement> measurements;
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat32}) {
    for (const char* kind : {"relu", "add", "conv2d"}) {
      for (std::int64_t n = 5; n > 0; --n) {
        measurements.push_back({.key = {.kind = kind, .shape = {n, 2}, .type = type},
                                .us = static_cast<double>(measurements.size() + 1)});
      }
    }
  }
  const MeasurementTable table(measurements);
  EXPECT_EQ(table.all().size(), 30);
  for (const OpMeasurement& measurement : measurements) {
    const OpKey& key = measurement.key;
    const OpMeasurement* found = table.find(op_of(key.kind, key.shape, key.type));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->us, measurement.us);
  }
  EXPECT_EQ(table.find(op_of("relu", {6, 2}, DataType::kFloat32)), nullptr);
  EXPECT_EQ(table.find(op_of("relu", {5}, DataType::kFloat32)), nullptr);
  EXPECT_EQ(table.find(op_of("relu", {5, 2}, DataType::kFloat16)), nullptr);
  EXPECT_EQ(table.find(op_of("tanh", {5, 2}, DataType::kFloat32)), nullptr);
  EXPECT_EQ(MeasurementTable().find(op_of("relu", {5, 2}, DataType::kFloat32)), nullptr);
}

// A product of a transposed side was measured for one of two sizes.
TEST(MeasurementTable, PrefersTheSameAttributes) {
  const auto product = [](std::int64_t rows, bool transposed) {
    Op op = op_of("matmul", {rows, 2, 3}, DataType::kFloat32);
    op.attributes = GemmAttributes{.trans_b = transposed};
    return op;
  };
  std::vector<OpMeasurement> measurements;
  for (const auto& [rows, transposed] :
       {std::pair(4, false), std::pair(4, true), std::pair(5, false)}) {
    measurements.push_back(
        {.key = key_of(product(rows, transposed)), .us = 10.0 * rows + (transposed ? 1 : 0)});
  }
  const MeasurementTable table(measurements);
  EXPECT_EQ(table.all()[1].key.attributes, R"({"transB": true})");
  EXPECT_EQ(to_string(table.all()[1].key), R"(matmul [4, 2, 3] float32 {"transB": true})");
  EXPECT_EQ(to_string(table.all()[0].key), "matmul [4, 2, 3] float32");
  EXPECT_EQ(table.find(product(4, false))->us, 40);
  EXPECT_EQ(table.find(product(4, true))->us, 41);
  EXPECT_EQ(table.find(product(5, true))->us, 50);
  EXPECT_EQ(table.find(product(6, true)), nullptr);
}

TEST(MeasurementTable, RefusesTwoMeasurementsOfOneOp) {
  EXPECT_THROW(MeasurementTable({measured(1, 2, 3), measured(1, 2, 4)}), InternalError);
}

// Four times the work in four times the time: twice the work takes twice the time.
TEST(MeasurementTable, BetweenTimesThatGrowWithTheWorkLiesTheLine) {
  const MeasurementTable table = four_times_the_work_in(40);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5), 20, 20 * kRounding);
  EXPECT_NEAR(estimated_us(table, 3e6, 3e5), 30, 30 * kRounding);
  EXPECT_NEAR(estimate(table, 2e6, 2e5)->relative_deviation, 0, kRounding);
}

TEST(MeasurementTable, BetweenEqualTimesNothingChanges) {
  const MeasurementTable table = four_times_the_work_in(10);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5), 10, 10 * kRounding);
}

// Four times the work in twice the time: by the laws twice the work takes 10 to 20 us.
TEST(MeasurementTable, WhereMeasurementsLeaveRoomWhatIsExpectedDecides) {
  const MeasurementTable table = four_times_the_work_in(20);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5, 13), 13, 1e-9);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5, 5), 10, 10 * kRounding);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5, 1e9), 20, 20 * kRounding);
  // Anywhere within 10 us has a standard deviation of 10 / sqrt(12).
  const double open = 10 / std::sqrt(12.0) / 16;
  EXPECT_NEAR(estimate(table, 2e6, 2e5, {.us = 16})->relative_deviation, open, kRounding);
  EXPECT_NEAR(estimate(table, 2e6, 2e5, {.us = 16, .relative_deviation = 0.05})->relative_deviation,
              0.05, kRounding);
  EXPECT_NEAR(estimate(table, 2e6, 2e5, {.us = 16, .relative_deviation = 0.9})->relative_deviation,
              open, kRounding);
}

TEST(MeasurementTable, WhereMeasurementsLeaveNoneWhatIsExpectedCountsNothing) {
  const MeasurementTable table = four_times_the_work_in(40);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5, 1e-3), 20, 20 * kRounding);
  EXPECT_NEAR(estimated_us(table, 2e6, 2e5, 1e9), 20, 20 * kRounding);
}

TEST(MeasurementTable, EstimateAtAMeasurementIsIt) {
  const MeasurementTable table({measured(1'000'000, 100'000, 10), measured(4'000'000, 400'000, 20),
                                measured(8'000'000, 900'000, 40)});
  EXPECT_NEAR(estimated_us(table, 4e6, 4e5), 20, 20 * kRounding);
  EXPECT_NEAR(estimated_us(table, 1e6, 1e5), 10, 10 * kRounding);
}

TEST(MeasurementTable, SaysNothingOutsideItsRange) {
  const MeasurementTable table = four_times_the_work_in(40);
  EXPECT_FALSE(estimate(table, 0.9e6, 0.9e5).has_value());
  EXPECT_FALSE(estimate(table, 4.2e6, 4.2e5).has_value());
  EXPECT_FALSE(estimate(table, 2e6, 3e5).has_value());  // beside the line
  EXPECT_FALSE(table.estimate("matmul", DataType::kBfloat16, 2e6, 2e5, {}).has_value());
  EXPECT_FALSE(table.estimate("relu", DataType::kFloat32, 2e6, 2e5, {}).has_value());
  EXPECT_FALSE(estimate(MeasurementTable(), 2e6, 2e5).has_value());
}

// The hull in the plane of logarithms is a triangle, half of the box.
TEST(MeasurementTable, SaysNothingInACornerOfTheBoxThatTheHullLeavesOut) {
  const MeasurementTable table({measured(1'000'000, 100'000, 10),
                                measured(100'000'000, 100'000, 90),
                                measured(100'000'000, 10'000'000, 100)});
  EXPECT_TRUE(estimate(table, 5e7, 3e5).has_value());
  EXPECT_FALSE(estimate(table, 2e6, 5e6).has_value());
}

TEST(MeasurementTable, AHundredthOutsideIsInside) {
  const MeasurementTable table = four_times_the_work_in(40);
  EXPECT_TRUE(estimate(table, 4.02e6, 4.0e5).has_value());
  EXPECT_TRUE(estimate(table, 2e6, 2.02e5).has_value());
}

TEST(MeasurementTable, OpsWithoutFlopsAreEstimatedByTheirBytes) {
  const MeasurementTable table({measured(0, 1'000'000, 10), measured(0, 4'000'000, 40)});
  EXPECT_NEAR(estimated_us(table, 0, 2e6), 20, 20 * kRounding);
  EXPECT_FALSE(estimate(table, 1e6, 2e6).has_value());
}

TEST(MeasurementTable, OneMeasurementTellsOfOpsThatDoTheSame) {
  const MeasurementTable table({measured(1'000'000, 100'000, 10, 0.02)});
  EXPECT_NEAR(estimated_us(table, 1e6, 1e5), 10, 10 * kRounding);
  EXPECT_DOUBLE_EQ(estimate(table, 1e6, 1e5)->relative_deviation, 0.02);
  EXPECT_FALSE(estimate(table, 1.1e6, 1e5).has_value());
}

// Powers of two that take as many us as they have million FLOPs; one takes ten times as long. It
// moves estimates by no more than the way to the next measurement.
TEST(MeasurementTable, OneOddMeasurementMovesEstimatesLittle) {
  std::vector<OpMeasurement> measurements;
  for (std::int64_t n = 1; n <= 512; n *= 2) {
    measurements.push_back(
        measured(n * 1'000'000, n * 100'000, static_cast<double>(n) * (n == 16 ? 10 : 1)));
  }
  const MeasurementTable table(measurements);
  for (double n = 3; n < 512; n *= 2) {
    EXPECT_GT(estimated_us(table, n * 1e6, n * 1e5, 0), 0.99 * n);
    EXPECT_LT(estimated_us(table, n * 1e6, n * 1e5, 1e9), 2 * n);
  }
  EXPECT_GT(estimate(table, 24e6, 24e5)->relative_deviation,
            estimate(table, 384e6, 384e5)->relative_deviation);
}

TEST(MeasurementTable, DeviationOfMeasurementsIsThatOfEstimatesBetweenThem) {
  const MeasurementTable table(
      {measured(1'000'000, 100'000, 10, 0.03), measured(4'000'000, 400'000, 40, 0.04)});
  EXPECT_NEAR(estimate(table, 2e6, 2e5)->relative_deviation, 0.04, kRounding);
}

double log_uniform(double least, double most) {
  return least * std::pow(most / least, static_cast<double>(test::below(10000)) / 10000);
}

// Times at random, which obey no law at all.
MeasurementTable draw_table() {
  std::vector<OpMeasurement> measurements;
  for (auto count = static_cast<int>(test::below(12)) + 3; count > 0; --count) {
    const auto flops = static_cast<std::int64_t>(log_uniform(1e3, 1e6));
    const auto bytes = static_cast<std::int64_t>(log_uniform(1e3, 1e6));
    measurements.push_back(measured(flops, bytes, log_uniform(1, 1000)));
    measurements.back().key.shape.push_back(count);
  }
  return MeasurementTable(std::move(measurements));
}

TEST(MeasurementTable, MoreWorkNeverTakesLess) {
  test::expect_always([] {
    const MeasurementTable table = draw_table();
    const double flops = log_uniform(1e3, 1e6);
    const double bytes = log_uniform(1e3, 1e6);
    const double ratio = log_uniform(1, 10);
    const auto at = [&table, fixed_us = log_uniform(1, 100)](double f, double b) {
      return estimate(table, f, b, {.us = fixed_us + std::max(f, b) / 1e3});
    };
    const auto less = at(flops, bytes);
    for (const auto& more : {at(flops * ratio, bytes), at(flops, bytes * ratio)}) {
      if (less && more) {
        RC_ASSERT(less->us <= more->us);
        RC_ASSERT(more->us <= less->us * ratio * (1 + 1e-9));
      }
    }
  });
}

TEST(MeasurementTable, EstimatesLieBetweenTheLeastAndTheMostThatWasMeasured) {
  test::expect_always([] {
    const MeasurementTable table = draw_table();
    const double flops = log_uniform(1e3, 1e6);
    const double bytes = log_uniform(1e3, 1e6);
    if (const auto found = estimate(table, flops, bytes, {.us = log_uniform(1, 1000)})) {
      const auto [least, most] = std::ranges::minmax_element(table.all(), {}, &OpMeasurement::us);
      RC_ASSERT(found->us >= least->us * 0.98);  // a hundredth outside the hull is inside
      RC_ASSERT(found->us <= most->us * 1.02);
      RC_ASSERT(found->relative_deviation >= 0 &&
                found->relative_deviation <= kMaxRelativeDeviation);
    }
  });
}

// Of a roofline, which obeys both laws, no estimate is farther off than its relative deviation
// allows: that of a time anywhere in an interval is its width over sqrt(12).
TEST(MeasurementTable, EstimatesOfARooflineAreAsGoodAsTheirDeviationSays) {
  test::expect_always([] {
    const double fixed_us = log_uniform(1, 100);
    const auto roofline = [fixed_us](double flops, double bytes) {
      return fixed_us + std::max(flops / 1e3, bytes / 1e2);
    };
    std::vector<OpMeasurement> measurements;
    for (std::int64_t count = 0; count < 30; ++count) {
      const auto flops = static_cast<std::int64_t>(log_uniform(1e5, 1e8));
      const auto bytes = static_cast<std::int64_t>(log_uniform(1e5, 1e8));
      measurements.push_back(
          measured(flops, bytes, roofline(static_cast<double>(flops), static_cast<double>(bytes))));
      measurements.back().key.shape.push_back(count);
    }
    const MeasurementTable table(std::move(measurements));
    const double flops = log_uniform(1e5, 1e8);
    const double bytes = log_uniform(1e5, 1e8);
    if (const auto found = estimate(table, flops, bytes, {.us = log_uniform(1, 1e6)})) {
      const double off = std::abs(found->us - roofline(flops, bytes));
      RC_ASSERT(found->relative_deviation == kMaxRelativeDeviation ||
                off <= std::sqrt(12.0) * found->relative_deviation * found->us +
                           kRounding * found->us);
    }
  });
}

}  // namespace
}  // namespace emplace::measurement_table_test
