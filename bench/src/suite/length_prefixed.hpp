#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace emplace::bench {

/// Returns "LENGTH:TEXT". Texts that are joined in this form cannot run into each other, so two
/// lists of texts have the same hash only if they are equal.
inline std::string length_prefixed(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

}  // namespace emplace::bench
