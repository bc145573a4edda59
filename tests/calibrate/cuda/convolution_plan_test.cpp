// cuDNN tells from a description of a GPU which of its engines would run a convolution there, so
// this needs the library but no GPU. The descriptions have the figures of the products' sheets.

#include "profiles/calibrate/src/cuda/convolution_plan.hpp"

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>

namespace emplace::calibrate::convolution_plan_test {
namespace {

struct Gpu {
  std::string name;
  int capability, multiprocessors, shared_bytes, cache_bytes;
};

std::ostream& operator<<(std::ostream& stream, const Gpu& gpu) { return stream << gpu.name; }

// As cuDNN 9 writes what it knows of a GPU.
std::string json_of(const Gpu& gpu) {
  return fmt::format(
      R"({{"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
"regsPerBlock": 65536, "multiProcessorCount": {}, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
"maxSharedMemoryPerBlockOptin": {}, "reservedSharedMemoryPerBlock": 1024,
"maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
"maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
"smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": {}, "deviceName": "{}",
"totalGlobalMem": 42949672960, "cudaDeviceId": 0, "deviceVer": {}, "driverVer": 13000}})",
      gpu.multiprocessors, gpu.shared_bytes, gpu.cache_bytes, gpu.name, gpu.capability);
}

class ConvolutionPlans : public testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    try {
      library_ = std::make_unique<CudnnLibrary>();
    } catch (const DeviceFailure& failure) {
      GTEST_SKIP() << failure.what();
    }
    gpu_ = std::make_unique<CudnnDescriptor>(describe_gpu(*library_, json_of(GetParam())));
  }

  std::size_t num_plans(const ConvolutionSite& site, bool tf32) const {
    const ConvolutionRequest request{
        .site = site, .tf32 = tf32, .workspace_limit = std::int64_t{1} << 30};
    return convolution_plans(*library_, *gpu_, request, 4).size();
  }

  std::unique_ptr<CudnnLibrary> library_;
  std::unique_ptr<CudnnDescriptor> gpu_;
};

TEST_P(ConvolutionPlans, AreThereForEveryConvolutionOfTheZoo) {
  for (const char* name : {"inception-v3", "resnet-50", "nasnet-a-mobile", "unet", "wavenet", "vit",
                           "resnet-50:batch=1"}) {
    const OpGraph graph = GraphCatalog::global().build(Spec::parse(name));
    int convolutions = 0;
    for (const OpSite& op : distinct_sites(std::span(&graph, 1))) {
      auto site = convolution_site(op);
      if (!site) {
        continue;
      }
      ++convolutions;
      SCOPED_TRACE(fmt::format("{}: {} [{}]", name, op.op.kind, fmt::join(op.op.shape, ", ")));
      EXPECT_GE(num_plans(*site, true), 1);
      EXPECT_GE(num_plans(*site, false), 1);
      if (GetParam().capability >= 800) {  // the first that knows bfloat16
        site->type = DataType::kBfloat16;
        EXPECT_GE(num_plans(*site, true), 1);
      }
    }
    EXPECT_GT(convolutions, 0) << name;
  }
}

// An even window of stride 1 that keeps the map's size reaches beyond one side only.
TEST_P(ConvolutionPlans, AreThereForPaddingOfOneSide) {
  ConvolutionSite site{
      .n = 8, .c = 64, .h = 32, .w = 32, .k = 64, .r = 2, .s = 2, .p = 32, .q = 32};
  site.pad_bottom = 1;
  site.pad_right = 1;
  for (const auto pass : {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
                          ConvolutionPass::kBackwardFilter}) {
    site.pass = pass;
    EXPECT_GE(num_plans(site, true), 1);
  }
}

TEST_P(ConvolutionPlans, KeepWithinTheWorkspace) {
  const ConvolutionSite site{
      .n = 64, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3, .p = 54, .q = 54};
  const ConvolutionRequest request{.site = site, .workspace_limit = 1 << 20};
  for (const ConvolutionPlan& plan : convolution_plans(*library_, *gpu_, request, 100)) {
    EXPECT_LE(plan.workspace_bytes, 1 << 20);
  }
}

TEST_P(ConvolutionPlans, AreNotThereForWhatIsNoConvolution) {
  // Ten results don't come of a window of three on a map of four.
  const ConvolutionSite site{.h = 4, .w = 4, .r = 3, .s = 3, .p = 10, .q = 10};
  EXPECT_THROW(num_plans(site, true), DeviceFailure);
}

INSTANTIATE_TEST_SUITE_P(Gpus, ConvolutionPlans,
                         testing::Values(Gpu{"Tesla T4", 750, 40, 65536, 4 << 20},
                                         Gpu{"NVIDIA A100-SXM4-40GB", 800, 108, 166912, 40 << 20},
                                         Gpu{"NVIDIA H200", 900, 132, 232448, 60 << 20}),
                         [](const auto& test) {
                           return fmt::format("sm_{}", test.param.capability / 10);
                         });

}  // namespace
}  // namespace emplace::calibrate::convolution_plan_test
