// Best-known placements as JSON.

#include <emplace/base/check.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/cell.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace emplace::bench {
namespace {

constexpr std::string_view kSchema = "emplace-best-known";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMaxGroups = 100'000'000;
constexpr std::size_t kHashDigits = 16;
// So that a change of one group changes one line, which fits a screen.
constexpr std::size_t kGroupsPerLine = 50;

HowFound found_from_json(const JsonCursor& json) {
  json.expect_only({"by", "evaluations", "seed", "comment", "version"});
  HowFound found{.by = json.at("by").non_empty_text(),
                 .version = json.at("version").non_empty_text()};
  if (const auto evaluations = json.find("evaluations")) {
    found.evaluations = evaluations->integer(0, std::numeric_limits<std::int64_t>::max());
  }
  if (const auto seed = json.find("seed")) {
    found.seed = seed->integer(0, kMaxRootSeed);
  }
  if (const auto comment = json.find("comment")) {
    found.comment = comment->non_empty_text();
  }
  return found;
}

std::string hash_from_json(const JsonCursor& json) {
  std::string hash = json.text();
  if (hash.size() != kHashDigits ||
      hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    json.fail(fmt::format("expected {} hexadecimal digits", kHashDigits));
  }
  return hash;
}

std::vector<std::string> devices_from_json(const JsonCursor& json) {
  std::vector<std::string> names;
  for (const JsonCursor& element : json.elements()) {
    names.push_back(element.non_empty_text());
    if (std::ranges::count(names, names.back()) > 1) {
      element.fail("the device is already in the list");
    }
  }
  if (names.empty()) {
    json.fail("expected at least one device");
  }
  return names;
}

// Appends the numbers of a line: "0 0 12 1".
void read_line(const JsonCursor& json, std::size_t num_devices, std::vector<DeviceId>& devices) {
  const std::string line = json.text();
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    std::int32_t device = -1;
    const auto [behind, error] = std::from_chars(at, end, device);
    if (error != std::errc() || device < 0 || std::cmp_greater_equal(device, num_devices) ||
        (behind != end && *behind != ' ')) {
      json.fail(fmt::format(
          "expected numbers from 0 to {} with a blank between them, found something else at "
          "character {}",
          num_devices - 1, at - line.data() + 1));
    }
    devices.emplace_back(device);
    if (behind == end) {
      return;
    }
    at = behind + 1;
  }
}

Placement placement_from_json(const JsonCursor& json, std::int64_t groups,
                              std::size_t num_devices) {
  std::vector<DeviceId> devices;
  for (const JsonCursor& line : json.elements()) {
    read_line(line, num_devices, devices);
  }
  if (std::cmp_not_equal(devices.size(), groups)) {
    json.fail(fmt::format("expected the devices of {} groups, found {}", groups, devices.size()));
  }
  return Placement(std::move(devices));
}

Json lines_of(const Placement& placement) {
  Json lines = Json::array();
  for (std::span<const DeviceId> left = placement.devices(); !left.empty();) {
    const std::size_t count = std::min(left.size(), kGroupsPerLine);
    lines.push_back(fmt::format("{}", fmt::join(left.first(count), " ")));
    left = left.subspan(count);
  }
  return lines;
}

}  // namespace

Json to_json(const HowFound& found) {
  Json json = {{"by", found.by}};
  if (found.evaluations) {
    json.add("evaluations", *found.evaluations);
  }
  if (found.seed) {
    json.add("seed", *found.seed);
  }
  if (!found.comment.empty()) {
    json.add("comment", found.comment);
  }
  json.add("version", found.version);
  return json;
}

std::string write_best_known(const BestKnown& entry) {
  EMPLACE_CHECK(std::isfinite(entry.step_time_us), "step time {}", entry.step_time_us);
  const Json json = {{"schema", kSchema},
                     {"version", kVersion},
                     {"graph", entry.graph},
                     {"cluster", entry.cluster},
                     {"step_hash", entry.step_hash},
                     {"step_time_us", entry.step_time_us},
                     {"found", to_json(entry.found)},
                     {"devices", entry.devices},
                     {"groups", entry.placement.size()},
                     {"placement", lines_of(entry.placement)}};
  return json.indented(2) + "\n";
}

BestKnown read_best_known(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  json.expect_schema(kSchema, kVersion);
  json.expect_only({"schema", "version", "graph", "cluster", "step_hash", "step_time_us", "found",
                    "devices", "groups", "placement"});
  BestKnown entry{
      .graph = json.at("graph").non_empty_text(),
      .cluster = json.at("cluster").non_empty_text(),
      .step_hash = hash_from_json(json.at("step_hash")),
      .step_time_us = json.at("step_time_us").number(0, std::numeric_limits<double>::max()),
      .found = found_from_json(json.at("found")),
      .devices = devices_from_json(json.at("devices"))};
  entry.placement = placement_from_json(
      json.at("placement"), json.at("groups").integer(1, kMaxGroups), entry.devices.size());
  return entry;
}

}  // namespace emplace::bench
