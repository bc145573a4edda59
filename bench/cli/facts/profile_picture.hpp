#pragma once

// A device profile as a picture: what its ops reached under the roof of the device, and how far the
// rooflines of their classes are off.

#include <emplace/profiles/device_profile.hpp>

#include <string>
#include <string_view>

namespace emplace::cli {

/// Throws kUsage unless `path` is that of a picture or ends in ".html".
void check_profile_picture_path(std::string_view path);

/// Returns the picture as SVG: rate against intensity, with the roof of the device and those of the
/// classes, and if there are measurements, predicted over measured time against measured time.
std::string profile_svg(const DeviceProfile& profile);

/// Returns a page of HTML with the picture and what the terminal's report tells.
std::string profile_html(const DeviceProfile& profile);

/// Writes one or the other, as the end of `path` says.
void write_profile_picture(const std::string& path, const DeviceProfile& profile);

}  // namespace emplace::cli
