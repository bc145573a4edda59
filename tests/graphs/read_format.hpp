#pragma once

// Reads a graph from bytes, or tells why it cannot be read.

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace emplace {

/// Reads `bytes` in a format, `name:key=value`.
inline OpGraph read_format(std::string_view format, std::string_view bytes) {
  return GraphFormats::global().read(Spec::parse(format), bytes, "folder/file.bin");
}

/// Returns the message that reading gives, or nothing if it gives a graph. Fails the test if the
/// message does not begin with the file's name.
inline std::optional<std::string> error_of_reading(std::string_view format,
                                                   std::string_view bytes) {
  try {
    read_format(format, bytes);
    return std::nullopt;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("folder/file.bin: ")) << format;
    return error.what();
  }
}

}  // namespace emplace
