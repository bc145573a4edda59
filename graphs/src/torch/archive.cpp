#include "archive.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace emplace::torch_program {
namespace {

// Signatures and sizes of the records of PKWARE's APPNOTE.TXT 6.3, sections 4.3.7 to 4.3.16.
constexpr std::uint64_t kLocalHeader = 0x04034b50;
constexpr std::uint64_t kEntry = 0x02014b50;
constexpr std::uint64_t kEnd = 0x06054b50;
constexpr std::uint64_t kEnd64 = 0x06064b50;
constexpr std::uint64_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64LocatorBytes = 20;
constexpr std::size_t kMaxComment = 65535;
constexpr std::uint64_t kIn64 = 0xffffffff;  // the true number is in a field for zip64

class Archive {
 public:
  Archive(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  std::string_view find_program() const {
    const Directory found = directory();
    std::optional<std::string_view> program;
    std::uint64_t at = found.first;
    for (std::uint64_t i = 0; i < found.count; ++i) {
      if (number(at, 4) != kEntry) {
        fail(fmt::format("entry {} of the directory is not where it should be", i + 1));
      }
      const std::uint64_t name_bytes = number(at + 28, 2);
      const std::uint64_t extra_bytes = number(at + 30, 2);
      const std::string_view name = part(at + kEntryBytes, name_bytes);
      if (is_program(name)) {
        if (program) {
          fail("it holds several programs, expected one");
        }
        program = content(at, name, part(at + kEntryBytes + name_bytes, extra_bytes));
      }
      at += kEntryBytes + name_bytes + extra_bytes + number(at + 32, 2);
    }
    if (!program) {
      fail("it holds no program of torch.export, models/NAME.json");
    }
    return *program;
  }

 private:
  struct Directory {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}: zip archive: {}", source_, what));
  }

  std::string_view part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      fail("it ends too early");
    }
    return bytes_.substr(at, size);
  }

  // A little-endian number of so many bytes.
  std::uint64_t number(std::uint64_t at, std::size_t size) const {
    const std::string_view digits = part(at, size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    return value;
  }

  // The record at the end, before a comment, says where the directory is.
  Directory directory() const {
    const std::size_t last = bytes_.size() < kEndBytes ? 0 : bytes_.size() - kEndBytes;
    for (std::size_t back = 0; back <= kMaxComment && back <= last; ++back) {
      const std::size_t at = last - back;
      if (number(at, 4) != kEnd) {
        continue;
      }
      if (at >= kEnd64LocatorBytes && number(at - kEnd64LocatorBytes, 4) == kEnd64Locator) {
        const std::uint64_t end = number(at - kEnd64LocatorBytes + 8, 8);
        if (number(end, 4) == kEnd64) {
          return {number(end + 48, 8), number(end + 32, 8)};
        }
      }
      return {number(at + 16, 4), number(at + 10, 2)};
    }
    fail("it has no directory");
  }

  static bool is_program(std::string_view name) {
    if (name.ends_with("serialized_exported_program.json")) {
      return true;
    }
    // NAME/models/NAME.json, where the first NAME is that of the archive.
    const std::size_t slash = name.rfind('/');
    return name.ends_with(".json") && slash != std::string_view::npos &&
           (name.substr(0, slash) == "models" || name.substr(0, slash).ends_with("/models"));
  }

  std::string_view content(std::uint64_t entry, std::string_view name,
                           std::string_view extra) const {
    if (number(entry + 10, 2) != 0) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: zip archive: '{}' is compressed; PyTorch stores it as it is",
                              source_, excerpt(name)));
    }
    std::uint64_t size = number(entry + 24, 4);
    std::uint64_t stored = number(entry + 20, 4);
    std::uint64_t at = number(entry + 42, 4);
    const std::uint64_t extra_at = static_cast<std::uint64_t>(extra.data() - bytes_.data());
    for (std::uint64_t i = 0; i + 4 <= extra.size(); i += 4 + number(extra_at + i + 2, 2)) {
      if (number(extra_at + i, 2) != 1) {
        continue;
      }
      // Only the numbers that do not fit are there, in this order.
      std::uint64_t next = extra_at + i + 4;
      for (std::uint64_t* value : {&size, &stored, &at}) {
        if (*value == kIn64) {
          *value = number(next, 8);
          next += 8;
        }
      }
    }
    if (number(at, 4) != kLocalHeader) {
      fail(fmt::format("'{}' is not where the directory says", excerpt(name)));
    }
    return part(at + kLocalHeaderBytes + number(at + 26, 2) + number(at + 28, 2), size);
  }

  std::string_view bytes_;
  const std::string& source_;
};

}  // namespace

bool is_archive(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

std::string_view find_program(std::string_view bytes, const std::string& source) {
  return Archive(bytes, source).find_program();
}

}  // namespace emplace::torch_program
