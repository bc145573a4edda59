// Samples are drawn from rooflines that the test knows, so that each fit has a right answer. The
// device does 1e8 FLOP/us and 1e6 bytes/us.

#include <emplace/base/random.hpp>
#include <emplace/calibrate/fit.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace emplace::calibrate::fit_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kPeak = 1e8;
constexpr double kBandwidth = 1e6;

const DeviceFacts kFacts = {.name = "gpu:0",
                            .device_class = "gpu-test",
                            .product = "Test GPU",
                            .peak_flops_per_us = kPeak,
                            .memory_bytes_per_us = kBandwidth,
                            .memory_bytes = 1 << 30,
                            .software = "driver 1.2"};
double truth_us(const Roofline& truth, double flops, double bytes) {
  return truth.fixed_us + std::max(flops / (truth.compute_efficiency * kPeak),
                                   bytes / (truth.memory_efficiency * kBandwidth));
}

OpSample sample_of(std::string kind, std::vector<std::int64_t> shape, std::int64_t flops,
                   std::int64_t bytes, double us) {
  OpSample sample;
  sample.site.op = {.kind = std::move(kind),
                    .shape = std::move(shape),
                    .flops = flops,
                    .bytes_read = bytes / 2,
                    .bytes_written = bytes - bytes / 2};
  sample.library = "cudnn";
  sample.time = {.median_us = us, .relative_deviation = 0.01, .runs = 20};
  return sample;
}

// Says how samples are drawn: log-uniformly, FLOPs per byte from least to most.
struct Draw {
  int count = 60;
  double least_intensity = 1;
  double most_intensity = 10000;
  double noise = 0;   // standard deviation over the time
  int odd_every = 0;  // each of so many takes five times as long
};

std::vector<OpSample> draw(const std::string& kind, const Roofline& truth, const Draw& how) {
  RandomStream random(stable_hash(kind));
  const auto between = [&](double least, double most) {
    return least * std::pow(most / least, random.uniform());
  };
  std::vector<OpSample> samples;
  for (int at = 0; at < how.count; ++at) {
    const auto bytes = static_cast<std::int64_t>(between(1e5, 1e9));
    const auto flops = static_cast<std::int64_t>(static_cast<double>(bytes) *
                                                 between(how.least_intensity, how.most_intensity));
    double normal = -6;  // twelve uniform numbers: of variance 1
    for (int i = 0; i < 12; ++i) {
      normal += random.uniform();
    }
    double us = truth_us(truth, static_cast<double>(flops), static_cast<double>(bytes)) *
                (1 + how.noise * normal);
    us *= how.odd_every > 0 && at % how.odd_every == 0 ? 5 : 1;
    samples.push_back(sample_of(kind, {at}, flops, bytes, us));
  }
  return samples;
}

DeviceProfile fit(const std::vector<OpSample>& samples) {
  return fit_device_profile(kFacts, samples, "2026-11-20", 2.5);
}

const Roofline& roofline(const DeviceProfile& profile, OpClass op_class) {
  const auto& found = profile.rooflines[static_cast<std::size_t>(op_class)];
  EXPECT_TRUE(found.has_value()) << to_string(op_class);
  return found ? *found : profile.fallback;
}

Calibration calibration_of(const DeviceProfile& profile) {
  EXPECT_TRUE(profile.calibration.has_value());
  return profile.calibration.value_or(Calibration());
}

ClassCalibration calibration(const DeviceProfile& profile, OpClass op_class) {
  const auto found = calibration_of(profile).classes[static_cast<std::size_t>(op_class)];
  EXPECT_TRUE(found.has_value()) << to_string(op_class);
  return found.value_or(ClassCalibration());
}

void expect_near(const Roofline& fitted, const Roofline& truth, double part) {
  EXPECT_NEAR(fitted.fixed_us, truth.fixed_us, part * truth.fixed_us);
  EXPECT_NEAR(fitted.compute_efficiency, truth.compute_efficiency, part * truth.compute_efficiency);
  EXPECT_NEAR(fitted.memory_efficiency, truth.memory_efficiency, part * truth.memory_efficiency);
}

