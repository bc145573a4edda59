#pragma once

// Keeps two processes from writing the same files. The lock is the system's (flock), so it ends
// with the process, however the process ends.

#include <string>

namespace emplace::bench {

/// The lock of a file as long as it lives.
class FileLock {
 public:
  /// Makes the file `path`.lock, next to what `path` links to, and locks it. Throws kUsage,
  /// "<path>: another <who> is writing here", if a process has locked it, and kIo if it cannot be
  /// made or locked.
  FileLock(const std::string& path, const std::string& who);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// Removes the file if it is empty; one that is not is someone else's.
  ~FileLock();

 private:
  std::string path_;
  int file_ = -1;
};

/// Locks the open file `file`, whose name for errors is `path`, until it is closed. Throws as
/// FileLock does.
void lock_file(int file, const std::string& path, const std::string& who);

}  // namespace emplace::bench
