#pragma once

// Optimizers as the cost model sees them: how much state they keep and how much work one update is.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes an update rule, counted per parameter.
struct Optimizer {
  std::string_view name;     ///< as users type it
  std::int64_t slots;        ///< numbers kept between steps in addition to the parameter itself
  std::int64_t flops;        ///< operations per parameter and update
  std::string_view summary;  ///< one line, with reference
};

/// Returns all optimizers, sorted by name.
std::span<const Optimizer> optimizers();

/// Returns their names, for a parameter's choices.
std::vector<std::string> optimizer_names();

/// Returns the optimizer called `name`; throws kUnknownName.
const Optimizer& find_optimizer(std::string_view name);

}  // namespace emplace
