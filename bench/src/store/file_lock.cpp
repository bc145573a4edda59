#include <emplace/base/error.hpp>
#include <emplace/bench/file_lock.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace emplace::bench {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorCode::kIo, fmt::format("{}: cannot lock: {}", path, std::strerror(error)));
}

// Says whether `path` still names the open file: who held the lock before may have removed it.
bool is_named(int file, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// What a link points at; other paths as they are, for whom errors name.
std::string real_path(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) {
    return path;
  }
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

void lock_file(int file, const std::string& path, const std::string& who) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: another {} is writing here", path, who));
    }
    fail(path, errno);
  }
}

// By its own name, whatever links lead to it: two names of a file are one lock.
FileLock::FileLock(const std::string& path, const std::string& who)
    : path_(real_path(path) + ".lock") {
  while (true) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file_ < 0) {
      fail(path_, errno);
    }
    try {
      lock_file(file_, path, who);
    } catch (...) {
      ::close(file_);
      throw;
    }
    if (is_named(file_, path_)) {
      return;
    }
    ::close(file_);
  }
}

FileLock::~FileLock() {
  // Removed while it is locked, so that no other process holds it; unless it is a file of someone
  // else's that has this name: ours are empty.
  struct stat facts {};
  if (::fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0) {
    ::unlink(path_.c_str());
  }
  ::close(file_);
}

}  // namespace emplace::bench
