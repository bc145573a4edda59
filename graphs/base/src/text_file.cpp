#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace emplace {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view action, const std::string& path, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("cannot {} '{}': {}", action, excerpt(path, 200), std::strerror(error)));
}

// Owns a descriptor.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  // Returns 0 or an errno.
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 ? 0 : errno;
  }

 private:
  int number_;
};

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

// Writes to a device or a pipe; returns 0 or an errno.
int write_in_place(const std::string& path, std::string_view text) {
  OpenFile file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return errno;
  }
  const int error = write_all(file.number(), text);
  const int close_error = file.close();
  return error != 0 ? error : close_error;
}

// --- Temporary files ---
//
// Their names are random: process ids repeat, in containers within seconds. Whoever writes one
// holds a lock on it, so one without a lock was left by a program that was killed, and may go.

constexpr std::string_view kPrefix = ".emplace-";
constexpr std::string_view kSuffix = ".tmp";
constexpr std::size_t kRandomDigits = 32;

bool is_temporary_name(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomDigits + kSuffix.size() &&
         name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         name.substr(kPrefix.size(), kRandomDigits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

std::string temporary_name(const fs::path& folder) {
  std::array<std::uint64_t, 2> random{};
  static_assert(sizeof random * 2 == kRandomDigits);
  if (::getentropy(random.data(), sizeof random) != 0) {
    fail("write", folder.string(), errno);
  }
  return folder / fmt::format("{}{:016x}{:016x}{}", kPrefix, random[0], random[1], kSuffix);
}

bool lock(int file) {
  // Where a file system has no locks, nothing is ever removed, so none is needed.
  return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void remove_if_left(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (file.is_open() && ::fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode) &&
      ::flock(file.number(), LOCK_EX | LOCK_NB) == 0) {
    ::unlink(path.c_str());
  }
}

// Removes what killed programs left in a folder, once for each folder that this one writes to.
void clean(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> cleaned;
  {
    const std::lock_guard guard(mutex);
    if (!cleaned.insert(folder).second) {
      return;
    }
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().native())) {
      remove_if_left(entry->path());
    }
  }
}

// A new file beside a target, that goes with this object unless it becomes the target.
class TemporaryFile {
 public:
  // Makes and locks one with the rights and the owner of the target, where there is one.
  explicit TemporaryFile(const std::string& target) : target_(target), file_(-1) {
    const fs::path folder = fs::path(target).parent_path();
    struct stat old {};
    const bool exists = ::stat(target.c_str(), &old) == 0;
    constexpr mode_t kAll = 07777;
    const mode_t mode = exists ? old.st_mode & kAll : 0666;
    while (!file_.is_open()) {
      path_ = temporary_name(folder);
      file_ = OpenFile(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode & 0666));
      if (!file_.is_open()) {
        if (errno == EEXIST) {
          continue;
        }
        fail("write", target, errno);
      }
      // Between the two calls another program may have taken it for one that was left.
      struct stat now {};
      if (!lock(file_.number()) || ::fstat(file_.number(), &now) != 0 || now.st_nlink == 0) {
        file_.close();
      }
    }
    if (exists) {
      // Only root may give a file away; the rights come after, for a change of owner resets some.
      if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0 ||
          ::fchmod(file_.number(), mode) != 0) {
        ::fchmod(file_.number(), mode & 0777);
      }
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }

  // Writes all of the text and takes the place of the target.
  void become_target(std::string_view text) {
    int error = write_all(file_.number(), text);
    if (error == 0 && std::rename(path_.c_str(), target_.c_str()) != 0) {
      error = errno;
    }
    if (error != 0) {
      fail("write", target_, error);
    }
    path_.clear();
    // Without the folder, a power cut may undo the renaming. Not all file systems sync folders.
    const std::string folder = fs::path(target_).parent_path();
    const OpenFile directory(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.is_open()) {
      ::fsync(directory.number());
    }
  }

 private:
  std::string target_;
  std::string path_{};
  OpenFile file_;
};

constexpr std::string_view kGzip = "\x1f\x8b";

constexpr std::size_t kMaxUnsizedBytes = std::size_t{1} << 32;  // of what does not tell its size

// A small gzipped file may hold a thousand times as much. Texts shrink to a tenth or a fortieth.
std::size_t most_unzipped(std::size_t gzipped_bytes) {
  constexpr std::size_t kAlways = std::size_t{1} << 26;
  constexpr std::size_t kFactor = 100;
  return std::clamp(kFactor * gzipped_bytes, kAlways, kMaxUnsizedBytes);
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

// Some devices never end, such as /dev/zero; a terminal does, long before this. Nor do some pipes.
std::size_t most_bytes(const struct stat& facts) {
  constexpr std::size_t kMaxDeviceBytes = std::size_t{1} << 24;
  return S_ISREG(facts.st_mode)   ? std::numeric_limits<std::size_t>::max()
         : S_ISCHR(facts.st_mode) ? kMaxDeviceBytes
                                  : kMaxUnsizedBytes;
}

std::string read_all(std::istream& stream, std::size_t most, const std::string& path) {
  std::string text;
  std::string block(1 << 18, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())),
         stream.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: expected at most {} bytes from a device or a pipe",
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
  if (fs::is_directory(path, ignored)) {
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

void expect_plain_file(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    throw Error(
        ErrorCode::kIo,
        fmt::format("{}: expected a plain file, found {}", path,
                    S_ISLNK(facts.st_mode) ? "a link; link the folder instead" : "something else"));
  }
}

std::string read_plain_file(const std::string& path) {
  expect_plain_file(path);
  return read_text_file(path);
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
  if (fs::is_directory(path, ignored)) {
    fail("write", path, EISDIR);
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    // A device or a pipe: a rename would put a plain file in its place.
    if (const int error = write_in_place(path, text); error != 0) {
      fail("write", path, error);
    }
    return;
  }
  // What a link points at is replaced, not the link.
  std::error_code not_there;
  const fs::path real = fs::canonical(path, not_there);
  const std::string target = not_there ? path : real.string();
  const fs::path folder = fs::path(target).parent_path();
  clean(folder.empty() ? "." : folder);
  TemporaryFile(target).become_target(text);
}

}  // namespace emplace
