#pragma once

// Protobuf's wire format by hand, so that tests know the numbers of fields and not our
// descriptions: a field is its number and wire type, then its value.

#include <cstdint>
#include <string>

namespace emplace::wire {

/// Encodes an integer in groups of seven bits, the lowest first.
inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(0x80 | (value & 0x7F));
  }
  return bytes + static_cast<char>(value);
}

/// Encodes a field that holds an integer.
inline std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

/// Encodes a field that holds a text, bytes or a message.
inline std::string text(int field, const std::string& value) {
  return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(value.size()) + value;
}

/// Puts its length before a message.
inline std::string message(const std::string& bytes) { return varint(bytes.size()) + bytes; }

}  // namespace emplace::wire
