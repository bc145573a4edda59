#include "profiles/calibrate/src/cuda/cuda_launcher.hpp"

#include <gtest/gtest.h>

namespace emplace::calibrate::cuda_launcher_test {
namespace {

struct TwoSums {
  float first, second;
};

TEST(CudaLauncher, CutsFewLongSumsIntoPiecesThatFillTheGpu) {
  // 64 sums: 2048 blocks are 32 for each.
  EXPECT_EQ(CudaLauncher::reduce_bytes<float>(64, 1'000'000), 64 * 32 * 4);
  EXPECT_EQ(CudaLauncher::reduce_bytes<TwoSums>(64, 1'000'000), 64 * 32 * 8);
  // One: a piece for each 4096 terms, up to 256.
  EXPECT_EQ(CudaLauncher::reduce_bytes<float>(1, 8193), 3 * 4);
  EXPECT_EQ(CudaLauncher::reduce_bytes<float>(1, 1'000'000'000), 256 * 4);
}

TEST(CudaLauncher, KeepsManyOrShortSumsWhole) {
  EXPECT_EQ(CudaLauncher::reduce_bytes<float>(2048, 1'000'000), 0);
  EXPECT_EQ(CudaLauncher::reduce_bytes<float>(1, 4096), 0);
  EXPECT_EQ(CudaLauncher::reduce_columns_bytes<float>(64, 10), 0);
  EXPECT_EQ(CudaLauncher::reduce_columns_bytes<float>(1'000'000, 2048 * 32), 0);
}

TEST(CudaLauncher, CutsLongColumnsByBlocksOf32) {
  // 1000 columns are 32 blocks: 64 pieces each; 640 rows give no more than 10.
  EXPECT_EQ(CudaLauncher::reduce_columns_bytes<float>(100'000, 1000), 64 * 1000 * 4);
  EXPECT_EQ(CudaLauncher::reduce_columns_bytes<float>(640, 1000), 10 * 1000 * 4);
}

}  // namespace
}  // namespace emplace::calibrate::cuda_launcher_test
