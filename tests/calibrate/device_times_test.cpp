#include "support/activity_records.hpp"
#include "support/properties.hpp"

#include <emplace/calibrate/activity.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace emplace::calibrate::device_times_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

using U32 = std::uint32_t;

std::map<std::uint64_t, DeviceTime> times_of(const std::vector<RawRecord>& records) {
  return device_times(parse_activities(recording_of(records)));
}

// A device of 2000 MHz.
RawRecord raw_device() { return RawRecord(8, 184).put<U32>(36, 2'000'000); }

TEST(DeviceTimes, SumsKernelsCopiesAndFillsOfAnId) {
  // Launched by three calls under id 42; the copy runs beside the kernel for 1 us.
  const auto times = times_of({
      raw_link(42, 1),
      raw_link(42, 2),
      raw_link(42, 3),
      raw_kernel(10'000, 14'000, 1),
      raw_copy(13'000, 15'000, 2),
      raw_fill(20'000, 20'500, 3),
  });
  ASSERT_THAT(times, ElementsAre(Key(42)));
  const DeviceTime& time = times.at(42);
  EXPECT_EQ(time.sum_us, 4 + 2 + 0.5);
  EXPECT_EQ(time.busy_us, 5 + 0.5);
  EXPECT_EQ(time.records, 3);
  EXPECT_EQ(time.lost, 0);
  EXPECT_FALSE(time.throttled);
}

TEST(DeviceTimes, CountsAllKernelsOfAGraphUnderTheIdOfItsLaunch) {
  const auto in_graph = [](std::uint64_t start, std::uint64_t end, std::uint64_t node) {
    return raw_kernel(start, end, 8).put<std::uint64_t>(144, node).put<U32>(156, 3);
  };
  const auto times = times_of({raw_link(1, 7), raw_link(2, 8), in_graph(100, 200, 11),
                               in_graph(200, 400, 12), in_graph(150, 250, 13)});
  EXPECT_EQ(times.at(1).records, 0);
  EXPECT_EQ(times.at(2).records, 3);
  EXPECT_EQ(times.at(2).sum_us, 0.4);
  EXPECT_EQ(times.at(2).busy_us, 0.3);
}

TEST(DeviceTimes, LeavesOutWorkThatNoExternalIdOfOursLaunched) {
  EXPECT_THAT(times_of({raw_kernel(1, 2, 1), raw_link(5, 1, 4)}), IsEmpty());
}

TEST(DeviceTimes, CountsWorkWhoseTimesAreLost) {
  const auto times = times_of({raw_link(9, 1), raw_kernel(0, 0, 1), raw_kernel(5000, 6000, 1),
                               raw_copy(90, 80, 1), raw_kernel(0, 0, 2)});
  EXPECT_EQ(times.at(9).records, 1);
  EXPECT_EQ(times.at(9).lost, 2);
  EXPECT_EQ(times.at(9).sum_us, 1);
}

TEST(DeviceTimes, GivesWorkThatTwoIdsClaimToNeither) {
  const auto times = times_of({raw_link(1, 5), raw_link(2, 5), raw_link(1, 5), raw_link(1, 6),
                               raw_kernel(1000, 2000, 5), raw_kernel(3000, 4000, 6)});
  EXPECT_EQ(times.at(1).records, 1);
  EXPECT_EQ(times.at(1).lost, 1);
  EXPECT_EQ(times.at(2).records, 0);
  EXPECT_EQ(times.at(2).lost, 1);
}

// Three runs of an op of two kernels; the record of one never came.
TEST(DeviceTimes, OfEqualRunsTheOneWithFewerRecordsLostSome) {
  ActivityRecording recording =
      recording_of({raw_link(1, 1), raw_kernel(10, 20, 1), raw_link(1, 2), raw_kernel(20, 30, 2),
                    raw_link(2, 3), raw_kernel(40, 50, 3), raw_link(3, 5), raw_kernel(70, 80, 5),
                    raw_link(3, 6), raw_kernel(80, 90, 6)});
  const std::array<std::uint64_t, 4> ids = {1, 2, 3, 4};
  auto times = times_of_runs(parse_activities(recording), ids);
  EXPECT_EQ(times.at(1).lost, 0);
  EXPECT_EQ(times.at(2).lost, 1);
  EXPECT_EQ(times.at(3).lost, 0);
  EXPECT_EQ(times.at(4).lost, 2) << "nothing came of it";
  // Of which run a dropped record was, nobody knows.
  recording.dropped_records = 1;
  times = times_of_runs(parse_activities(recording), ids);
  EXPECT_EQ(times.at(1).lost, 1);
  EXPECT_EQ(times.at(3).lost, 1);
}

