// Convolutions and matrix products of oneDNN against plain loops, and these against numbers worked
// out by hand.

#include <emplace/base/random.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/cpu/cpu_program.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace emplace::calibrate::cpu_library_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> result_of(CpuProgram& op, const std::vector<float>& first,
                             const std::vector<float>& second, std::vector<float> result) {
  std::vector<std::max_align_t> workspace(
      static_cast<std::size_t>(op.workspace_bytes()) / sizeof(std::max_align_t) + 64);
  op.run(CoreTeam(1), {.inputs = {first.data(), second.data()},
                       .outputs = {result.data()},
                       .workspace = workspace.data()});
  return result;
}

#ifdef EMPLACE_WITH_ONEDNN

std::vector<float> random_numbers(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) {
    number = static_cast<float>(2 * random.uniform() - 1);
  }
  return numbers;
}

struct Named {
  std::string name;
  ConvolutionSite site;
};

// Sizes that leave oneDNN's blocks of 16 channels partly empty.
std::vector<Named> convolutions() {
  const ConvolutionSite same{.n = 2,
                             .c = 3,
                             .h = 8,
                             .w = 7,
                             .k = 20,
                             .r = 3,
                             .s = 3,
                             .p = 8,
                             .q = 7,
                             .pad_top = 1,
                             .pad_left = 1,
                             .pad_bottom = 1,
                             .pad_right = 1};
  ConvolutionSite strided = same;
  strided.p = 4;
  strided.q = 4;
  strided.stride_down = strided.stride_across = 2;
  strided.pad_top = 0;
  ConvolutionSite valid = same;
  valid.p = 3;  // of a map of 8: its last row is left out
  valid.q = 5;
  valid.stride_down = 2;
  valid.pad_top = valid.pad_left = valid.pad_bottom = valid.pad_right = 0;
  ConvolutionSite dilated = same;
  dilated.dilation = 2;
  dilated.pad_top = dilated.pad_left = dilated.pad_bottom = dilated.pad_right = 2;
  return {{"same", same}, {"strided", strided}, {"valid", valid}, {"dilated", dilated}};
}

TEST(CpuLibrary, ConvolvesAsPlainLoopsDo) {
  for (const auto& [name, convolution] : convolutions()) {
    for (const auto pass : {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
                            ConvolutionPass::kBackwardFilter}) {
      ConvolutionSite site = convolution;
      site.pass = pass;
      const auto fast = make_onednn_convolution(site, CoreTeam(1));
      EXPECT_EQ(fast->library(), "onednn");
      const auto plain = make_reference_convolution(site);
      const auto maps = random_numbers(site.n * site.c * site.h * site.w, 1);
      const auto filters = random_numbers(site.k * site.c * site.r * site.s, 2);
      const auto results = random_numbers(site.n * site.k * site.p * site.q, 3);
      const auto& first = pass == ConvolutionPass::kForward ? maps : results;
      const auto& second = pass == ConvolutionPass::kBackwardFilter ? maps : filters;
      const auto& made = pass == ConvolutionPass::kForward        ? results
                         : pass == ConvolutionPass::kBackwardData ? maps
                                                                  : filters;
      EXPECT_THAT(result_of(*fast, first, second, made),
                  Pointwise(FloatNear(1e-4F), result_of(*plain, first, second, made)))
          << name << ", pass " << static_cast<int>(pass);
    }
  }
}

TEST(CpuLibrary, MultipliesAsPlainLoopsDo) {
  for (const bool left : {false, true}) {
    for (const bool right : {false, true}) {
      const GemmSite site{.batch = 3,
                          .m = 17,
                          .n = 21,
                          .k = 33,
                          .left_transposed = left,
                          .right_transposed = right};
      const auto fast = make_onednn_gemm(site, CoreTeam(1));
      const auto plain = make_reference_gemm(site);
      const auto a = random_numbers(site.batch * site.m * site.k, 1);
      const auto b = random_numbers(site.batch * site.k * site.n, 2);
      const auto c = random_numbers(site.batch * site.m * site.n, 3);
      EXPECT_THAT(result_of(*fast, a, b, c),
                  Pointwise(FloatNear(1e-4F), result_of(*plain, a, b, c)))
          << left << right;
    }
  }
}

TEST(CpuLibrary, AFailureOfOnednnIsOneOfTheDevice) {
  EXPECT_THROW(make_onednn_gemm({.m = -1, .n = 2, .k = 2}, CoreTeam(1)), DeviceFailure);
  EXPECT_THROW(make_onednn_convolution({.n = -1}, CoreTeam(1)), DeviceFailure);
}

#endif

// 1 2 / 3 4 times 1 0 / 1 1.
TEST(CpuLibrary, MultipliesByPlainLoops) {
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<float> b{1, 0, 1, 1};
  const std::vector<float> ones(4, 1);
  GemmSite site{.m = 2, .n = 2, .k = 2};
  EXPECT_THAT(result_of(*make_reference_gemm(site), a, b, ones), ElementsAre(3, 2, 7, 4));
  site.left_transposed = true;  // 1 3 / 2 4
  EXPECT_THAT(result_of(*make_reference_gemm(site), a, b, ones), ElementsAre(4, 3, 6, 4));
  site.right_transposed = true;  // 1 1 / 0 1
  EXPECT_THAT(result_of(*make_reference_gemm(site), a, b, ones), ElementsAre(1, 4, 2, 6));
}

// The map 1 2 3 with the filter 1 10, moved by one, without padding.
TEST(CpuLibrary, ConvolvesByPlainLoops) {
  ConvolutionSite site{.w = 3, .s = 2, .q = 2};
  const std::vector<float> x{1, 2, 3};
  const std::vector<float> filter{1, 10};
  const std::vector<float> dy{1, 100};
  EXPECT_THAT(result_of(*make_reference_convolution(site), x, filter, {0, 0}), ElementsAre(21, 32));
  site.pass = ConvolutionPass::kBackwardData;
  EXPECT_THAT(result_of(*make_reference_convolution(site), dy, filter, {0, 0, 0}),
              ElementsAre(1, 110, 1000));
  site.pass = ConvolutionPass::kBackwardFilter;
  EXPECT_THAT(result_of(*make_reference_convolution(site), dy, x, {0, 0}), ElementsAre(201, 302));
}

}  // namespace
}  // namespace emplace::calibrate::cpu_library_test
