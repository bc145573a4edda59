#include "profiles/calibrate/src/cuda/cuda_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace emplace::calibrate::cuda_memory_test {
namespace {

TEST(CudaMemory, PageableMemoryThatIsNotThereIsAFailureOfTheDevice) {
  constexpr std::int64_t kMoreThanAnAddressCanName = std::int64_t{1} << 60;
  EXPECT_THROW(pageable_memory(kMoreThanAnAddressCanName), DeviceFailure);
  EXPECT_EQ(pageable_memory(16)->bytes(), 16);
}

}  // namespace
}  // namespace emplace::calibrate::cuda_memory_test
