#include <emplace/calibrate/cuda_device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::calibrate::cuda_device_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(CudaDevices, SayWhatIsMissingWhereThereIsNoGpu) {
  const CudaDevices found = cuda_devices({});
  if (!found.devices.empty()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  EXPECT_THAT(found.missing,
              AnyOf(HasSubstr("no NVIDIA driver was found (libcuda.so.1)"),
                    HasSubstr("no NVIDIA GPU was found"), HasSubstr("is missing: no lib"),
                    HasSubstr("the NVIDIA driver serves CUDA"),
                    HasSubstr("this program was built without the CUDA toolkit")));
  EXPECT_THAT(found.missing, AnyOf(HasSubstr("install"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

}  // namespace
}  // namespace emplace::calibrate::cuda_device_test
