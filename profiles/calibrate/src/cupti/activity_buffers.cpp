#include "activity_buffers.hpp"

#include "record_walk.hpp"

#include <emplace/graphs/error.hpp>

#include <new>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::align_val_t kAlignment{8};

// Copies the names at which the records of the last buffer point: they may be gone by the time that
// the recording is read, since modules are unloaded.
void copy_names(ActivityRecording& recording) {
  RecordWalk walk(recording, recording.buffers.size() - 1);
  while (const auto record = walk.next()) {
    const std::uint64_t address = record->name_address();
    if (address != 0) {
      // An address is used again when a module has gone; then the newer name wins.
      recording.strings.insert_or_assign(address, reinterpret_cast<const char*>(address));
    }
  }
}

}  // namespace

ActivityBuffers& ActivityBuffers::instance() {
  static auto* const buffers = new ActivityBuffers;
  return *buffers;
}

bool ActivityBuffers::start(std::uint32_t version) {
  const std::lock_guard lock(mutex_);
  if (collecting_) {
    return false;
  }
  collecting_ = true;
  kept_ = {.origin = "CUPTI", .cupti_version = version};
  return true;
}

void ActivityBuffers::stop() {
  const std::lock_guard lock(mutex_);
  collecting_ = false;
  kept_ = {};
}

ActivityRecording ActivityBuffers::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kept_, {.origin = kept_.origin, .cupti_version = kept_.cupti_version});
}

bool ActivityBuffers::any_out() const {
  const std::lock_guard lock(mutex_);
  return out_ > 0;
}

void ActivityBuffers::request(std::uint8_t** buffer, std::size_t* bytes,
                              std::size_t* max_records) noexcept {
  // Without memory there is no buffer; CUPTI counts the records as dropped since CUDA 12.9, and is
  // known to crash before. A buffer is given even when nobody collects, for the same reason.
  *buffer = static_cast<std::uint8_t*>(::operator new(kBufferBytes, kAlignment, std::nothrow));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;  // as many as fit
  if (*buffer != nullptr) {
    ActivityBuffers& self = instance();
    const std::lock_guard lock(self.mutex_);
    ++self.out_;
  }
}

void ActivityBuffers::complete(std::uint8_t* buffer, std::size_t valid) noexcept {
  ActivityBuffers& self = instance();
  {
    const std::lock_guard lock(self.mutex_);
    --self.out_;
    if (self.collecting_ && valid > 0) {
      self.keep(buffer, valid);
    }
  }
  ::operator delete(buffer, kAlignment);
}

void ActivityBuffers::keep(const std::uint8_t* buffer, std::size_t valid) {
  try {
    kept_.buffers.emplace_back(buffer, buffer + valid);
    copy_names(kept_);
  } catch (const Error&) {
    // Whoever reads the recording is told the same.
  } catch (const std::bad_alloc&) {
    // Of records without memory nobody knows how many they were.
    ++kept_.dropped_records;
  }
}

}  // namespace emplace::calibrate
