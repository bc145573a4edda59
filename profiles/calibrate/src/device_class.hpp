#pragma once

// Names of device classes.

#include <string>
#include <string_view>

namespace emplace::calibrate {

/// Returns the class of a product as profiles call it, in kebab-case: "gpu-nvidia-h200" of "gpu"
/// and "NVIDIA H200".
std::string device_class_of(std::string_view kind, std::string_view product);

}  // namespace emplace::calibrate
