#pragma once

// PyTorch's operators by the names that its traces write: "aten::conv2d".

#include <string>
#include <string_view>

namespace emplace {

/// Returns the kind of op that PyTorch's operator `name` is: one of ours where the table has it,
/// else the operator's own name without its namespace.
std::string kind_of_aten(std::string_view name);

}  // namespace emplace
