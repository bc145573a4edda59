#pragma once

// Names of tests that run for each of some texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace emplace::test {

/// Names a test after its parameter, with '_' for all but letters and digits.
inline constexpr auto kNamedByParameter = [](const auto& test) {
  std::string name(test.param);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
};

}  // namespace emplace::test
