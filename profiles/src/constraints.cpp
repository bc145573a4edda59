#include "cluster_text.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/params.hpp>
#include <emplace/profiles/constraints.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace emplace {

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

namespace {

// Parts "LEFT=RIGHT" at the last '='.
std::pair<std::string, std::string> halves(const std::string& text, std::string_view what,
                                           std::string_view expected) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} '{}': expected {}", what, excerpt(text), expected));
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

// Returns the devices that a name or a pattern of names selects; there is at least one.
std::vector<Device*> devices_called(Cluster& cluster, const std::string& pattern,
                                    std::string_view what) {
  std::vector<Device*> found;
  std::vector<std::string> names;
  for (Device& device : cluster.devices) {
    names.push_back(device.name);
    if (matches(pattern, device.name)) {
      found.push_back(&device);
    }
  }
  if (found.empty()) {
    throw_unknown_name(fmt::format("device of cluster {} to {}", cluster.name, what), pattern,
                       names);
  }
  return found;
}

void exclude(Cluster& cluster, const std::string& pattern) {
  for (Device* device : devices_called(cluster, pattern, "exclude")) {
    device->placeable = false;
    for (const Pin& pin : cluster.pins) {
      if (pin.device == device->name) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("constraints contradict each other: {} is excluded, and '{}' is "
                                "pinned to it",
                                device->name, pin.pattern));
      }
    }
  }
  if (std::ranges::none_of(cluster.devices, &Device::placeable)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cluster {}: no device is left to place on where '{}' is excluded",
                            cluster.name, pattern));
  }
}

void limit_memory(Cluster& cluster, const std::string& text) {
  const auto [pattern, size] = halves(text, "memory", "DEVICE=SIZE, for example gpu:0=20GB");
  const std::int64_t bytes = parse_size(size, fmt::format("memory '{}'", excerpt(text)));
  for (Device* device : devices_called(cluster, pattern, "limit")) {
    const std::int64_t all = cluster.profiles[device->profile].usable_bytes();
    const std::int64_t limit = bytes < 0 ? all + bytes : bytes;
    if (limit <= 0 || limit > all) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("memory '{}': {} has {:.3f} GB; expected a size up to that, or "
                              "one below 0 that leaves some of it",
                              excerpt(text), device->name, static_cast<double>(all) / 1e9));
    }
    device->memory_limit_bytes = limit == all ? 0 : limit;
  }
}

std::vector<std::string> texts(const JsonCursor& json) {
  std::vector<std::string> all;
  for (const JsonCursor& element : json.elements()) {
    all.push_back(element.non_empty_text());
  }
  return all;
}

// "KEY=VALUE" of each member.
std::vector<std::string> assignments(const JsonCursor& json) {
  std::vector<std::string> all;
  for (const auto& [key, value] : json.members()) {
    all.push_back(fmt::format("{}={}", key, value.non_empty_text()));
  }
  return all;
}

}  // namespace

Constraints read_constraints(const JsonCursor& json) {
  Constraints constraints;
  if (const auto pins = json.find("pin")) {
    constraints.pins = assignments(*pins);
  }
  if (const auto together = json.find("together")) {
    constraints.together = texts(*together);
  }
  if (const auto excluded = json.find("exclude")) {
    constraints.excluded = texts(*excluded);
  }
  if (const auto memory = json.find("memory")) {
    constraints.memory = assignments(*memory);
  }
  return constraints;
}

Constraints read_constraints(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  json.expect_schema("emplace-constraints", 1);
  json.expect_only({"schema", "version", "pin", "together", "exclude", "memory"});
  return read_constraints(json);
}

std::string with_constraints(std::string_view cluster, const Constraints& constraints) {
  Spec spec = without_parameters(cluster).second;
  add_values(spec, "pin", constraints.pins);
  add_values(spec, "together", constraints.together);
  add_values(spec, "exclude", constraints.excluded);
  add_values(spec, "memory", constraints.memory);
  if (constraints.granularity > 0) {
    spec.set("granularity", std::to_string(constraints.granularity));
  }
  return spec.text();
}

void constrain(Cluster& cluster, const Constraints& constraints) {
  std::vector<std::string> names;
  names.reserve(cluster.devices.size());
  for (const Device& device : cluster.devices) {
    names.push_back(device.name);
  }
  for (const std::string& text : constraints.pins) {
    auto [pattern, device] = halves(text, "pin", "SCOPE=DEVICE, for example 'block_1=gpu:0'");
    if (std::ranges::find(names, device) == names.end()) {
      throw_unknown_name(fmt::format("device of cluster {} to pin to", cluster.name), device,
                         names);
    }
    cluster.pins.push_back({.pattern = std::move(pattern), .device = std::move(device)});
  }
  cluster.together.insert(cluster.together.end(), constraints.together.begin(),
                          constraints.together.end());
  for (const std::string& pattern : constraints.excluded) {
    exclude(cluster, pattern);
  }
  for (const std::string& text : constraints.memory) {
    limit_memory(cluster, text);
  }
}

bool selects(const std::string& pattern, const std::string& op_name, std::string_view scope) {
  if (matches(pattern, op_name)) {
    return true;
  }
  while (!scope.empty()) {
    if (matches(pattern, std::string(scope))) {
      return true;
    }
    const std::size_t slash = scope.rfind('/');
    scope = scope.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return false;
}

std::int64_t parse_size(std::string_view text, std::string_view what) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<Unit, 8> kUnits = {{{"B", 1},
                                                  {"kB", 1e3},
                                                  {"MB", 1e6},
                                                  {"GB", 1e9},
                                                  {"TB", 1e12},
                                                  {"KiB", 1024},
                                                  {"MiB", 1048576},
                                                  {"GiB", 1073741824}}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto* const found = std::ranges::find(kUnits, unit, &Unit::name);
  if (error != std::errc() || found == kUnits.end() || !(std::abs(number * found->bytes) < 1e18)) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no size; expected a number and B, kB, "
                                               "MB, GB, TB, KiB, MiB or GiB, for example 20GB",
                                               what, excerpt(text)));
  }
  return std::llround(number * found->bytes);
}

}  // namespace emplace
