#include "support/activity_records.hpp"
#include "support/errors.hpp"
#include "support/properties.hpp"
#include "support/temporary_folder.hpp"

#include <emplace/calibrate/activity.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/graphs/text_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace emplace::calibrate::recording_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

ActivityRecording small_recording() {
  ActivityRecording recording =
      recording_of({raw_kernel(10, 20, 1).put<std::uint64_t>(104, 4096), raw_link(7, 1)});
  recording.buffers.push_back(buffer_of({raw_copy(30, 50, 2)}));
  recording.buffers.emplace_back();
  recording.dropped_records = 3;
  recording.strings = {{64, ""}, {4096, "gemm"}, {1ULL << 47, "NVIDIA H200"}};
  return recording;
}

// Appends `value` in little-endian.
template <class T>
void put(std::string& text, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

// Without the care for crashes of write_text_file(), which takes its time.
void write_quickly(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class RecordingFile : public testing::Test {
 protected:
  std::string path() const { return folder_.path("run.activities"); }

  // Returns the text of the error that reading `text` ends with.
  std::string refusal_of(const std::string& text) {
    write_quickly(path(), text);
    const std::string error = test::error_of(ErrorCode::kFormat, [&] { read_recording(path()); });
    EXPECT_THAT(error, StartsWith("'" + path() + "': byte "));
    return error;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(RecordingFile, HoldsAWholeRecording) {
  const ActivityRecording written = small_recording();
  write_recording(written, path());
  const ActivityRecording read = read_recording(path());
  EXPECT_EQ(read.origin, "'" + path() + "'");
  EXPECT_EQ(read.cupti_version, kCupti13);
  EXPECT_EQ(read.dropped_records, 3);
  EXPECT_EQ(read.buffers, written.buffers);
  EXPECT_THAT(read.strings,
              ElementsAre(Pair(64, ""), Pair(4096, "gemm"), Pair(1ULL << 47, "NVIDIA H200")));
  EXPECT_EQ(device_times(parse_activities(read)).at(7).sum_us, 0.01);
}

TEST_F(RecordingFile, IsLaidOutAsDocumented) {
  std::string text = "emplacti";
  put(text, std::uint32_t{1});
  put(text, kCupti13);
  put(text, std::uint64_t{3});
  put(text, std::uint32_t{1});
  put(text, std::uint64_t{5});
  text += "bytes";
  put(text, std::uint32_t{1});
  put(text, std::uint64_t{4096});
  put(text, std::uint32_t{4});
  text += "gemm";
  put(text, stable_hash(text));
  write_recording({.cupti_version = kCupti13,
                   .dropped_records = 3,
                   .buffers = {{'b', 'y', 't', 'e', 's'}},
                   .strings = {{4096, "gemm"}}},
                  path());
  EXPECT_EQ(read_text_file(path()), text);
}

TEST_F(RecordingFile, IsNamedByErrorsOfItsRecords) {
  ActivityRecording recording = recording_of({raw_kernel(1, 2, 1), RawRecord(77, 8)});
  write_recording(recording, path());
  EXPECT_EQ(test::error_of([&] { parse_activities(read_recording(path())); }),
            "'" + path() + "': buffer 0, byte 216: CUPTI 130001 has no records of kind 77");
}

TEST_F(RecordingFile, IsRefusedWhereverItIsCutOff) {
  write_recording(small_recording(), path());
  const std::string whole = read_text_file(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal_of(whole.substr(0, size)), "no error") << size;
  }
  EXPECT_THAT(refusal_of(whole + "x"), HasSubstr("expected the end, found 1 more bytes"));
}

TEST_F(RecordingFile, IsRefusedWhicheverByteIsDamaged) {
  write_recording(small_recording(), path());
  const std::string whole = read_text_file(path());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    EXPECT_NE(refusal_of(damaged), "no error") << at;
  }
}

TEST_F(RecordingFile, SaysWhatWasExpectedInstead) {
  EXPECT_THAT(refusal_of("{\"ops\": []}"),
              HasSubstr("byte 0: expected a recording of a GPU's activities, which starts with "
                        "'emplacti'"));
  std::string text = "emplacti";
  put(text, std::uint32_t{2});
  EXPECT_THAT(refusal_of(text), HasSubstr("byte 12: expected format version 1, found 2"));
  text = "emplacti";
  put(text, std::uint32_t{1});
  put(text, kCupti13);
  put(text, std::uint64_t{0});
  put(text, std::uint32_t{1});
  put(text, ~std::uint64_t{0});
  EXPECT_THAT(refusal_of(text),
              HasSubstr("byte 36: expected a buffer of 18446744073709551615 bytes, found 0"));
}

TEST_F(RecordingFile, IsRefusedWithAddressesThatDoNotAscend) {
  std::string text = "emplacti";
  put(text, std::uint32_t{1});
  put(text, kCupti13);
  put(text, std::uint64_t{0});
  put(text, std::uint32_t{0});
  put(text, std::uint32_t{2});
  for (int i = 0; i < 2; ++i) {
    put(text, std::uint64_t{0x40});
    put(text, std::uint32_t{0});
  }
  put(text, stable_hash(text));
  EXPECT_THAT(refusal_of(text), HasSubstr("expected ascending addresses, found 0x40 after 0x40"));
}

// As above, but by someone who knows how to compute the hash.
TEST_F(RecordingFile, OfAnyContentIsReadOrRefused) {
  write_recording(small_recording(), path());
  const std::string whole = read_text_file(path());
  test::expect_always([&] {
    std::string text = whole.substr(0, whole.size() - sizeof(std::uint64_t));
    for (std::uint64_t i = test::below(4); i > 0; --i) {
      text[8 + test::below(text.size() - 8)] = static_cast<char>(test::below(256));
    }
    text.resize(text.size() - test::below(2) * test::below(text.size() - 8));
    put(text, stable_hash(text));
    write_quickly(path(), text);
    try {
      device_times(parse_activities(read_recording(path())));
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ErrorCode::kFormat || error.code() == ErrorCode::kUnsupported);
    }
  });
}

TEST_F(RecordingFile, ThatIsNotThereIsAnErrorOfItsOwn) {
  test::error_of(ErrorCode::kIo, [&] { read_recording(path()); });
}

}  // namespace
}  // namespace emplace::calibrate::recording_file_test
