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

  SharedLibrary library{
      {.what = "cuDNN",
       .names = {"libcudnn.so.9"},
       .remedy = "Install cuDNN 9.8 or newer (Debian's package cudnn9-cuda-13, or Python's "
                 "nvidia-cudnn-cu13)"}};
  decltype(&cudnnGetVersion) get_version = library["cudnnGetVersion"];
  decltype(&cudnnGetErrorString) get_error_string = library["cudnnGetErrorString"];
  decltype(&cudnnGetLastErrorString) get_last_error_string = library["cudnnGetLastErrorString"];
  decltype(&cudnnCreate) create = library["cudnnCreate"];
  decltype(&cudnnDestroy) destroy = library["cudnnDestroy"];
  decltype(&cudnnSetStream) set_stream = library["cudnnSetStream"];
  decltype(&cudnnBackendCreateDescriptor) create_descriptor =
      library["cudnnBackendCreateDescriptor"];
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor =
      library["cudnnBackendDestroyDescriptor"];
  decltype(&cudnnBackendSetAttribute) set_attribute = library["cudnnBackendSetAttribute"];
  decltype(&cudnnBackendGetAttribute) get_attribute = library["cudnnBackendGetAttribute"];
  decltype(&cudnnBackendFinalize) finalize = library["cudnnBackendFinalize"];
  decltype(&cudnnBackendExecute) execute = library["cudnnBackendExecute"];
};

}  // namespace emplace::calibrate
