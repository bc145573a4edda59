#include "cudnn_library.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

namespace emplace::calibrate {

CudnnLibrary::CudnnLibrary()
    : library({.what = "cuDNN",
               .names = {"libcudnn.so.9"},
               .remedy = "Install cuDNN 9.8 or newer (Debian's package cudnn9-cuda-13, or Python's "
                         "nvidia-cudnn-cu13)"}) {
  library.find("cudnnGetVersion", get_version);
  library.find("cudnnGetErrorString", get_error_string);
  library.find("cudnnGetLastErrorString", get_last_error_string);
  library.find("cudnnCreate", create);
  library.find("cudnnDestroy", destroy);
  library.find("cudnnSetStream", set_stream);
  library.find("cudnnBackendCreateDescriptor", create_descriptor);
  library.find("cudnnBackendDestroyDescriptor", destroy_descriptor);
  library.find("cudnnBackendSetAttribute", set_attribute);
  library.find("cudnnBackendGetAttribute", get_attribute);
  library.find("cudnnBackendFinalize", finalize);
  library.find("cudnnBackendExecute", execute);
  if (const std::size_t version = get_version(); version < 90800) {
    throw DeviceFailure(fmt::format("{} is cuDNN {}.{}, but 9.8 or newer is needed", library.path(),
                                    version / 10000, version % 10000 / 100));
  }
}

}  // namespace emplace::calibrate
