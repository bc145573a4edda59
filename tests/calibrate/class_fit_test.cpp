// Which cases of a class have a roofline of their own, and what that is worth.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/class_fit.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
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

FittedClass fit(std::span<const ClassSample> samples) {
  auto fitted = fit_class(OpClass::kConvolution, samples, {});
  if (!fitted) {
    throw std::runtime_error("too few shapes");
  }
  return *std::move(fitted);
}

double sum(const std::vector<double>& errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

TEST(ClassFit, ErrorsOfOpsWithoutACaseAreThoseOfTheClassHeldOut) {
  const std::vector<ClassSample> samples = samples_with_two_cases();
  const FittedClass fitted = fit(samples);
  ASSERT_EQ(fitted.cases.size(), 2);
  double held_out = 0;
  double errors = 0;
  for (const FittedPart& own : fitted.cases) {
    held_out += sum(own.fit.held_out);
    errors += sum(own.fit.errors);
  }
  for (const std::size_t at : {samples.size() - 2, samples.size() - 1}) {
    held_out += fitted.whole.fit.held_out.at(at);
    errors += fitted.whole.fit.errors.at(at);
  }
  const std::vector<double> all_held_out = fitted.all(&FittedRoofline::held_out);
  EXPECT_EQ(all_held_out.size(), samples.size());
  EXPECT_DOUBLE_EQ(sum(all_held_out), held_out);
  EXPECT_DOUBLE_EQ(sum(fitted.all(&FittedRoofline::errors)), errors);
  EXPECT_GT(held_out, errors);
}

// Estimates are judged on each sample once, whether it has a case or not.
TEST(ClassFit, EachSampleIsOnePartsOwn) {
  const std::vector<ClassSample> samples = samples_with_two_cases();
  const FittedClass fitted = fit(samples);
  ASSERT_EQ(fitted.cases.size(), 2);
  std::vector<FittedPart> parts = fitted.cases;
  parts.push_back(fitted.whole);
  std::vector<std::pair<std::string, std::int64_t>> own;
  for (const FittedPart& part : parts) {
    EXPECT_EQ(part.fit.held_out_us.size(), part.samples.size());
    for (const std::size_t at : part.own) {
      own.emplace_back(part.samples.at(at).key.kind, part.samples.at(at).key.shape.front());
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> all;
  all.reserve(samples.size());
  for (const ClassSample& sample : samples) {
    all.emplace_back(sample.key.kind, sample.key.shape.front());
  }
  EXPECT_THAT(own, testing::UnorderedElementsAreArray(all));
}

}  // namespace
}  // namespace emplace::calibrate::class_fit_test
