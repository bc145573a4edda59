// A buffer of records as CUPTI packs them, and the times of ops that come of it. The first byte
// chooses CUPTI's version.

#include "fuzz_target.hpp"

#include <emplace/calibrate/activity.hpp>

#include <array>
#include <cstdint>
#include <string_view>

void emplace::fuzz::try_input(std::string_view bytes) {
  constexpr std::array<std::uint32_t, 4> kVersions = {0, 21, 26,
                                                      130001};  // 21: CUDA 12.3, 26: 12.8
  if (bytes.empty()) {
    return;
  }
  emplace::calibrate::ActivityRecording recording{
      .origin = "fuzz",
      .cupti_version = kVersions[static_cast<std::uint8_t>(bytes.front()) % kVersions.size()]};
  bytes.remove_prefix(1);
  recording.buffers.emplace_back(bytes.begin(), bytes.end());
  emplace::calibrate::device_times(emplace::calibrate::parse_activities(recording));
}
