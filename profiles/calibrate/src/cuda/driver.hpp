#pragma once

// The functions of CUDA's driver that its runtime does not offer. The runtime finds the driver, so
// nothing links it.

#include <cuda.h>

namespace emplace::calibrate {

/// Holds functions of the driver.
struct Driver {
  /// Finds them; throws DeviceFailure if the driver is too old.
  Driver();

  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuStreamWaitValue32) stream_wait_value = nullptr;

  // Green contexts: null where the driver has none.
  decltype(&cuDeviceGetDevResource) device_get_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split_by_count = nullptr;
  decltype(&cuDevResourceGenerateDesc) generate_description = nullptr;
  decltype(&cuGreenCtxCreate) green_context_create = nullptr;
  decltype(&cuGreenCtxDestroy) green_context_destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) green_context_stream_create = nullptr;
  decltype(&cuCtxFromGreenCtx) context_of_green = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
};

}  // namespace emplace::calibrate