// Bits: 1 idle, 2 clocks set by the user, 4 power, 8 slowdown by hardware, 0x40000000 cannot tell.
TEST(DeviceTimes, TellsThrottlingFromReasonsOfTheClock) {
  const auto throttled = [](std::vector<RawRecord> samples) {
    samples.insert(samples.end(), {raw_link(1, 1), raw_kernel(100, 200, 1)});
    return times_of(samples).at(1).throttled;
  };
  EXPECT_FALSE(throttled({}));
  EXPECT_FALSE(throttled({raw_clock(150, 1980, 0)}));
  EXPECT_FALSE(throttled({raw_clock(150, 345, 1)}));
  EXPECT_FALSE(throttled({raw_clock(150, 1200, 2)}));
  EXPECT_FALSE(throttled({raw_clock(150, 1980, 0x4000'0000)}));
  EXPECT_TRUE(throttled({raw_clock(150, 1700, 4)}));
  EXPECT_TRUE(throttled({raw_clock(150, 900, 8)}));
  EXPECT_TRUE(throttled({raw_clock(150, 1700, 0x8000'0000)}));
}

TEST(DeviceTimes, TellsThrottlingFromAClockBelowTheTopOne) {
  const auto throttled = [](std::uint32_t mhz, std::uint32_t reasons) {
    return times_of({raw_device(), raw_clock(150, mhz, reasons), raw_link(1, 1),
                     raw_kernel(100, 200, 1)})
        .at(1)
        .throttled;
  };
  EXPECT_FALSE(throttled(1800, 0));  // 90 % of 2000 MHz
  EXPECT_TRUE(throttled(1799, 0));
  EXPECT_TRUE(throttled(1799, 0x4000'0000));
  EXPECT_FALSE(throttled(345, 1));   // idle before the work came
  EXPECT_FALSE(throttled(1200, 2));  // as the user wants
}

TEST(DeviceTimes, AsksTheLastSampleBeforeThoseDuringAndTheFirstAfterTheWork) {
  // Samples at 100, 200, ... of which one is throttled; work from 310 to 490.
  const auto throttled = [](std::uint64_t when) {
    std::vector<RawRecord> records{raw_link(1, 1), raw_kernel(310, 490, 1)};
    for (std::uint64_t time = 100; time <= 800; time += 100) {
      records.push_back(raw_clock(time, 1980, time == when ? 4 : 0));
    }
    return times_of(records).at(1).throttled;
  };
  EXPECT_FALSE(throttled(200));
  EXPECT_TRUE(throttled(300));
  EXPECT_TRUE(throttled(400));
  EXPECT_TRUE(throttled(500));
  EXPECT_FALSE(throttled(600));
}

TEST(DeviceTimes, AsksOnlyTheClockOfTheDeviceAtWork) {
  const auto times =
      times_of({raw_link(1, 1), raw_link(2, 2), raw_kernel(100, 200, 1),
                raw_kernel(100, 200, 2).put<U32>(40, 1), raw_clock(150, 1000, 4).put<U32>(4, 1)});
  EXPECT_FALSE(times.at(1).throttled);
  EXPECT_TRUE(times.at(2).throttled);
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
    std::vector<RawRecord> records{raw_device()};
    std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> expected;
    for (U32 correlation = 1; correlation <= 12; ++correlation) {
      const std::uint64_t id = test::below(4);
      records.push_back(raw_link(id, correlation));
      expected[id];
      for (std::uint64_t i = test::below(4); i > 0; --i) {
        const std::uint64_t start = 1 + test::below(100);
        const std::uint64_t end = start + test::below(30);
        const std::uint64_t kind = test::below(3);
        records.push_back(kind == 0   ? raw_kernel(start, end, correlation)
                          : kind == 1 ? raw_copy(start, end, correlation)
                                      : raw_fill(start, end, correlation));
        expected[id].emplace_back(start, end);
      }
      if (test::below(4) == 0) {
        records.push_back(
            raw_clock(1 + test::below(150), 2000, static_cast<U32>(4 * test::below(2))));
      }
    }
    const auto in_order = times_of(records);
    for (std::size_t i = records.size(); i > 1; --i) {
      std::swap(records[i - 1], records[test::below(i)]);
    }
    const auto shuffled = times_of(records);
    RC_ASSERT(shuffled.size() == expected.size());
    for (const auto& [id, intervals] : expected) {
      const DeviceTime& time = shuffled.at(id);
      double sum_us = 0;
      for (const auto& [start, end] : intervals) {
        sum_us += static_cast<double>(end - start);
      }
      RC_ASSERT(time.records == static_cast<std::int32_t>(intervals.size()));
      RC_ASSERT(time.sum_us == sum_us / 1e3);
      RC_ASSERT(time.busy_us == covered_us(intervals));
      RC_ASSERT(time.throttled == in_order.at(id).throttled);
    }
  });
}

}  // namespace
}  // namespace emplace::calibrate::device_times_test
