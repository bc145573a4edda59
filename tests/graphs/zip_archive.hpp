#pragma once

// Zip archives, written by hand, so that broken ones can be made, too.

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace emplace::test {

/// Returns a little-endian number.
inline std::string le(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

/// Returns a zip archive of entries that are stored as they are; numbers of the directory are 64
/// bits long if `is_64`, as PyTorch writes them.
inline std::string archive(const std::vector<std::pair<std::string, std::string>>& entries,
                           bool is_64, int method = 0) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : entries) {
    const auto at = bytes.size();
    const std::string stamp = le(0, 4) + le(crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                                  static_cast<uInt>(content.size())),
                                            4);
    bytes += "PK\x03\x04" + le(20, 2) + le(0, 2) + le(static_cast<std::uint64_t>(method), 2) +
             stamp + le(content.size(), 4) + le(content.size(), 4) + le(name.size(), 2) + le(4, 2);
    bytes += name;
    bytes += "pad!";
    bytes += content;
    const std::string extra =
        is_64 ? le(1, 2) + le(24, 2) + le(content.size(), 8) + le(content.size(), 8) + le(at, 8)
              : "";
    directory += "PK\x01\x02" + le(20, 2) + le(20, 2) + le(0, 2) +
                 le(static_cast<std::uint64_t>(method), 2) + stamp +
                 le(is_64 ? 0xffffffff : content.size(), 4) +
                 le(is_64 ? 0xffffffff : content.size(), 4) + le(name.size(), 2) +
                 le(extra.size(), 2) + le(0, 2) + le(0, 8) + le(is_64 ? 0xffffffff : at, 4);
    directory += name;
    directory += extra;
  }
  const auto start = bytes.size();
  bytes += directory;
  if (is_64) {
    const auto end = bytes.size();
    bytes += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8) + le(entries.size(), 8) +
             le(entries.size(), 8) + le(directory.size(), 8) + le(start, 8);
    bytes += "PK\x06\x07" + le(0, 4) + le(end, 8) + le(1, 4);
  }
  return bytes + "PK\x05\x06" + le(0, 4) + le(is_64 ? 0xffff : entries.size(), 2) +
         le(is_64 ? 0xffff : entries.size(), 2) + le(directory.size(), 4) +
         le(is_64 ? 0xffffffff : start, 4) + le(0, 2);
}

}  // namespace emplace::test
