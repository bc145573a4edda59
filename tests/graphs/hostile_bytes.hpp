#pragma once

// What every reader of files must bear: any bytes give a graph or an emplace::Error, never a crash.

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
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

/// Reads every beginning of `bytes`.
inline void read_truncated(std::string_view format, std::string_view bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    error_of_reading(format, bytes.substr(0, size));
  }
}

/// Reads `bytes` with some of them replaced, `count` times.
inline void read_damaged(std::string_view format, std::string_view bytes, int count) {
  RandomStream random(stable_hash("damage"));
  for (int i = 0; i < count; ++i) {
    std::string damaged(bytes);
    for (int j = 0; j < 1 + i % 4; ++j) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    error_of_reading(format, damaged);
  }
}

}  // namespace emplace
