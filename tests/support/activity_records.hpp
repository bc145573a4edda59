#pragma once

// Records as CUPTI 13.0 writes them, made byte by byte from offsets that were read off its headers.
// They are written out here once more on purpose: the parser is tested against them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace emplace::calibrate {

using Bytes = std::vector<std::uint8_t>;

/// A record of some kind, of zeros until fields are put.
class RawRecord {
 public:
  RawRecord(std::uint32_t kind, std::size_t bytes) : bytes_(bytes) { put(0, kind); }

  template <class T>
  RawRecord& put(std::size_t offset, T value) {
    std::memcpy(&bytes_.at(offset), &value, sizeof(T));
    return *this;
  }

  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

/// Returns the records one after the other, as in a buffer.
inline Bytes buffer_of(const std::vector<RawRecord>& records) {
  Bytes buffer;
  for (const RawRecord& record : records) {
    buffer.insert(buffer.end(), record.bytes().begin(), record.bytes().end());
  }
  return buffer;
}

/// A kernel on device 0 under `correlation`; 216 bytes since CUDA 13.0.
inline RawRecord raw_kernel(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  return RawRecord(10, 216)
      .put<std::uint64_t>(16, start)
      .put<std::uint64_t>(24, end)
      .put<std::uint32_t>(92, correlation);
}

/// A copy on device 0 under `correlation`; 96 bytes since CUDA 12.8.
inline RawRecord raw_copy(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  return RawRecord(1, 96)
      .put<std::uint64_t>(16, start)
      .put<std::uint64_t>(24, end)
      .put<std::uint32_t>(44, correlation);
}

/// A memset on device 0 under `correlation`.
inline RawRecord raw_fill(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  return RawRecord(2, 88)
      .put<std::uint64_t>(16, start)
      .put<std::uint64_t>(24, end)
      .put<std::uint32_t>(44, correlation);
}

/// Says that call `correlation` was made under the external id `id`.
inline RawRecord raw_link(std::uint64_t id, std::uint32_t correlation, std::uint32_t kind = 3) {
  return RawRecord(39, 24).put<std::uint32_t>(4, kind).put<std::uint64_t>(8, id).put<std::uint32_t>(
      16, correlation);
}

/// A sample of the clock of device 0.
inline RawRecord raw_clock(std::uint64_t time, std::uint32_t sm_mhz, std::uint32_t reasons) {
  return RawRecord(20, 40)
      .put<std::uint64_t>(8, time)
      .put<std::uint32_t>(16, 1)
      .put<std::uint32_t>(20, sm_mhz)
      .put<std::uint32_t>(36, reasons);
}

}  // namespace emplace::calibrate
