#include "support/properties.hpp"

#include <emplace/calibrate/activity.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>
#include <variant>

namespace emplace::calibrate::device_times_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

using U32 = std::uint32_t;

// Work whose times were lost.
struct Untimed {
  U32 correlation = 0;
};

using Record = std::variant<DeviceWork, ExternalLink, Untimed>;

ActivityLog log_of(const std::vector<Record>& records) {
  ActivityLog log;
  for (const Record& any : records) {
    std::visit(
        [&]<class T>(const T& record) {
          if constexpr (std::is_same_v<T, DeviceWork>) {
            log.work.push_back(record);
          } else if constexpr (std::is_same_v<T, ExternalLink>) {
            log.links.push_back(record);
          } else {
            log.untimed.push_back(record.correlation);
          }
        },
        any);
  }
  return log;
}

std::map<std::uint64_t, DeviceTime> times_of(const std::vector<Record>& records) {
  return device_times(log_of(records));
}

Record work(std::uint64_t start, std::uint64_t end, U32 correlation, U32 device = 0) {
  return DeviceWork{.start_ns = start, .end_ns = end, .device = device, .correlation = correlation};
}

Record link(std::uint64_t id, U32 correlation) {
  return ExternalLink{.external_id = id, .correlation = correlation};
}

TEST(DeviceTimes, CoverAllWorkOfAnId) {
  // Launched by three calls under id 42; two overlap for 1 us.
  const auto times = times_of({
      link(42, 1),
      link(42, 2),
      link(42, 3),
      work(10'000, 14'000, 1),
      work(13'000, 15'000, 2),
      work(20'000, 20'500, 3),
  });
  ASSERT_THAT(times, ElementsAre(Key(42)));
  const DeviceTime& time = times.at(42);
  EXPECT_EQ(time.busy_us, 5 + 0.5);
  EXPECT_EQ(time.records, 3);
  EXPECT_EQ(time.lost, 0);
}

TEST(DeviceTimes, CountsAllKernelsOfAGraphUnderTheIdOfItsLaunch) {
  const auto times =
      times_of({link(1, 7), link(2, 8), work(100, 200, 8), work(200, 400, 8), work(150, 250, 8)});
  EXPECT_EQ(times.at(1).records, 0);
  EXPECT_EQ(times.at(2).records, 3);
  EXPECT_EQ(times.at(2).busy_us, 0.3);
}

TEST(DeviceTimes, LeavesOutWorkThatNoExternalIdLaunched) {
  EXPECT_THAT(times_of({work(1, 2, 1)}), IsEmpty());
}

TEST(DeviceTimes, CountsWorkWhoseTimesAreLost) {
  const auto times =
      times_of({link(9, 1), Untimed{1}, work(5000, 6000, 1), Untimed{1}, Untimed{2}});
  EXPECT_EQ(times.at(9).records, 1);
  EXPECT_EQ(times.at(9).lost, 2);
  EXPECT_EQ(times.at(9).busy_us, 1);
}

TEST(DeviceTimes, GivesWorkThatTwoIdsClaimToNeither) {
  const auto times = times_of(
      {link(1, 5), link(2, 5), link(1, 5), link(1, 6), work(1000, 2000, 5), work(3000, 4000, 6)});
  EXPECT_EQ(times.at(1).records, 1);
  EXPECT_EQ(times.at(1).lost, 1);
  EXPECT_EQ(times.at(2).records, 0);
  EXPECT_EQ(times.at(2).lost, 1);
}

// Three runs of an op of two kernels; the record of one never came.
TEST(DeviceTimes, OfEqualRunsTheOneWithFewerRecordsLostSome) {
  ActivityLog log =
      log_of({link(1, 1), work(10, 20, 1), link(1, 2), work(20, 30, 2), link(2, 3), work(40, 50, 3),
              link(3, 5), work(70, 80, 5), link(3, 6), work(80, 90, 6)});
  const std::array<std::uint64_t, 4> ids = {1, 2, 3, 4};
  auto times = times_of_runs(log, ids);
  EXPECT_EQ(times.at(1).lost, 0);
  EXPECT_EQ(times.at(2).lost, 1);
  EXPECT_EQ(times.at(3).lost, 0);
  EXPECT_EQ(times.at(4).lost, 2) << "nothing came of it";
  // Of which run a dropped record was, nobody knows.
  log.dropped_records = 1;
  times = times_of_runs(log, ids);
  EXPECT_EQ(times.at(1).lost, 1);
  EXPECT_EQ(times.at(3).lost, 1);
}

// Each nanosecond that some interval covers, counted one by one.
double covered_us(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& intervals) {
  std::set<std::uint64_t> covered;
  for (const auto& [start, end] : intervals) {
    for (std::uint64_t ns = start; ns < end; ++ns) {
      covered.insert(ns);
    }
  }
  return static_cast<double>(covered.size()) / 1e3;
}

TEST(DeviceTimes, AreTheSameInAnyOrderOfRecords) {
  test::expect_always([] {
    std::vector<Record> records;
    std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> expected;
    for (U32 correlation = 1; correlation <= 12; ++correlation) {
      const std::uint64_t id = test::below(4);
      records.push_back(link(id, correlation));
      expected[id];
      for (std::uint64_t i = test::below(4); i > 0; --i) {
        const std::uint64_t start = 1 + test::below(100);
        const std::uint64_t end = start + test::below(30);
        records.push_back(work(start, end, correlation));
        expected[id].emplace_back(start, end);
      }
    }
    for (std::size_t i = records.size(); i > 1; --i) {
      std::swap(records[i - 1], records[test::below(i)]);
    }
    const auto shuffled = times_of(records);
    RC_ASSERT(shuffled.size() == expected.size());
    for (const auto& [id, intervals] : expected) {
      const DeviceTime& time = shuffled.at(id);
      RC_ASSERT(time.records == static_cast<std::int32_t>(intervals.size()));
      RC_ASSERT(time.busy_us == covered_us(intervals));
    }
  });
}

}  // namespace
}  // namespace emplace::calibrate::device_times_test
