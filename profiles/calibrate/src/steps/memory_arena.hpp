#pragma once

// Offsets into one block of memory of a device: first fit, neighbours joined.

#include <cstdint>
#include <map>

namespace emplace::calibrate {

/// Hands out ranges of a block that grows as needed.
class MemoryArena {
 public:
  /// Returns the offset of `bytes` that are not handed out; a multiple of kAlignment.
  std::int64_t take(std::int64_t bytes);

  /// Takes back what take() returned for as many `bytes`.
  void give_back(std::int64_t offset, std::int64_t bytes);

  /// Returns the size of the block that holds all that was ever handed out.
  std::int64_t bytes() const { return end_; }

  /// What libraries for GPUs want.
  static constexpr std::int64_t kAlignment = 256;

 private:
  std::map<std::int64_t, std::int64_t> free_;  // offset to bytes
  std::int64_t end_ = 0;
};

}  // namespace emplace::calibrate