constexpr Roofline kTruth = {.fixed_us = 4, .compute_efficiency = 0.6, .memory_efficiency = 0.8};

TEST(Fit, FindsTheRooflineOfSamplesWithoutNoise) {
  const DeviceProfile profile = fit(draw("conv2d", kTruth, {}));
  expect_near(roofline(profile, OpClass::kConvolution), kTruth, 1e-3);
  EXPECT_LT(roofline(profile, OpClass::kConvolution).relative_deviation, 1e-3);
}

TEST(Fit, FindsTheRooflineThroughNoise) {
  const DeviceProfile profile = fit(draw("conv2d", kTruth, {.count = 200, .noise = 0.05}));
  expect_near(roofline(profile, OpClass::kConvolution), kTruth, 0.05);
}

TEST(Fit, IsNotMovedFarByOddSamples) {
  const DeviceProfile profile =
      fit(draw("conv2d", kTruth, {.count = 200, .noise = 0.03, .odd_every = 10}));
  expect_near(roofline(profile, OpClass::kConvolution), kTruth, 0.05);
}

TEST(Fit, SpreadIsThatOfTheNoise) {
  const DeviceProfile profile = fit(draw("conv2d", kTruth, {.count = 400, .noise = 0.08}));
  EXPECT_NEAR(roofline(profile, OpClass::kConvolution).relative_deviation, 0.08, 0.015);
}

// The mean absolute value of a normal error is sqrt(2 / pi) of its standard deviation.
TEST(Fit, LeaveOneOutErrorIsThatOfTheNoise) {
  const DeviceProfile profile = fit(draw("conv2d", kTruth, {.count = 400, .noise = 0.08}));
  const PredictionError& error = calibration(profile, OpClass::kConvolution).roofline;
  EXPECT_EQ(error.predicted, 400);
  EXPECT_NEAR(error.mean, 0.08 * 0.7979, 0.01);
  EXPECT_GT(error.max, 0.16);
  EXPECT_LT(error.max, 0.5);
}

// FLOPs per byte up to 10, where compute counts from 75 on.
TEST(Fit, ClassThatOnlyMemoryBoundsGetsTheComputeRateItHasShown) {
  const Draw how = {.least_intensity = 1, .most_intensity = 10};
  const std::vector<OpSample> samples = draw("relu", kTruth, how);
  const DeviceProfile profile = fit(samples);
  const Roofline& fitted = roofline(profile, OpClass::kElementwise);
  EXPECT_NEAR(fitted.fixed_us, 4, 0.01);
  EXPECT_NEAR(fitted.memory_efficiency, 0.8, 1e-3);
  double most = 0;
  for (const OpSample& sample : samples) {
    most = std::max(
        most, static_cast<double>(sample.site.op.flops) / (sample.time.median_us - 4) / kPeak);
  }
  EXPECT_NEAR(fitted.compute_efficiency, most, 0.01 * most);
}

TEST(Fit, ClassThatOnlyComputeBoundsGetsTheBandwidthItHasShown) {
  const Draw how = {.least_intensity = 1000, .most_intensity = 10000};
  const DeviceProfile profile = fit(draw("matmul", kTruth, how));
  const Roofline& fitted = roofline(profile, OpClass::kMatmul);
  EXPECT_NEAR(fitted.fixed_us, 4, 0.01);
  EXPECT_NEAR(fitted.compute_efficiency, 0.6, 1e-3);
  EXPECT_LT(fitted.memory_efficiency, 0.8);
  EXPECT_GT(fitted.memory_efficiency, 0.6e8 / 1e6 / 10000);
}

TEST(Fit, OpsThatComputeNothingNeedNoComputeRate) {
  std::vector<OpSample> samples;
  for (std::int64_t at = 1; at <= 10; ++at) {
    const std::int64_t bytes = at * at * 100'000;
    samples.push_back(
        sample_of("concat", {2, bytes}, 0, bytes, 3 + static_cast<double>(bytes) / 5e5));
  }
  const DeviceProfile profile = fit(samples);
  EXPECT_NEAR(roofline(profile, OpClass::kDataMovement).fixed_us, 3, 1e-3);
  EXPECT_NEAR(roofline(profile, OpClass::kDataMovement).memory_efficiency, 0.5, 1e-4);
}

