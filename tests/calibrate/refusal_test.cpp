#include "profiles/calibrate/src/cupti/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::calibrate::refusal_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Codes as in cupti_result.h.
TEST(Refusal, NamesCallCodeAndCure) {
  const auto reason = [](std::uint32_t code) {
    return explain_refusal("cuptiActivityEnable of kernels", code, "CUPTI_ERROR_X");
  };
  EXPECT_EQ(reason(8), "cuptiActivityEnable of kernels: CUPTI_ERROR_X (8)");
  EXPECT_THAT(reason(35), StartsWith("cuptiActivityEnable of kernels: CUPTI_ERROR_X (35); "));
  EXPECT_THAT(reason(35), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(reason(39), HasSubstr("another profiler"));
  EXPECT_THAT(reason(36), HasSubstr("another profiler"));
  EXPECT_THAT(reason(26), HasSubstr("another tool"));
  EXPECT_THAT(reason(33), HasSubstr("virtual"));
  EXPECT_THAT(reason(40), HasSubstr("virtual"));
  EXPECT_THAT(reason(41), HasSubstr("confidential"));
  EXPECT_THAT(reason(43), HasSubstr("MIG"));
  EXPECT_THAT(reason(45), HasSubstr("Windows Subsystem"));
  EXPECT_THAT(reason(999), HasSubstr("driver"));
}

}  // namespace
}  // namespace emplace::calibrate::refusal_test
