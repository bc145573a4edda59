#include "profiles/calibrate/src/cupti/activity_buffers.hpp"

#include "support/activity_records.hpp"

#include <emplace/calibrate/activity.hpp>
#include <emplace/graphs/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace emplace::calibrate::activity_buffers_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Plays CUPTI: asks for a buffer, fills it and hands it back.
void deliver(const std::vector<RawRecord>& records) {
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  std::size_t max_records = 1;
  ActivityBuffers::request(&buffer, &bytes, &max_records);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0);
  EXPECT_EQ(max_records, 0);
  EXPECT_TRUE(ActivityBuffers::instance().any_out());
  const Bytes filled = buffer_of(records);
  ASSERT_LE(filled.size(), bytes);
  std::copy(filled.begin(), filled.end(), buffer);
  ActivityBuffers::complete(buffer, filled.size());
}

RawRecord named_kernel(const char* name) {
  return raw_kernel(1, 2, 3).put<std::uint64_t>(104, reinterpret_cast<std::uintptr_t>(name));
}

class Buffers : public testing::Test {
 protected:
  ~Buffers() override { buffers_.stop(); }

  ActivityBuffers& buffers_ = ActivityBuffers::instance();
};

TEST_F(Buffers, KeepRecordsAndTheNamesAtWhichTheyPoint) {
  ASSERT_TRUE(buffers_.start(kCupti13));
  std::string name = "gemm";
  deliver({named_kernel(name.c_str()), named_kernel(nullptr)});
  const auto address = reinterpret_cast<std::uintptr_t>(name.c_str());
  name = "gone";  // as when the module is unloaded
  deliver({});
  EXPECT_FALSE(buffers_.any_out());
  const ActivityRecording recording = buffers_.take();
  EXPECT_EQ(recording.cupti_version, kCupti13);
  EXPECT_EQ(recording.origin, "CUPTI");
  EXPECT_EQ(recording.buffers.size(), 1);
  EXPECT_THAT(recording.strings, ElementsAre(Pair(address, "gemm")));
  const ActivityLog log = parse_activities(recording);
  ASSERT_EQ(log.kernels.size(), 2);
  EXPECT_EQ(log.names.at(log.kernels[0].name), "gemm");
  EXPECT_EQ(log.names.at(log.kernels[1].name), "");
}

TEST_F(Buffers, GiveEachRecordOnce) {
  ASSERT_TRUE(buffers_.start(kCupti13));
  deliver({raw_kernel(1, 2, 3)});
  EXPECT_EQ(buffers_.take().buffers.size(), 1);
  EXPECT_THAT(buffers_.take().buffers, IsEmpty());
  deliver({raw_kernel(1, 2, 3)});
  EXPECT_EQ(buffers_.take().buffers.size(), 1);
}

// CUPTI may still have work to do when nobody listens any more.
TEST_F(Buffers, AreGivenButNotKeptWhenNobodyCollects) {
  deliver({raw_kernel(1, 2, 3)});
  ASSERT_TRUE(buffers_.start(kCupti13));
  EXPECT_THAT(buffers_.take().buffers, IsEmpty());
  deliver({raw_kernel(1, 2, 3)});
  buffers_.stop();
  ASSERT_TRUE(buffers_.start(kCupti13));
  EXPECT_THAT(buffers_.take().buffers, IsEmpty());
}

TEST_F(Buffers, ServeOneSourceAtATime) {
  ASSERT_TRUE(buffers_.start(kCupti13));
  EXPECT_FALSE(buffers_.start(kCupti13));
}

TEST_F(Buffers, KeepWhatCannotBeReadForTheReaderToRefuse) {
  ASSERT_TRUE(buffers_.start(kCupti13));
  deliver({named_kernel("gemm"), RawRecord(77, 8)});
  const ActivityRecording recording = buffers_.take();
  EXPECT_EQ(recording.strings.size(), 1);
  EXPECT_THROW(parse_activities(recording), Error);
}

TEST_F(Buffers, ComeFromAnyThread) {
  ASSERT_TRUE(buffers_.start(kCupti13));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 5; ++j) {
        deliver({raw_kernel(1, 2, 3)});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(parse_activities(buffers_.take()).kernels.size(), 20);
}

}  // namespace
}  // namespace emplace::calibrate::activity_buffers_test
