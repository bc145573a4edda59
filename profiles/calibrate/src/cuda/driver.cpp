#include "driver.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace emplace::calibrate {
namespace {

// The version whose functions are wanted: that in which the youngest of them came.
constexpr unsigned kVersion = 12050;

template <typename Function>
bool find(const char* name, Function*& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return false;
  }
  function = reinterpret_cast<Function*>(found);
  return true;
}

}  // namespace

Driver::Driver() {
  if (!find("cuGetErrorString", get_error_string) || !find("cuDeviceGet", device_get) ||
      !find("cuStreamWaitValue32", stream_wait_value)) {
    int version = 0;
    cudaDriverGetVersion(&version);
    throw DeviceFailure(
        fmt::format("the NVIDIA driver serves CUDA {}.{}, but 12.5 or newer is needed: install "
                    "driver 555 or newer",
                    version / 1000, version % 1000 / 10));
  }
  find("cuDeviceGetDevResource", device_get_resource);
  find("cuDevSmResourceSplitByCount", split_by_count);
  find("cuDevResourceGenerateDesc", generate_description);
  find("cuGreenCtxCreate", green_context_create);
  find("cuGreenCtxDestroy", green_context_destroy);
  find("cuGreenCtxStreamCreate", green_context_stream_create);
  find("cuCtxFromGreenCtx", context_of_green);
  find("cuCtxSetCurrent", set_current);
}

}  // namespace emplace::calibrate
