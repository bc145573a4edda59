// What a build without the CUDA toolkit answers.

#include <emplace/calibrate/activity.hpp>
#include <emplace/calibrate/cuda_device.hpp>

namespace emplace::calibrate {

CudaDevices cuda_devices(const CudaOptions&) {
  return {
      .missing =
          "this program was built without the CUDA toolkit: install it (12.5 or newer, with CUPTI "
          "and the headers of cuDNN 9), then build with EMPLACE_WITH_CUDA=ON ./emplace doctor"};
}

std::unique_ptr<ActivitySource> open_cupti() {
  return std::make_unique<ActivitySource>(
      "this program was built without CUPTI: install the CUDA toolkit and build it again with "
      "EMPLACE_WITH_CUDA=ON");
}

}  // namespace emplace::calibrate
