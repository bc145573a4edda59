#include <emplace/calibrate/activity.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string_view>

// A recording as a file. All numbers are little-endian and follow one another without padding:
//
//   8 bytes  "emplacti"
//   u32      version of this format: 1
//   u32      version of CUPTI
//   u64      dropped records
//   u32      number of buffers, then for each: u64 bytes, and the bytes
//   u32      number of strings, then for each: u64 address, u32 bytes, and the bytes
//   u64      stable_hash() of all that precedes, so that a damaged file is noticed
//
// Addresses are distinct and ascend.

namespace emplace::calibrate {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "emplacti";
constexpr std::uint32_t kFormatVersion = 1;

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Takes parts from the front of a file, each checked against what is left of it.
class FileCursor {
 public:
  FileCursor(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  std::string_view take(std::uint64_t bytes, std::string_view what) {
    if (bytes > text_.size() - offset_) {
      fail(fmt::format("expected {} of {} bytes, found {}", what, bytes, text_.size() - offset_));
    }
    const std::string_view part = text_.substr(offset_, bytes);
    offset_ += bytes;
    return part;
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::size_t bytes_left() const { return text_.size() - offset_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kFormat,
                fmt::format("'{}': byte {}: {}", excerpt(path_, 200), offset_, what));
  }

 private:
  const std::string& path_;
  std::string_view text_;
  std::size_t offset_ = 0;
};

}  // namespace

void write_recording(const ActivityRecording& recording, const std::string& path) {
  std::string text(kMagic);
  put(text, kFormatVersion);
  put(text, recording.cupti_version);
  put(text, recording.dropped_records);
  put(text, static_cast<std::uint32_t>(recording.buffers.size()));
  for (const auto& buffer : recording.buffers) {
    put(text, static_cast<std::uint64_t>(buffer.size()));
    text.append(buffer.begin(), buffer.end());
  }
  put(text, static_cast<std::uint32_t>(recording.strings.size()));
  for (const auto& [address, string] : recording.strings) {
    put(text, address);
    put(text, static_cast<std::uint32_t>(string.size()));
    text += string;
  }
  put(text, stable_hash(text));
  write_text_file(path, text);
}

ActivityRecording read_recording(const std::string& path) {
  const std::string text = read_text_file(path);
  FileCursor file(path, text);
  if (!text.starts_with(kMagic)) {
    file.fail("expected a recording of a GPU's activities, which starts with 'emplacti'");
  }
  file.take(kMagic.size(), "the start");
  if (const auto version = file.number<std::uint32_t>("a format version");
      version != kFormatVersion) {
    file.fail(fmt::format("expected format version {}, found {}", kFormatVersion, version));
  }
  ActivityRecording recording{.origin = fmt::format("'{}'", excerpt(path, 200)),
                              .cupti_version = file.number<std::uint32_t>("CUPTI's version"),
                              .dropped_records = file.number<std::uint64_t>("dropped records")};
  const auto buffers = file.number<std::uint32_t>("the number of buffers");
  for (std::uint32_t i = 0; i < buffers; ++i) {
    const std::string_view bytes =
        file.take(file.number<std::uint64_t>("the length of a buffer"), "a buffer");
    recording.buffers.emplace_back(bytes.begin(), bytes.end());
  }
  const auto strings = file.number<std::uint32_t>("the number of strings");
  for (std::uint32_t i = 0; i < strings; ++i) {
    const auto address = file.number<std::uint64_t>("the address of a string");
    if (!recording.strings.empty() && address <= recording.strings.rbegin()->first) {
      file.fail(fmt::format("expected ascending addresses, found {:#x} after {:#x}", address,
                            recording.strings.rbegin()->first));
    }
    recording.strings.emplace(
        address, file.take(file.number<std::uint32_t>("the length of a string"), "a string"));
  }
  const std::string_view hashed(text.data(), text.size() - file.bytes_left());
  if (file.number<std::uint64_t>("a hash of the file") != stable_hash(hashed)) {
    file.fail("the file is damaged: its hash is not that of its content");
  }
  if (file.bytes_left() != 0) {
    file.fail(fmt::format("expected the end, found {} more bytes", file.bytes_left()));
  }
  return recording;
}

}  // namespace emplace::calibrate