TEST(Fit, ClassesDoNotMix) {
  const Roofline slow = {.fixed_us = 9, .compute_efficiency = 0.1, .memory_efficiency = 0.3};
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  const std::vector<OpSample> others = draw("matmul", slow, {});
  samples.insert(samples.end(), others.begin(), others.end());
  const DeviceProfile profile = fit(samples);
  expect_near(roofline(profile, OpClass::kConvolution), kTruth, 1e-3);
  expect_near(roofline(profile, OpClass::kMatmul), slow, 1e-3);
  EXPECT_EQ(calibration_of(profile).all.measurements, 120);
  EXPECT_GT(calibration_of(profile).all.roofline.mean, 0.1);
}

TEST(Fit, ClassOfFewShapesGetsTheFallbackAndSaysSo) {
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  const std::vector<OpSample> few = draw("max_pool", kTruth, {.count = 4});
  samples.insert(samples.end(), few.begin(), few.end());
  const DeviceProfile profile = fit(samples);
  EXPECT_FALSE(profile.rooflines[static_cast<std::size_t>(OpClass::kPooling)].has_value());
  EXPECT_EQ(calibration(profile, OpClass::kPooling).measurements, 4);
  EXPECT_EQ(calibration(profile, OpClass::kPooling).roofline.predicted, 0);
  EXPECT_THAT(profile.provenance.notes, HasSubstr("pooling (4 measurements)"));
  expect_near(profile.fallback, kTruth, 0.01);
}

TEST(Fit, OfNoSamplesIsAGuess) {
  const DeviceProfile profile = fit({});
  EXPECT_EQ(profile.fallback.relative_deviation, kMaxRelativeDeviation);
  EXPECT_THAT(profile.provenance.notes, HasSubstr("the fallback is a guess"));
}

// As of plain loops on a slow machine; a profile may have a second at most.
TEST(Fit, FixedTimeIsOneThatAProfileMayHave) {
  const Roofline truth = {.fixed_us = 3e6, .compute_efficiency = 0.5, .memory_efficiency = 0.5};
  const DeviceProfile profile = fit(draw("conv2d", truth, {}));
  EXPECT_NEAR(roofline(profile, OpClass::kConvolution).fixed_us, 1e6, 1e-3);
  EXPECT_EQ(read_device_profile(write_device_profile_json(profile), "fit"), profile);
}

