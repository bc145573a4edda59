#include "record_walk.hpp"

#include "record_sizes.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <bit>

namespace emplace::calibrate {

// CUPTI runs on x86-64 and AArch64 only, so recordings are little-endian as we are.
static_assert(std::endian::native == std::endian::little);

std::uint64_t RecordView::name_address() const {
  switch (kind()) {
    case RecordKind::kKernel:
    case RecordKind::kConcurrentKernel:
      return at<std::uint64_t>(kernel_at::kName);
    case RecordKind::kDevice:
      return at<std::uint64_t>(device_at::kName);
    default:
      return 0;
  }
}

RecordWalk::RecordWalk(const ActivityRecording& recording, std::size_t buffer)
    : recording_(recording), buffer_(buffer), bytes_(recording.buffers.at(buffer)) {}

std::optional<RecordView> RecordWalk::next() {
  const std::size_t left = bytes_left();
  if (left == 0) {
    return std::nullopt;
  }
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::kFormat, fmt::format("{}: buffer {}, byte {}: {}", recording_.origin,
                                                buffer_, offset_, what));
  };
  if (left < sizeof(std::uint32_t)) {
    fail(fmt::format("expected a record, found {} bytes", left));
  }
  const auto kind = RecordView(bytes_.subspan(offset_)).at<std::uint32_t>(0);
  if (kind == static_cast<std::uint32_t>(RecordKind::kUnfinished)) {
    return std::nullopt;
  }
  const std::uint32_t bytes = record_bytes(kind, recording_.cupti_version);
  if (bytes == 0) {
    fail(fmt::format("CUPTI {} has no records of kind {}", recording_.cupti_version, kind));
  }
  if (bytes > left) {
    fail(fmt::format("a record of kind {} has {} bytes, but only {} are left", kind, bytes, left));
  }
  const RecordView record(bytes_.subspan(offset_, bytes));
  offset_ += bytes;
  return record;
}

void check_version(const ActivityRecording& recording) {
  if (!knows_cupti(recording.cupti_version)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: written by CUPTI {}, whose records are not known; known are {}",
                            recording.origin, recording.cupti_version, known_cupti_versions()));
  }
}

}  // namespace emplace::calibrate
