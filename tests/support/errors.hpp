#pragma once

// A user's mistake in a test: text that is wrong in one place, and the error that it gives.

#include <emplace/base/error.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace emplace::test {

/// Returns the text of the Error that `action` throws, or "none".
template <std::invocable Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// Returns the text of the Error that `action` throws; fails the test if it throws none, or one
/// that is not of kind `code`.
template <std::invocable Action>
std::string error_of(ErrorCode code, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "none";
}

/// Returns `text` with the first `from` in it replaced by `to`; throws if there is none. Without
/// arguments it is the text itself.
inline std::string with(std::string_view text, std::string_view from = "",
                        std::string_view to = "") {
  std::string changed(text);
  const std::size_t at = changed.find(from);
  if (at == std::string::npos) {
    throw std::logic_error("the text to change does not contain: " + std::string(from));
  }
  return changed.replace(at, from.size(), to);
}

}  // namespace emplace::test
