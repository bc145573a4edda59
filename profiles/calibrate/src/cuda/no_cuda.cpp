// What a build without the CUDA toolkit answers.

#include <emplace/base/check.hpp>
#include <emplace/calibrate/cuda_device.hpp>

namespace emplace::calibrate {

CudaDevices cuda_devices(const CudaOptions&) {
  return {
      .missing =
          "this program was built without the CUDA toolkit: install it (12.5 or newer, with CUPTI "
          "and the headers of cuDNN 9), then build with EMPLACE_WITH_CUDA=ON ./emplace doctor"};
}

// There is no device or queue that these could be asked for.
double replayed_launch_us(ComputeDevice&) { EMPLACE_CHECK(false, "built without CUDA"); }
struct Recording::State {};
Recording::Recording(std::span<Queue* const>) { EMPLACE_CHECK(false, "built without CUDA"); }
Recording::~Recording() = default;
std::unique_ptr<Recorded> Recording::end() { return nullptr; }

}  // namespace emplace::calibrate
