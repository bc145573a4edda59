// Peaks against the data sheets of the products, at the boost clocks that the sheets state.

#include "profiles/calibrate/src/device_figures.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace emplace::calibrate::peak_rates_test {
namespace {

struct Sheet {
  std::string product;
  GpuRates gpu;
  double float32_tflops, tf32_tflops, float16_tflops;  // dense; else that of float32
  double memory_gb_per_s;
};

std::ostream& operator<<(std::ostream& stream, const Sheet& sheet) {
  return stream << sheet.product;
}

class PeakRates : public testing::TestWithParam<Sheet> {};

TEST_P(PeakRates, AreThoseOfTheSheet) {
  const Sheet& sheet = GetParam();
  EXPECT_NEAR(peak_flops_per_us(sheet.gpu, Precision::kFloat32) / 1e6, sheet.float32_tflops,
              0.01 * sheet.float32_tflops);
  EXPECT_NEAR(peak_flops_per_us(sheet.gpu, Precision::kTf32) / 1e6, sheet.tf32_tflops,
              0.01 * sheet.tf32_tflops);
  EXPECT_NEAR(peak_flops_per_us(sheet.gpu, Precision::kFloat16) / 1e6, sheet.float16_tflops,
              0.015 * sheet.float16_tflops);
  EXPECT_NEAR(memory_bytes_per_us(sheet.gpu) / 1e3, sheet.memory_gb_per_s,
              0.025 * sheet.memory_gb_per_s);
}

INSTANTIATE_TEST_SUITE_P(
    Sheets, PeakRates,
    testing::Values(Sheet{"V100 SXM2", {7, 0, 80, 1530e3, 877e3, 4096}, 15.7, 15.7, 125, 900},
                    Sheet{"T4", {7, 5, 40, 1590e3, 5001e3, 256}, 8.1, 8.1, 65, 320},
                    Sheet{
                        "A100 SXM4 40 GB", {8, 0, 108, 1410e3, 1215e3, 5120}, 19.5, 156, 312, 1555},
                    Sheet{"A40", {8, 6, 84, 1740e3, 7251e3, 384}, 37.4, 74.8, 149.7, 696},
                    Sheet{"L40S", {8, 9, 142, 2520e3, 9001e3, 384}, 91.6, 183, 362, 864},
                    Sheet{"H100 SXM5", {9, 0, 132, 1830e3, 2619e3, 5120}, 61.9, 494.7, 989.4, 3350},
                    Sheet{"H200 SXM5", {9, 0, 132, 1830e3, 3201e3, 6144}, 61.9, 494.7, 989.4, 4800},
                    Sheet{"RTX PRO 6000 Blackwell",
                          {12, 0, 188, 2617e3, 14001e3, 512},
                          125.9,
                          251.9,
                          503.8,
                          1792}));

// H100's sheet says 66.9 TFLOP/s of float32: at 1980 MHz, the top clock, which the plain cores
// hold.
TEST(PeakRates, OfH100InFloat32AreThoseOfItsTopClock) {
  EXPECT_NEAR(peak_flops_per_us({9, 0, 132, 1980e3}, Precision::kFloat32) / 1e6, 66.9, 0.05);
}

TEST(PeakRates, OfAnUnknownGenerationAreThoseOfTheOneBefore) {
  const GpuRates known{8, 9, 100, 1e6};
  GpuRates unknown = known;
  unknown.minor = 10;
  EXPECT_EQ(peak_flops_per_us(unknown, Precision::kTf32),
            peak_flops_per_us(known, Precision::kTf32));
  unknown = {12, 1, 100, 1e6};
  EXPECT_EQ(peak_flops_per_us(unknown, Precision::kFloat32), 100 * 256 * 1e3);
  unknown = {3, 5, 100, 1e6};
  EXPECT_EQ(peak_flops_per_us(unknown, Precision::kFloat32), 100 * 128 * 1e3);
}

}  // namespace
}  // namespace emplace::calibrate::peak_rates_test
