#include "activity_buffers.hpp"

#include "activity_records.hpp"

#include <new>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::align_val_t kAlignment{8};

}  // namespace

ActivityBuffers& ActivityBuffers::instance() {
  static auto* const buffers = new ActivityBuffers;
  return *buffers;
}

bool ActivityBuffers::start(const CuptiLibrary& cupti) {
  const std::lock_guard lock(mutex_);
  if (cupti_ != nullptr) {
    return false;
  }
  cupti_ = &cupti;
  kept_ = {};
  return true;
}

void ActivityBuffers::stop() {
  const std::lock_guard lock(mutex_);
  cupti_ = nullptr;
  kept_ = {};
}

ActivityLog ActivityBuffers::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kept_, {});
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

void ActivityBuffers::complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) noexcept {
  ActivityBuffers& self = instance();
  {
    const std::lock_guard lock(self.mutex_);
    --self.out_;
    if (self.cupti_ != nullptr && valid > 0) {
      self.keep(buffer, valid);
    }
  }
  ::operator delete(buffer, kAlignment);
}

// Ends at a record that is not finished, as a forced flush may leave: what follows is lost.
void ActivityBuffers::keep(std::uint8_t* buffer, std::size_t valid) {
  try {
    CUpti_Activity* record = nullptr;
    while (cupti_->get_next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
      add_record(kept_, *record);
    }
  } catch (const std::bad_alloc&) {
    // Of records without memory nobody knows how many they were.
    ++kept_.dropped_records;
  }
}

}  // namespace emplace::calibrate
