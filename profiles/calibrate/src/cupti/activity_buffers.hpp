#pragma once

// The memory that CUPTI fills with records. CUPTI asks for buffers and hands them back from threads
// of its own and of the program, at any time until the process ends, even when nobody listens any
// more; so this is one for the process and never goes away.

#include "cupti_library.hpp"

#include <emplace/calibrate/activity.hpp>

#include <cstddef>
#include <mutex>

namespace emplace::calibrate {

/// Hands out buffers and keeps the records of those that come back while collecting.
class ActivityBuffers {
 public:
  /// Returns the one of this process.
  static ActivityBuffers& instance();

  /// Keeps what comes back from now on, read with `cupti`, which must live until stop(); returns
  /// false if it does so already.
  bool start(const CuptiLibrary& cupti);
  /// Keeps nothing from now on, and forgets what was kept.
  void stop();
  /// Returns what was kept since the last call.
  ActivityLog take();
  /// Returns whether CUPTI still has a buffer.
  bool any_out() const;

  /// Gives an empty buffer: a callback of CUPTI.
  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) noexcept;
  /// Takes a buffer back; its first `valid` bytes are records. A callback of CUPTI.
  static void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) noexcept;

 private:
  void keep(std::uint8_t* buffer, std::size_t valid);

  mutable std::mutex mutex_;
  const CuptiLibrary* cupti_ = nullptr;  // while collecting
  std::size_t out_ = 0;                  // buffers that CUPTI has
  ActivityLog kept_{};
};

}  // namespace emplace::calibrate
