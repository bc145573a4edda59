#include "profiles/calibrate/src/device_figures.hpp"

#include <gtest/gtest.h>

namespace emplace::calibrate::device_class_test {
namespace {

TEST(DeviceClass, IsTheProductInKebabCase) {
  EXPECT_EQ(device_class_of("gpu", "NVIDIA H200"), "gpu-nvidia-h200");
  EXPECT_EQ(device_class_of("gpu", "NVIDIA A100-SXM4-40GB"), "gpu-nvidia-a100-sxm4-40gb");
  EXPECT_EQ(device_class_of("cpu", "Intel(R) Xeon(R) CPU @ 2.00GHz"),
            "cpu-intel-r-xeon-r-cpu-2-00ghz");
}

}  // namespace
}  // namespace emplace::calibrate::device_class_test
