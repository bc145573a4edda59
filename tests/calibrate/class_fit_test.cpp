// Which cases of a class have a roofline of their own, and what that is worth.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/class_fit.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate::class_fit_test {
namespace {

// An op of `kind` that compute binds, on a device of 1e6 FLOPs and bytes in each microsecond.
ClassSample sample_of(const std::string& kind, std::int64_t number, double efficiency) {
  const double flops = 1e9 * static_cast<double>(number);
  return {.key = {.kind = kind, .shape = {number}},
          .sample = {.work = {.flops = flops, .bytes = 1e6},
                     .rates = {.flops_per_us = 1e6, .bytes_per_us = 1e6},
                     .us = flops / (efficiency * 1e6)}};
}

// Two kinds with enough shapes for a case, one with too few.
std::vector<ClassSample> samples_with_two_cases() {
  std::vector<ClassSample> samples;
  for (std::int64_t number = 1; number <= 20; ++number) {
    samples.push_back(sample_of("conv2d", number, 0.8));
    samples.push_back(sample_of("conv2d_backward_data", number, 0.4));
  }
  samples.push_back(sample_of("conv2d_backward_filter", 100, 0.1));
  samples.push_back(sample_of("conv2d_backward_filter", 200, 0.1));
  return samples;
}

FittedClass fit(std::span<const ClassSample> samples, const HeldOut& tell = {}) {
  auto fitted = fit_class(OpClass::kConvolution, samples, {}, tell);
  if (!fitted) {
    throw std::runtime_error("too few shapes");
  }
  return *std::move(fitted);
}

TEST(ClassFit, ErrorsOfOpsWithoutACaseAreThoseOfTheClassHeldOut) {
  const std::vector<ClassSample> samples = samples_with_two_cases();
  const FittedClass fitted = fit(samples);
  ASSERT_EQ(fitted.cases.size(), 2);
  Errors held_out;
  Errors errors;
  for (const FittedCase& own : fitted.cases) {
    held_out.add(own.fit.held_out);
    errors.add(own.fit.errors);
  }
  for (const std::size_t at : {samples.size() - 2, samples.size() - 1}) {
    held_out.add_one(fitted.whole.held_out, at);
    errors.add_one(fitted.whole.errors, at);
  }
  EXPECT_EQ(fitted.held_out.summary().predicted, static_cast<std::int32_t>(samples.size()));
  EXPECT_DOUBLE_EQ(fitted.held_out.sum(), held_out.sum());
  EXPECT_DOUBLE_EQ(fitted.errors.sum(), errors.sum());
  EXPECT_GT(fitted.held_out.sum(), fitted.errors.sum());
}

// Estimates are judged on each sample once, whether it has a case or not.
TEST(ClassFit, TellsOfEachSampleOnce) {
  const std::vector<ClassSample> samples = samples_with_two_cases();
  std::vector<std::pair<std::string, std::int64_t>> told;
  const FittedClass fitted = fit(samples, [&](auto, auto left_out, auto predicted_us) {
    EXPECT_EQ(left_out.size(), predicted_us.size());
    for (const ClassSample& sample : left_out) {
      told.emplace_back(sample.key.kind, sample.key.shape.front());
    }
  });
  ASSERT_EQ(fitted.cases.size(), 2);
  std::vector<std::pair<std::string, std::int64_t>> all;
  all.reserve(samples.size());
  for (const ClassSample& sample : samples) {
    all.emplace_back(sample.key.kind, sample.key.shape.front());
  }
  EXPECT_THAT(told, testing::UnorderedElementsAreArray(all));
}

}  // namespace
}  // namespace emplace::calibrate::class_fit_test