// 2e9 FLOPs in 10 us are twice the peak of 1e8.
TEST(Fit, PeakIsNoLessThanWhatASampleDid) {
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  EXPECT_THAT(fit(samples).provenance.notes, Not(HasSubstr("raised")));
  samples.push_back(sample_of("conv2d", {3, 224, 224}, 2'000'000'000, 1000, 10));
  samples.push_back(sample_of("relu", {7}, 1000, 12'000'000, 10));
  const DeviceProfile profile = fit(samples);
  EXPECT_DOUBLE_EQ(profile.peak_flops_per_us, 2e8);
  EXPECT_DOUBLE_EQ(profile.memory_bytes_per_us, 1.2e6);
  EXPECT_THAT(profile.provenance.notes, HasSubstr("conv2d [3, 224, 224] float32"));
  EXPECT_THAT(profile.provenance.notes, HasSubstr("relu [7] float32"));
  // The same times, of twice the peak.
  EXPECT_NEAR(roofline(profile, OpClass::kConvolution).compute_efficiency, 0.3, 0.01);
}

TEST(Fit, EachPrecisionHasItsPeak) {
  DeviceFacts facts = kFacts;
  facts.tf32_flops_per_us = 8 * kPeak;
  facts.float16_flops_per_us = 16 * kPeak;
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  samples.push_back(sample_of("conv2d", {3, 224, 224}, 10'000'000'000, 1000, 10));
  samples.push_back(sample_of("relu", {7}, 2'000'000'000, 1000, 10));
  const DeviceProfile profile = fit_device_profile(facts, samples, "2026-11-20", 2.5);
  EXPECT_DOUBLE_EQ(profile.peak_flops_per_us, 2e8);  // of the relu
  EXPECT_DOUBLE_EQ(profile.tf32_flops_per_us, 1e9);  // of the convolution
  EXPECT_DOUBLE_EQ(profile.float16_flops_per_us, 16 * kPeak);
  EXPECT_THAT(profile.provenance.notes, HasSubstr("tf32 FLOP/s is raised"));
}

TEST(Fit, CostsOfMeasuredOpsAreWhatWasMeasured) {
  const std::vector<OpSample> samples = draw("conv2d", kTruth, {.noise = 0.2});
  const DeviceProfile profile = fit(samples);
  for (const OpSample& sample : samples) {
    const Cost cost = op_cost(profile, sample.site.op);
    EXPECT_EQ(cost.source, CostSource::kMeasured);
    EXPECT_EQ(cost.us, sample.time.median_us);
    EXPECT_EQ(cost.relative_deviation, 0.01);
  }
}

// Sizes of a network's elementwise ops: each at most twice the one before.
TEST(Fit, InterpolationPredictsShapesLeftOut) {
  std::vector<OpSample> samples;
  for (std::int64_t n = 1024; n <= 1 << 28; n = n * 3 / 2) {
    const double us = truth_us(kTruth, static_cast<double>(n), 8 * static_cast<double>(n));
    samples.push_back(sample_of("relu", {n}, n, 8 * n, us));
  }
  const DeviceProfile profile = fit(samples);
  const PredictionError& error = calibration(profile, OpClass::kElementwise).interpolated;
  // Outside the others are the smallest and the largest.
  EXPECT_EQ(error.predicted, static_cast<std::int32_t>(samples.size()) - 2);
  EXPECT_LT(error.mean, 0.02);
  EXPECT_LT(error.max, 0.1);
}

TEST(Fit, TellsWhatWasRejected) {
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  samples[0].time.throttled = 3;
  samples[1].time.lost = 2;
  samples[2].time.runs = 0;
  samples[2].time.median_us = 0;
  // Two attempts of 20 runs; the better one was kept but for an outlier.
  samples[3].time.below_clock = true;
  samples[3].time.throttled = 40;
  samples[3].time.runs = 19;
  samples[3].time.interrupted = 1;
  const DeviceProfile profile = fit(samples);
  EXPECT_EQ(calibration_of(profile).runs_throttled, 3 + 20);
  EXPECT_EQ(calibration_of(profile).runs_lost, 2);
  EXPECT_EQ(profile.measured.all().size(), 59);
  EXPECT_THAT(profile.provenance.notes, HasSubstr("No run was kept of 1 op."));
}

TEST(Fit, DoesNotDependOnTheOrderOfSamples) {
  std::vector<OpSample> samples = draw("conv2d", kTruth, {.noise = 0.1});
  const DeviceProfile profile = fit(samples);
  RandomStream random(1);
  random.shuffle(std::span(samples));
  EXPECT_EQ(fit(samples), profile);
}

TEST(Fit, CarriesWhatIsKnownOfDeviceAndRun) {
  std::vector<OpSample> samples = draw("conv2d", kTruth, {});
  samples.at(0).time.mhz = 1980;
  samples.at(1).time.mhz = 1755;
  const DeviceProfile profile = fit(samples);
  EXPECT_EQ(profile.name, "gpu-test-measured");
  EXPECT_EQ(profile.summary, "Test GPU, measured");
  EXPECT_EQ(profile.device_class, "gpu-test");
  EXPECT_EQ(profile.memory_bytes, 1 << 30);
  EXPECT_EQ(profile.launch_us, 2.5);
  EXPECT_EQ(calibration_of(profile).product, "Test GPU");
  EXPECT_EQ(calibration_of(profile).software, "driver 1.2");
  EXPECT_EQ(calibration_of(profile).clocks, "multiprocessors 1755 to 1980 MHz, 2 ops");
  EXPECT_EQ(calibration_of(profile).date, "2026-11-20");
  EXPECT_EQ(profile.provenance.kind, "measured");
  EXPECT_EQ(profile.provenance.source, "emplace calibrate");
  EXPECT_EQ(read_device_profile(write_device_profile_json(profile), "fit"), profile);
}

}  // namespace
}  // namespace emplace::calibrate::fit_test
