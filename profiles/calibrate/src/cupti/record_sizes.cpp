#include "record_sizes.hpp"

#include <fmt/format.h>

namespace emplace::calibrate {

std::string known_cupti_versions() {
  return fmt::format("{} (CUDA 12.3) to {} (CUDA 13.0 Update 1)", kCuda12_3, kCuda13_0_1);
}

}  // namespace emplace::calibrate
