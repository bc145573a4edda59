#include "placement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <vector>

namespace emplace::bench {
namespace {

// Reads the number at the beginning of `text` and removes it; -1 if there is none.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = -1;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.starts_with('-')) {
    return -1;
  }
  text.remove_prefix(static_cast<std::size_t>(behind - text.data()));
  return number;
}

}  // namespace

std::string write_placement_text(const Placement& placement) {
  std::string text;
  for (std::span<const DeviceId> left = placement.devices(); !left.empty();) {
    const auto end =
        std::ranges::find_if(left, [&](DeviceId device) { return device != left.front(); });
    const auto count = static_cast<std::size_t>(end - left.begin());
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : " ", left.front());
    if (count > 1) {
      fmt::format_to(std::back_inserter(text), "*{}", count);
    }
    left = left.subspan(count);
  }
  return text;
}

Placement read_placement_text(const JsonCursor& json, std::int64_t groups, std::int64_t devices) {
  const std::string text = json.text();
  std::vector<DeviceId> device_of;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t at = text.size() - left.size();
    const std::int64_t device = take_number(left);
    std::int64_t count = 1;
    if (left.starts_with('*')) {
      left.remove_prefix(1);
      count = take_number(left);
    }
    const bool is_last = left.empty();
    if (device < 0 || device >= devices || count < 1 || !(is_last || left.starts_with(' ')) ||
        left == " ") {
      json.fail(
          fmt::format("expected DEVICE or DEVICE*COUNT, devices from 0 to {}, found something "
                      "else at character {}",
                      devices - 1, at + 1));
    }
    if (count > groups - static_cast<std::int64_t>(device_of.size())) {
      json.fail(fmt::format("expected the devices of {} groups, found more", groups));
    }
    device_of.insert(device_of.end(), static_cast<std::size_t>(count),
                     static_cast<DeviceId>(device));
    left.remove_prefix(is_last ? 0 : 1);
  }
  if (static_cast<std::int64_t>(device_of.size()) != groups) {
    json.fail(fmt::format("expected the devices of {} groups, found {}", groups, device_of.size()));
  }
  return Placement(std::move(device_of));
}

}  // namespace emplace::bench
