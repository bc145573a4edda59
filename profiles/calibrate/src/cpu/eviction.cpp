#include "eviction.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include "host_facts.hpp"

#include <vector>
#endif

#include <algorithm>

namespace emplace::calibrate {
namespace {

constexpr std::int64_t kPart = 1 << 20;

}  // namespace

#if defined(__x86_64__)

void evict(const CoreTeam& team, const void* data, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  const char* const begin = static_cast<const char*>(data);
  team.share((bytes + kPart - 1) / kPart, [=](std::int64_t part) {
    const std::int64_t end = std::min(bytes, (part + 1) * kPart);
    for (std::int64_t i = part * kPart; i < end; i += kLine) {
      _mm_clflush(begin + i);
    }
    _mm_mfence();
  });
}

#else

// Without an instruction for it: reads and writes more than the caches hold.
void evict(const CoreTeam& team, const void*, std::int64_t) {
  const std::int64_t bytes = 2 * last_cache_bytes();
  static std::vector<char> other(static_cast<std::size_t>(bytes));
  char* const begin = other.data();
  team.share((bytes + kPart - 1) / kPart, [=](std::int64_t part) {
    const std::int64_t end = std::min(bytes, (part + 1) * kPart);
    for (std::int64_t i = part * kPart; i < end; ++i) {
      ++begin[i];
    }
  });
}

#endif

}  // namespace emplace::calibrate
