#include "profiles/calibrate/src/steps/memory_arena.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace emplace::calibrate::memory_arena_test {
namespace {

TEST(MemoryArena, HandsOutRangesThatNeverOverlapAndUsesThemAgain) {
  MemoryArena arena;
  RandomStream random(3);
  std::map<std::int64_t, std::int64_t> taken;  // offset to bytes
  std::int64_t most = 0;
  std::int64_t held = 0;
  for (int i = 0; i < 20000; ++i) {
    if (taken.size() < 50 && random.below(2) == 0) {
      const std::int64_t bytes = static_cast<std::int64_t>(random.below(5000));
      const std::int64_t offset = arena.take(bytes);
      EXPECT_EQ(offset % MemoryArena::kAlignment, 0);
      const auto [at, is_new] = taken.emplace(offset, bytes);
      ASSERT_TRUE(is_new);
      ASSERT_TRUE(at == taken.begin() || std::prev(at)->first + std::prev(at)->second <= offset);
      ASSERT_TRUE(std::next(at) == taken.end() || offset + bytes <= std::next(at)->first);
      ASSERT_LE(offset + bytes, arena.bytes());
      held += bytes + MemoryArena::kAlignment;
      most = std::max(most, held);
    } else if (!taken.empty()) {
      const auto victim =
          std::next(taken.begin(), static_cast<std::ptrdiff_t>(random.below(taken.size())));
      arena.give_back(victim->first, victim->second);
      held -= victim->second + MemoryArena::kAlignment;
      taken.erase(victim);
    }
  }
  // First fit wastes at most a small factor here; without joining neighbours it would be thousands.
  EXPECT_LE(arena.bytes(), 3 * most);
}

TEST(MemoryArena, JoinsNeighbours) {
  MemoryArena arena;
  const std::int64_t a = arena.take(256);
  const std::int64_t b = arena.take(256);
  const std::int64_t c = arena.take(256);
  arena.take(256);
  arena.give_back(a, 256);
  arena.give_back(c, 256);
  arena.give_back(b, 256);
  EXPECT_EQ(arena.take(768), a);
}

}  // namespace
}  // namespace emplace::calibrate::memory_arena_test
