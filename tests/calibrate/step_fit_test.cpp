#include <emplace/calibrate/step_fit.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::calibrate::step_fit_test {
namespace {

TEST(StepFactors, AreFoundInStepsThatHaveThem) {
  std::vector<StepSample> samples;
  for (const StepFactors& alone_us :
       {StepFactors{10, 0, 0}, StepFactors{3, 20, 0}, StepFactors{5, 0, 9}, StepFactors{1, 2, 3}}) {
    samples.push_back({alone_us, 1.1 * alone_us[0] + 1.5 * alone_us[1] + 1.25 * alone_us[2]});
  }
  const StepFactors factors = fit_step_factors(samples);
  EXPECT_NEAR(factors[0], 1.1, 1e-9);
  EXPECT_NEAR(factors[1], 1.5, 1e-9);
  EXPECT_NEAR(factors[2], 1.25, 1e-9);
}

TEST(StepFactors, AreNotBelowOne) {
  const StepFactors factors = fit_step_factors(std::vector<StepSample>{{{10, 0, 0}, 8}});
  EXPECT_EQ(factors, (StepFactors{1, 1, 1}));
}

// Of two steps that take twice and half as long as a factor says, neither counts more: with errors
// in the linear part of Huber's loss, any factor between them is as good in logarithms, and one
// step more decides. Relative errors would take the least.
TEST(StepFactors, ErrOnBothSidesAlike) {
  const StepFactors factors =
      fit_step_factors(std::vector<StepSample>{{{1, 0, 0}, 4}, {{1, 0, 0}, 2}, {{1, 0, 0}, 8}});
  EXPECT_NEAR(factors[0], 4, 1e-6);
}

}  // namespace
}  // namespace emplace::calibrate::step_fit_test
