#pragma once

// The text that names a cluster: a name or path, and parameters.

#include <emplace/base/params.hpp>

#include <string_view>
#include <utility>

namespace emplace {

/// Parts NAME:key=value,... A path may have colons of its own, and so may values: parameters begin
/// at the first colon before a key and '='.
std::pair<std::string_view, Spec> without_parameters(std::string_view text);

}  // namespace emplace
