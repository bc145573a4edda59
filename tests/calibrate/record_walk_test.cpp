#include "profiles/calibrate/src/cupti/record_walk.hpp"

#include "profiles/calibrate/src/cupti/record_sizes.hpp"
#include "support/activity_records.hpp"
#include "support/cupti.hpp"
#include "support/errors.hpp"
#include "support/properties.hpp"

#include <emplace/calibrate/activity.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace emplace::calibrate::record_walk_test {
namespace {

using testing::HasSubstr;

using U32 = std::uint32_t;
using U64 = std::uint64_t;

// Returns the text of the error that parsing ends with.
std::string refusal_of(const ActivityRecording& recording, ErrorCode code = ErrorCode::kFormat) {
  return test::error_of(code, [&] { parse_activities(recording); });
}

TEST(RecordWalk, RefusesAKindThatTheVersionDoesNotHave) {
  EXPECT_EQ(refusal_of(recording_of({raw_kernel(1, 2, 1), RawRecord(77, 64)})),
            "test: buffer 0, byte 216: CUPTI 130001 has no records of kind 77");
  // Records of kind 54, of decompression, came with CUDA 12.8.
  EXPECT_EQ(refusal_of(recording_of({RawRecord(54, 64)}, 24)),
            "test: buffer 0, byte 0: CUPTI 24 has no records of kind 54");
}

TEST(RecordWalk, StopsABufferAtARecordThatWasNotFinishedAndGoesOnWithTheNext) {
  ActivityRecording recording = recording_of({raw_kernel(1, 2, 1), RawRecord(0, 40)});
  recording.buffers.push_back(buffer_of({raw_kernel(3, 4, 2)}));
  const ActivityLog log = parse_activities(recording);
  EXPECT_EQ(log.kernels.size(), 2);
  EXPECT_EQ(log.unread_bytes, 40);
}

// Sizes by version: Kernel9 has 208 bytes and Kernel10 216, Memcpy5 88 and Memcpy6 96, Overhead2 48
// and Overhead3 56, Synchronization 40 and Synchronization2 56. A step by a wrong size would find
// no kind where the next record starts.
TEST(RecordWalk, KnowsTheRecordsOfOlderVersions) {
  struct Version {
    U32 number;
    std::size_t kernel, copy, overhead, wait;
  };
  for (const Version version : {Version{21, 208, 88, 48, 40}, Version{22, 208, 88, 56, 40},
                                Version{24, 208, 88, 56, 40}, Version{26, 208, 96, 56, 56},
                                Version{28, 208, 96, 56, 56}, Version{130000, 216, 96, 56, 56}}) {
    const auto timed = [](U32 kind, std::size_t bytes, std::size_t start) {
      return RawRecord(kind, bytes).put<U64>(start, 5).put<U64>(start + 8, 6);
    };
    const ActivityLog log = parse_activities(
        recording_of({raw_kernel(1, 2, 1, version.kernel), raw_copy(3, 4, 2, version.copy),
                      timed(17, version.overhead, 24), timed(38, version.wait, 8),
                      raw_kernel(1, 2, 3, version.kernel)},
                     version.number));
    EXPECT_EQ(log.kernels.size(), 2) << version.number;
    EXPECT_EQ(log.kernels.back().work.correlation, 3) << version.number;
    EXPECT_EQ(log.copies.size(), 1) << version.number;
    EXPECT_EQ(log.overheads.size(), 1) << version.number;
    EXPECT_EQ(log.waits.size(), 1) << version.number;
  }
}

// 18 is CUDA 11.8 with Kernel8, 20 is 12.2, 130100 is 13.1 with Kernel11.
TEST(RecordWalk, RefusesVersionsWhoseRecordsAreNotKnown) {
  for (const U32 version : {0U, 18U, 20U, 29U, 120900U, 130100U, 0xffff'ffffU}) {
    EXPECT_EQ(
        refusal_of(recording_of({raw_kernel(1, 2, 1, 200)}, version), ErrorCode::kUnsupported),
        "test: written by CUPTI " + std::to_string(version) +
            ", whose records are not known; known are 21 (CUDA 12.3) to 130001 (CUDA 13.0 "
            "Update 1)");
  }
}

TEST(RecordWalk, RefusesBuffersThatAreCutOffInARecord) {
  const Bytes whole =
      buffer_of({raw_kernel(1, 2, 1), raw_link(5, 1), RawRecord(8, 184), raw_copy(1, 2, 2)});
  const std::array<std::size_t, 5> ends{0, 216, 240, 424, 520};
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    // A vector of its own, so that the address sanitizer sees a read beyond it.
    const ActivityRecording recording{
        .origin = "test",
        .cupti_version = kCupti13,
        .buffers = {Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))}};
    if (std::find(ends.begin(), ends.end(), size) != ends.end()) {
      EXPECT_NO_THROW(parse_activities(recording)) << size;
    } else {
      EXPECT_THAT(refusal_of(recording), HasSubstr("test: buffer 0, byte ")) << size;
    }
  }
  EXPECT_EQ(refusal_of({.origin = "test",
                        .cupti_version = kCupti13,
                        .buffers = {Bytes(whole.begin(), whole.begin() + 230)}}),
            "test: buffer 0, byte 216: a record of kind 39 has 24 bytes, but only 14 are left");
}

