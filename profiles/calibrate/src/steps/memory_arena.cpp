#include "memory_arena.hpp"

#include <algorithm>
#include <iterator>

namespace emplace::calibrate {
namespace {

// Nothing takes a place too, so that no two tensors have the same address.
std::int64_t round_up(std::int64_t bytes) {
  constexpr std::int64_t kUnit = MemoryArena::kAlignment;
  return (std::max<std::int64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

std::int64_t MemoryArena::take(std::int64_t bytes) {
  bytes = round_up(bytes);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const auto [offset, size] = *hole;
    if (size >= bytes) {
      free_.erase(hole);
      if (size > bytes) {
        free_.emplace(offset + bytes, size - bytes);
      }
      return offset;
    }
  }
  const std::int64_t offset = end_;
  end_ += bytes;
  return offset;
}

void MemoryArena::give_back(std::int64_t offset, std::int64_t bytes) {
  bytes = round_up(bytes);
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace emplace::calibrate
