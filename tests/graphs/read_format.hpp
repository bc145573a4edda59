#pragma once

// Reads a graph from bytes, or shows why it cannot be read.

#include "support/errors.hpp"
#include "support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// Returns the content of a file in tests/graphs/data.
inline std::string data_file(std::string_view name) {
  return read_text_file(test::source_path("tests/graphs/data/" + std::string(name)));
}

/// Reads `bytes` in a format, `name:key=value`.
inline OpGraph read_format(std::string_view format, std::string_view bytes) {
  return GraphFormats::global().read(Spec::parse(format), bytes, "folder/file.bin");
}

/// Returns the message that reading gives, or "none" if it gives a graph. Fails the test if the
/// message does not begin with the file's name.
inline std::string error_of_reading(std::string_view format, std::string_view bytes) {
  std::string error = test::error_of([&] { read_format(format, bytes); });
  if (error != "none") {
    EXPECT_THAT(error, testing::StartsWith("folder/file.bin: ")) << format;
  }
  return error;
}

/// Holds bytes that are no graph, and a part of the error of each.
using Mistakes = std::vector<std::pair<std::string, std::string>>;

/// Expects these errors of a format.
inline void expect_errors(std::string_view format, const Mistakes& mistakes) {
  for (const auto& [bytes, message] : mistakes) {
    EXPECT_THAT(error_of_reading(format, bytes), testing::HasSubstr(message));
  }
}

}  // namespace emplace
