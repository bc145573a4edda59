// A device profile, which comes back from its own file if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <string>
#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  const emplace::DeviceProfile profile = emplace::read_device_profile(text, "fuzz");
  const std::string written = emplace::write_device_profile_json(profile);
  const std::string again =
      emplace::write_device_profile_json(emplace::read_device_profile(written, "written"));
  EMPLACE_CHECK(written == again, "a profile of {} bytes does not come back", written.size());
}
