// Delay lines against a list of all transfers that is searched through.

#include "sim/src/physical/delay_lines.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace emplace::physical::delay_lines_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DelayLines, HaveOneLineForEachLatency) {
  DelayLines delays;
  const std::int32_t slow = delays.line_with(5);
  const std::int32_t fast = delays.line_with(2);
  EXPECT_NE(slow, fast);
  EXPECT_EQ(delays.line_with(5), slow);
  EXPECT_EQ(delays.line_with(2), fast);
}

// The slow one begins at 0 and arrives at 5; the fast ones begin at 1 and 4 and arrive at 3 and 6.
TEST(DelayLines, DelayEachTransferByItsLatency) {
  DelayLines delays;
  const std::int32_t slow = delays.line_with(5);
  const std::int32_t fast = delays.line_with(2);
  delays.reserve(3);
  EXPECT_EQ(delays.next_us(), kInfinity);
  delays.push(slow, 0, 0);
  delays.push(fast, 1, 1);
  delays.push(fast, 2, 4);
  EXPECT_EQ(delays.next_us(), 3);
  std::vector<std::int32_t> arrived;
  EXPECT_EQ(delays.take(5, 4.5, arrived), 5);
  std::sort(arrived.begin(), arrived.end());
  EXPECT_EQ(arrived, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(delays.next_us(), 6);
  EXPECT_EQ(delays.take(5, 4.5, arrived), 4.5);
  delays.clear();
  EXPECT_EQ(delays.next_us(), kInfinity);
}

TEST(DelayLines, AgreeWithASearchThroughAll) {
  constexpr std::int32_t kTransfers = 300;
  RandomStream random(1);
  for (std::uint64_t num_lines = 1; num_lines <= 4; ++num_lines) {
    DelayLines delays;
    std::vector<std::int32_t> lines;
    for (std::uint64_t line = 0; line < num_lines; ++line) {
      lines.push_back(delays.line_with(static_cast<double>(7 * line + 1)));
    }
    delays.reserve(kTransfers);
    IdVector<std::int32_t, double> ends_us;
    std::vector<std::int32_t> left;
    double now_us = 0;
    for (std::int32_t transfer = 0; transfer < kTransfers; ++transfer) {
      now_us += static_cast<double>(random.below(3));
      const std::uint64_t line = random.below(num_lines);
      delays.push(lines[line], transfer, now_us);
      ends_us.push_back(now_us + static_cast<double>(7 * line + 1));
      left.push_back(transfer);

      const double until_us = now_us + static_cast<double>(random.below(4));
      std::vector<std::int32_t> arrived;
      double last_us = 0;
      for (const std::int32_t other : left) {
        last_us = ends_us[other] <= until_us ? std::max(last_us, ends_us[other]) : last_us;
      }
      ASSERT_EQ(delays.take(until_us, 0, arrived), last_us);
      std::sort(arrived.begin(), arrived.end());
      std::vector<std::int32_t> expected;
      std::copy_if(left.begin(), left.end(), std::back_inserter(expected),
                   [&](std::int32_t other) { return ends_us[other] <= until_us; });
      ASSERT_EQ(arrived, expected);
      std::erase_if(left, [&](std::int32_t other) { return ends_us[other] <= until_us; });
    }
  }
}

}  // namespace
}  // namespace emplace::physical::delay_lines_test
