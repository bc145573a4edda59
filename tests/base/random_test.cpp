#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace emplace::random_test {
namespace {

TEST(RandomStream, IsXoshiro256StarStarSeededBySplitMix64) {
  // First outputs of the authors' reference code (prng.di.unimi.it), state filled by splitmix64.c.
  RandomStream zero(0);
  EXPECT_EQ(zero.next(), 0x99EC5F36CB75F2B4U);
  EXPECT_EQ(zero.next(), 0xBF6E1F784956452AU);
  EXPECT_EQ(zero.next(), 1900383378846508768U);
  EXPECT_EQ(zero.next(), 7684712102626143532U);
  EXPECT_EQ(RandomStream(1234567).next(), 3504822795582309479U);
  EXPECT_EQ(RandomStream(~std::uint64_t{0}).next(), 10328197420357168392U);
}

TEST(RandomStream, BelowTakesTheHighWordOfTheProduct) {
  // floor(x * 10 / 2^64) of the outputs x of seed 7.
  RandomStream random(7);
  for (const std::uint64_t expected : {7, 2, 8, 9, 9, 8, 0, 1, 4, 1, 5, 7}) {
    EXPECT_EQ(random.below(10), expected);
  }
}

TEST(RandomStream, BelowIsUniformAndInRange) {
  constexpr std::uint64_t kBound = 7;
  constexpr double kDraws = 70'000;
  std::map<std::uint64_t, int> count;
  RandomStream random(42);
  for (int i = 0; i < static_cast<int>(kDraws); ++i) {
    ++count[random.below(kBound)];
  }
  ASSERT_EQ(count.size(), kBound);
  ASSERT_EQ(count.rbegin()->first, kBound - 1);
  double chi_squared = 0;
  const double expected = kDraws / static_cast<double>(kBound);
  for (const auto& [value, times] : count) {
    chi_squared += (times - expected) * (times - expected) / expected;
  }
  EXPECT_LT(chi_squared, 22.46);  // 0.1% of fair streams exceed it at 6 degrees of freedom
}

TEST(RandomStream, BelowHasNoBiasForLargeBounds) {
  // Without rejection the values congruent to 0 modulo 3 would come twice as often as the others:
  // floor(x * 3 / 4) takes each of them for two of four neighbouring x.
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62U;
  RandomStream random(1);
  int multiples_of_3 = 0;
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = random.below(kBound);
    ASSERT_LT(value, kBound);
    multiples_of_3 += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(multiples_of_3, kDraws / 3, 4 * std::sqrt(kDraws * 2.0 / 9.0));
  EXPECT_EQ(random.below(1), 0U);
}

TEST(RandomStream, UniformIsInTheUnitIntervalWithTheRightMeanAndVariance) {
  RandomStream random(3);
  constexpr int kDraws = 100'000;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    sum_of_squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 4 / std::sqrt(12.0 * kDraws));
  EXPECT_NEAR(sum_of_squares / kDraws, 1.0 / 3.0, 0.004);
}

TEST(RandomStream, ShufflesFairly) {
  // Each of the 3! orders of three cards comes about 1000 times in 6000.
  std::map<std::vector<int>, int> count;
  RandomStream random(5);
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> cards = {1, 2, 3};
    random.shuffle(std::span(cards));
    ++count[cards];
  }
  ASSERT_EQ(count.size(), 6U);
  for (const auto& [cards, times] : count) {
    EXPECT_NEAR(times, 1000, 120);
  }
}

TEST(StableHash, NeverChanges) {
  // Results are keyed by it: computed once by an independent program (FNV-1a 64, then Stafford's
  // mix).
  EXPECT_EQ(stable_hash(""), 17665956581633026203U);
  EXPECT_EQ(stable_hash("a"), 198367012849983736U);
  EXPECT_EQ(stable_hash("quickstart"), 6253505315581485597U);
  EXPECT_EQ(stable_hash("a", 1), 17127917398894892423U);
  EXPECT_EQ(stable_hash("a", stable_hash("b")), 16185866075044384127U);
}

TEST(StableHash, SpreadsSimilarTextsOverAllBits) {
  // One letter more flips about half of the 64 bits.
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t a = stable_hash("cell-" + std::to_string(i));
    const std::uint64_t b = stable_hash("cell-" + std::to_string(i + 1));
    flipped += __builtin_popcountll(a ^ b);
  }
  EXPECT_NEAR(flipped / 1000.0, 32.0, 0.6);
}

}  // namespace
}  // namespace emplace::random_test
