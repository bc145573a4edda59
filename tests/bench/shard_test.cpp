#include "support/errors.hpp"

#include <emplace/bench/shard.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace emplace::bench::shard_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Pieces of one cell each, with so much work.
std::vector<Piece> pieces_of(const std::vector<double>& all_work) {
  std::vector<Piece> pieces;
  pieces.reserve(all_work.size());
  for (const double work : all_work) {
    pieces.push_back({.cells = {pieces.size()}, .work = work});
  }
  return pieces;
}

TEST(Shard, IsWrittenAsUsersWriteIt) {
  EXPECT_EQ(read_shard("2/8"), (Shard{.index = 2, .count = 8}));
  EXPECT_EQ(read_shard("2/8").text(), "2/8");
  EXPECT_TRUE(read_shard("1/1").is_whole());
  EXPECT_EQ(read_shard("1000000/1000000").count, kMaxShards);
}

TEST(Shard, RefusesWhatIsNone) {
  for (const char* text :
       {"", "/", "2", "0/8", "9/8", "-1/8", "1/0", "1/-1", "1/8 ", " 1/8", "1//8", "a/8", "1/b",
        "1.0/8", "1/1000001", "+1/8", "1/99999999999999999999"}) {
    EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { read_shard(text); }),
                HasSubstr("expected I/N"))
        << text;
  }
}

TEST(Shard, DividesByWorkTheLargestPieceFirst) {
  const std::vector<ShardWork> shards = divide(pieces_of({1, 7, 2, 3, 4}), 2);
  ASSERT_EQ(shards.size(), 2U);
  EXPECT_THAT(shards[0].cells, ElementsAre(1, 2)) << "of equal loads the first is filled";
  EXPECT_EQ(shards[0].work, 9);
  EXPECT_THAT(shards[1].cells, ElementsAre(0, 3, 4));
  EXPECT_EQ(shards[1].work, 8);
}

TEST(Shard, GivesEachCellToOneShardWhateverTheirNumber) {
  std::vector<double> all_work;
  for (std::int64_t i = 0; i < 1000; ++i) {
    all_work.push_back(static_cast<double>(i * 7919 % 1009));
  }
  all_work[17] = 0;
  const double largest = *std::ranges::max_element(all_work);
  for (const std::int64_t count : {1, 2, 3, 7, 64, 999, 1500}) {
    std::vector<std::size_t> all;
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const ShardWork& work : divide(pieces_of(all_work), count)) {
      EXPECT_TRUE(std::ranges::is_sorted(work.cells));
      all.insert(all.end(), work.cells.begin(), work.cells.end());
      least = std::min(least, work.work);
      most = std::max(most, work.work);
    }
    std::ranges::sort(all);
    EXPECT_EQ(all.size(), all_work.size());
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    EXPECT_LE(most - least, largest) << count;
  }
}

TEST(Shard, MayBeEmptyAndKeepsAPieceWhole) {
  const std::vector<ShardWork> shards =
      divide({{.cells = {0, 2}, .trainings = {1}, .work = 5}, {.cells = {1}, .work = 6}}, 3);
  EXPECT_THAT(shards[0].cells, ElementsAre(1));
  EXPECT_THAT(shards[1].cells, ElementsAre(0, 2));
  EXPECT_THAT(shards[1].trainings, ElementsAre(1));
  EXPECT_THAT(shards[2].cells, IsEmpty());
}

}  // namespace
}  // namespace emplace::bench::shard_test
