#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <limits>
#include <memory>

namespace emplace {
namespace {

[[noreturn]] void fail(std::string_view action, const std::string& path, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("cannot {} '{}': {}", action, excerpt(path, 200), std::strerror(error)));
}

// Makes a name beside `path` that no other writer of this machine uses at the same time.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string name = fmt::format(".emplace-{}-{}.tmp", ::getpid(), counter++);
  return (std::filesystem::path(path).parent_path() / name).string();
}

// Writes all of `text` and syncs it to the disk; returns 0 or an errno.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // Pipes and terminals cannot be synced, and need not be.
  return ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

// Opens `path` with `flags`, writes `text` and closes it; returns 0 or an errno.
int write_to(const std::string& path, int flags, std::string_view text) {
  const int file = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) {
    return errno;
  }
  const int error = write_all(file, text);
  return ::close(file) == 0 || error != 0 ? error : errno;
}

constexpr std::string_view kGzip = "\x1f\x8b";

// A small gzipped file may hold a thousand times as much. Texts shrink to a tenth or a fortieth.
std::size_t most_unzipped(std::size_t gzipped_bytes) {
  constexpr std::size_t kAlways = std::size_t{1} << 26;
  constexpr std::size_t kMost = std::size_t{1} << 32;
  constexpr std::size_t kFactor = 100;
  return std::clamp(kFactor * gzipped_bytes, kAlways, kMost);
}

std::string unzip(const std::string& gzipped, const std::string& path) {
  z_stream stream{};
  constexpr int kGzipFormat = 16;
  if (inflateInit2(&stream, MAX_WBITS + kGzipFormat) != Z_OK) {
    fail("unzip", path, ENOMEM);
  }
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  // zlib's counts have 32 bits, so a large file is handed over in blocks.
  constexpr std::size_t kBlock = std::size_t{1} << 24;
  const std::size_t most = most_unzipped(gzipped.size());
  std::string text;
  std::string block(1 << 18, '\0');
  int state = Z_OK;
  for (std::size_t at = 0; at < gzipped.size() && (state == Z_OK || state == Z_STREAM_END);) {
    if (state == Z_STREAM_END) {  // files that were gzipped one by one and put together
      inflateReset(&stream);
    }
    const std::size_t size = std::min(kBlock, gzipped.size() - at);
    // zlib does not write to its input; its C type just does not say so.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzipped.data() + at));
    stream.avail_in = static_cast<uInt>(size);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      state = inflate(&stream, Z_NO_FLUSH);
      text.append(block, 0, block.size() - stream.avail_out);
      if (state == Z_BUF_ERROR && stream.avail_in == 0) {
        state = Z_OK;  // the rest is in the next block
      }
      if (text.size() > most) {
        throw Error(ErrorCode::kFormat,
                    fmt::format("{}: expected at most {} bytes when unzipped", path, most));
      }
    } while (state == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    at += size - stream.avail_in;
  }
  if (state != Z_STREAM_END) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("{}: expected a whole gzipped file, found one that is cut off or damaged",
                    path));
  }
  return text;
}

// Some devices never end, such as /dev/zero; a terminal does, long before this.
std::size_t most_bytes(const struct stat& facts) {
  constexpr std::size_t kMaxDeviceBytes = std::size_t{1} << 24;
  return S_ISCHR(facts.st_mode) ? kMaxDeviceBytes : std::numeric_limits<std::size_t>::max();
}

std::string read_all(std::istream& stream, std::size_t most, const std::string& path) {
  std::string text;
  std::string block(1 << 18, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())),
         stream.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: expected at most {} bytes from a device",
                                                  excerpt(path, 200), most));
    }
  }
  if (stream.bad()) {
    fail("read", path, EIO);
  }
  return text;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  if (path == "-") {
    struct stat facts {};
    ::fstat(STDIN_FILENO, &facts);
    return read_all(std::cin, most_bytes(facts), "standard input");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("read", path, EISDIR);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fail("read", path, errno != 0 ? errno : EIO);
  }
  struct stat facts {};
  ::stat(path.c_str(), &facts);
  std::string text = read_all(file, most_bytes(facts), path);
  return text.starts_with(kGzip) ? unzip(text, path) : text;
}

void write_text_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
    if (!std::cout) {
      fail("write", "standard output", EIO);
    }
    return;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("write", path, EISDIR);
  }
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    // A device or a pipe: a rename would put a plain file in its place.
    if (const int error = write_to(path, 0, text); error != 0) {
      fail("write", path, error);
    }
    return;
  }
  // What a link points at is replaced, not the link.
  std::error_code not_there;
  const std::filesystem::path real = std::filesystem::canonical(path, not_there);
  const std::string target = not_there ? path : real.string();
  const std::string temporary = temporary_name(target);
  int error = write_to(temporary, O_CREAT | O_EXCL, text);
  if (error == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    std::remove(temporary.c_str());
    fail("write", path, error);
  }
}

}  // namespace emplace
