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
constexpr std::int64_t kVersion = 2;  // 1 had no priorities
constexpr std::int64_t kMaxGroups = 100'000'000;
constexpr std::size_t kHashDigits = 16;
// So that a change of one group changes one line, which fits a screen.
constexpr std::size_t kGroupsPerLine = 25;

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

// Appends the numbers of a line, from 0 to `largest`: "0 0 12 1".
void read_line(const JsonCursor& json, std::int32_t largest, std::vector<std::int32_t>& numbers) {
  const std::string line = json.text();
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    std::int32_t number = -1;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number > largest ||
        (behind != end && *behind != ' ')) {
      json.fail(fmt::format(
          "expected numbers from 0 to {} with a blank between them, found something else at "
          "character {}",
          largest, at - line.data() + 1));
    }
    numbers.push_back(number);
    if (behind == end) {
      return;
    }
    at = behind + 1;
  }
}

BestKnownStep step_from_json(const JsonCursor& json) {
  json.expect_schema(kSchema, kVersion);
  json.expect_only({"schema", "version", "graph", "cluster", "step_hash", "step_time_us", "found",
                    "groups", "devices", "placement", "priorities"});
  return {.graph = json.at("graph").non_empty_text(),
          .cluster = json.at("cluster").non_empty_text(),
          .step_hash = hash_from_json(json.at("step_hash")),
          .step_time_us = json.at("step_time_us").number(0, std::numeric_limits<double>::max()),
          .found = found_from_json(json.at("found")),
          .groups = static_cast<GroupId>(json.at("groups").integer(1, kMaxGroups))};
}

// Reads one number for each group.
std::vector<std::int32_t> numbers_from_json(const JsonCursor& json, std::int64_t groups,
                                            std::int32_t largest, std::string_view what) {
  std::vector<std::int32_t> numbers;
  for (const JsonCursor& line : json.elements()) {
    read_line(line, largest, numbers);
  }
  if (std::cmp_not_equal(numbers.size(), groups)) {
    json.fail(fmt::format("expected the {} of {} groups, found {}", what, groups, numbers.size()));
  }
  return numbers;
}

Placement placement_from_json(const JsonCursor& json, std::int64_t groups,
                              std::size_t num_devices) {
  const std::vector<std::int32_t> devices = numbers_from_json(
      json.at("placement"), groups, static_cast<std::int32_t>(num_devices) - 1, "devices");
  Placement placement(std::vector<DeviceId>(devices.begin(), devices.end()));
  if (const auto member = json.find("priorities")) {
    IdVector<GroupId, Priority> priorities;
    for (const std::int32_t priority :
         numbers_from_json(*member, groups, std::numeric_limits<Priority>::max(), "priorities")) {
      priorities.push_back(priority);
    }
    placement.set_priorities(std::move(priorities));
  }
  return placement;
}

// Only the order of priorities counts, so they are written as the numbers from 0.
std::vector<std::int32_t> ranks_of(std::span<const Priority> priorities) {
  std::vector<Priority> sorted(priorities.begin(), priorities.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::int32_t> ranks;
  for (const Priority priority : priorities) {
    ranks.push_back(
        static_cast<std::int32_t>(std::ranges::lower_bound(sorted, priority) - sorted.begin()));
  }
  return ranks;
}

template <typename T>
Json lines_of(std::span<const T> numbers) {
  Json lines = Json::array();
  while (!numbers.empty()) {
    const std::size_t count = std::min(numbers.size(), kGroupsPerLine);
    lines.push_back(fmt::format("{}", fmt::join(numbers.first(count), " ")));
    numbers = numbers.subspan(count);
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
  Json json = {{"schema", kSchema},
               {"version", kVersion},
               {"graph", entry.graph},
               {"cluster", entry.cluster},
               {"step_hash", entry.step_hash},
               {"step_time_us", entry.step_time_us},
               {"found", to_json(entry.found)},
               {"groups", entry.placement.size()},
               {"devices", entry.devices},
               {"placement", lines_of(entry.placement.devices())}};
  if (entry.placement.has_priorities()) {
    json.add("priorities",
             lines_of(std::span<const std::int32_t>(ranks_of(entry.placement.priorities()))));
  }
  return json.indented(2) + "\n";
}

BestKnownStep read_best_known_step(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  return step_from_json(document.root());
}

BestKnown read_best_known(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  BestKnownStep step = step_from_json(json);
  std::vector<std::string> devices = devices_from_json(json.at("devices"));
  Placement placement = placement_from_json(json, step.groups, devices.size());
  return {.graph = std::move(step.graph),
          .cluster = std::move(step.cluster),
          .step_hash = std::move(step.step_hash),
          .step_time_us = step.step_time_us,
          .found = std::move(step.found),
          .devices = std::move(devices),
          .placement = std::move(placement)};
}

}  // namespace emplace::bench
