#include "cudnn_library.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>

namespace emplace::calibrate {

CudnnLibrary::CudnnLibrary() {
  if (const std::size_t version = get_version(); version < 90800) {
    throw DeviceFailure(fmt::format("{} is cuDNN {}.{}, but 9.8 or newer is needed", library.path(),
                                    version / 10000, version % 10000 / 100));
  }
}

}  // namespace emplace::calibrate
