#pragma once

// Values as bytes, for another process of the same program (team.hpp), never for a file.

#include <emplace/graphs/check.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Appends values to a string of bytes.
class ByteWriter {
 public:
  /// Appends a value without pointers.
  template <class T>
  void write(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  /// Appends a list of such values, with its length.
  template <class T>
  void write(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  /// Appends a list of such lists, with its length.
  template <class T>
  void write(const std::vector<std::vector<T>>& lists) {
    write(lists.size());
    for (const std::vector<T>& list : lists) {
      write(list);
    }
  }

  /// Returns what was written.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads values back in the order in which they were written. Requires: `bytes` outlive it.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void read(T& value) {
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
  }

  template <class T>
  void read(std::vector<T>& values) {
    std::size_t size = 0;
    read(size);
    EMPLACE_CHECK(size <= bytes_.size() / sizeof(T), "a list of {} values in {} bytes", size,
                  bytes_.size());
    values.resize(size);
    if (size > 0) {
      std::memcpy(values.data(), next(size * sizeof(T)).data(), size * sizeof(T));
    }
  }

  template <class T>
  void read(std::vector<std::vector<T>>& lists) {
    std::size_t size = 0;
    read(size);
    EMPLACE_CHECK(size <= bytes_.size() / sizeof(std::size_t), "{} lists in {} bytes", size,
                  bytes_.size());
    lists.resize(size);
    for (std::vector<T>& list : lists) {
      read(list);
    }
  }

  /// Says whether all was read.
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view next(std::size_t size) {
    EMPLACE_CHECK(size <= bytes_.size(), "{} bytes of {}", size, bytes_.size());
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

}  // namespace emplace::agents
