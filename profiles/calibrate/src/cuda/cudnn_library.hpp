#pragma once

// cuDNN's graph API, as far as convolutions need it. Of its two APIs this is the one that NVIDIA
// carries on: the older one is deprecated, and engines for the tensor cores of GPUs since H100 are
// reached by graphs only.

#include "shared_library.hpp"

#include <cudnn_graph.h>

namespace emplace::calibrate {

/// Holds cuDNN's functions.
struct CudnnLibrary {
  /// Opens cuDNN 9.8 or newer, the first that tells what runs on a GPU from a description of it;
  /// throws DeviceFailure.
  CudnnLibrary();

  SharedLibrary library;
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
};

}  // namespace emplace::calibrate
