#pragma once

// PyTorch's operators by their names: programs of torch.export and traces have the same.

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

/// Says what an operator does to numbers, from the least to the most.
enum class AtenRole : std::uint8_t {
  kDescribes,  ///< takes memory, or describes what is there in another way
  kFills,      ///< writes the same number everywhere
  kCopies,     ///< writes numbers that are there already
  kComputes,   ///< anything else
};

/// Returns the operator's own name: without namespace, overload and the trailing underscore, which
/// says that the result replaces the first input. "aten::add_" is "add".
std::string_view name_of_aten(std::string_view name);

/// Returns the operator of the library that PyTorch's operator `name` is, or the one that is the
/// greatest part of it; its own name where there is none.
std::string kind_of_aten(std::string_view name);

/// Returns what PyTorch's operator `name` does.
AtenRole role_of_aten(std::string_view name);

}  // namespace emplace