TEST(RecordWalk, SurvivesAnyBytes) {
  test::expect_always([] {
    ActivityRecording recording{.origin = "test", .cupti_version = kCupti13};
    Bytes buffer(test::below(400));
    for (std::uint8_t& byte : buffer) {
      // Mostly zeros, as in real records, so that many parse.
      byte = static_cast<std::uint8_t>(test::below(4) == 0 ? test::below(56) : 0);
    }
    recording.buffers.push_back(std::move(buffer));
    try {
      parse_activities(recording);
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ErrorCode::kFormat);
    }
  });
}

// Returns where each record of a recording's first buffer starts.
std::vector<std::size_t> starts_by_us(const ActivityRecording& recording) {
  std::vector<std::size_t> starts;
  RecordWalk walk(recording, 0);
  while (const auto record = walk.next()) {
    starts.push_back(
        static_cast<std::size_t>(record->bytes().data() - recording.buffers[0].data()));
  }
  return starts;
}

TEST(RecordWalk, StepsFromRecordToRecordAsCuptiItselfDoes) {
  const test::Cupti cupti;
  if (!cupti.get_next_record || !knows_cupti(cupti.version)) {
    GTEST_SKIP() << cupti.why_none;
  }
  const auto kinds = [&] {
    std::vector<U32> with_size;
    for (U32 kind = 1; kind < 100; ++kind) {
      // A buffer of nothing but this number: wherever the next record is, it is of this kind.
      Bytes buffer;
      for (int i = 0; i < 256; ++i) {
        const Bytes number = RawRecord(kind, 4).bytes();
        buffer.insert(buffer.end(), number.begin(), number.end());
      }
      const std::vector<std::size_t> theirs = cupti.record_starts(buffer);
      EXPECT_EQ(theirs.size() < 2 ? 0 : theirs[1], record_bytes(kind, cupti.version)) << kind;
      if (theirs.size() >= 2) {
        with_size.push_back(kind);
      }
    }
    return with_size;
  }();
  EXPECT_GE(kinds.size(), 30);
  test::expect_always([&] {
    std::vector<RawRecord> records;
    for (std::uint64_t i = test::below(20); i > 0; --i) {
      const U32 kind = kinds[test::below(kinds.size())];
      RawRecord record(kind, record_bytes(kind, cupti.version));
      const auto filling = static_cast<std::uint8_t>(test::below(256));
      for (std::size_t at = 4; at < record.bytes().size(); ++at) {
        record.put(at, filling);
      }
      records.push_back(record);
    }
    const ActivityRecording recording = recording_of(records, cupti.version);
    RC_ASSERT(starts_by_us(recording) == cupti.record_starts(recording.buffers[0]));
    RC_ASSERT(starts_by_us(recording).size() == records.size());
  });
}

}  // namespace
}  // namespace emplace::calibrate::record_walk_test
