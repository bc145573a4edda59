#pragma once

// Steps from record to record of a buffer that CUPTI filled, and reads fields of a record. Nothing
// outside the buffer is ever read, whatever it holds.

#include "record_layout.hpp"

#include <emplace/calibrate/activity.hpp>
#include <emplace/graphs/check.hpp>

#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace emplace::calibrate {

/// Views one record.
class RecordView {
 public:
  explicit RecordView(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  RecordKind kind() const { return static_cast<RecordKind>(at<std::uint32_t>(0)); }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// Returns the field of type T at `offset`; fields of a buffer may lie at any address.
  template <class T>
  T at(std::size_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    EMPLACE_CHECK(offset + sizeof(T) <= bytes_.size(), "no field at {} of {}", offset,
                  bytes_.size());
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  /// Returns the address of the name of what the record is about, 0 if it has none.
  std::uint64_t name_address() const;

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Walks over the records of one buffer of a recording.
class RecordWalk {
 public:
  /// Starts at the first record of `recording.buffers[buffer]`; both must outlive the walk.
  RecordWalk(const ActivityRecording& recording, std::size_t buffer);

  /// Returns the next record, or nothing at the end of the buffer or at a record that was not
  /// finished. Throws Error kFormat for a record that does not fit, or of no kind of this version.
  std::optional<RecordView> next();

  /// Returns how many bytes are left: 0 unless a record was not finished.
  std::size_t bytes_left() const { return bytes_.size() - offset_; }

 private:
  const ActivityRecording& recording_;
  std::size_t buffer_;
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
};

/// Throws Error kUnsupported unless the records of the recording's CUPTI are known.
void check_version(const ActivityRecording& recording);

}  // namespace emplace::calibrate
