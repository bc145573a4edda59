#include "measurement_reader.hpp"
#include "profile_reader.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace emplace {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

// Bounds that no real device comes near: what lies outside is a wrong unit. Capacities stay where a
// double counts single bytes.
constexpr double kMinPerSecond = 1e6;
constexpr double kMaxPerSecond = 1e21;
constexpr double kMaxStepFactor = 100;
constexpr std::int64_t kMaxSlots = 1024;
constexpr std::int64_t kMaxWindow = 1024;
constexpr std::int64_t kMaxMultiprocessors = 1'000'000;
constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 53;

// Unknown kinds of ops are of class kOther: their efficiencies are the fallback, not a class.
constexpr std::size_t kNumNamedClasses = static_cast<std::size_t>(OpClass::kOther);

// Reads the numbers of a roofline, among other members of an object.
Roofline read_numbers(const JsonCursor& json) {
  Roofline roofline{.fixed_us = json.at("fixed_us").number(0, kMaxFixedUs),
                    .compute_efficiency =
                        json.at("compute_efficiency").number(kMinEfficiency, kMaxComputeEfficiency),
                    .memory_efficiency = json.at("memory_efficiency").number(kMinEfficiency, 1)};
  if (const auto deviation = json.find("relative_deviation", "spread")) {
    roofline.relative_deviation = deviation->number(0, kMaxRelativeDeviation);
  }
  if (const auto form = json.find("form")) {
    roofline.form = static_cast<CostForm>(form->one_of(kCostForms));
  }
  if (const auto tiles = json.find("tile_efficiencies")) {
    if (roofline.form != CostForm::kTiles) {
      tiles->fail("expected only where the form is 'tiles'");
    }
    const std::vector<JsonCursor> elements = tiles->elements();
    if (elements.size() != roofline.tile_efficiencies.size()) {
      tiles->fail(fmt::format("expected {} efficiencies, found {}",
                              roofline.tile_efficiencies.size(), elements.size()));
    }
    for (std::size_t at = 0; at < elements.size(); ++at) {
      roofline.tile_efficiencies[at] = elements[at].number(kMinEfficiency, 1);
    }
  }
  return roofline;
}

Roofline read_roofline(const JsonCursor& json) {
  json.expect_only({"fixed_us", "compute_efficiency", "memory_efficiency", "relative_deviation",
                    "spread", "form", "tile_efficiencies"});
  return read_numbers(json);
}

CostCase read_case(const JsonCursor& json, OpClass op_class) {
  json.expect_only({"kinds", "window", "precision", "arithmetic", "proxy", "fixed_us",
                    "compute_efficiency", "memory_efficiency", "relative_deviation", "spread",
                    "form", "tile_efficiencies"});
  CostCase which;
  if (const auto kinds = json.find("kinds")) {
    for (const JsonCursor& element : kinds->elements()) {
      std::string kind = element.text();
      if (op_class_of(kind) != op_class) {
        element.fail(fmt::format("'{}' is not a kind of op of this class", excerpt(kind)));
      }
      which.kinds.push_back(std::move(kind));
    }
  }
  if (const auto window = json.find("window")) {
    which.window = window->integer(1, kMaxWindow);
  }
  if (const auto precision = json.find("precision", "arithmetic")) {
    which.precision = static_cast<Precision>(precision->one_of(kPrecisions));
  }
  if (const auto proxy = json.find("proxy")) {
    which.proxy = proxy->non_empty_text();
  }
  which.roofline = read_numbers(json);
  return which;
}

void read_class(const JsonCursor& json, std::size_t at, DeviceProfile& profile) {
  json.expect_only({"fixed_us", "compute_efficiency", "memory_efficiency", "relative_deviation",
                    "spread", "form", "tile_efficiencies", "cases"});
  profile.rooflines[at] = read_numbers(json);
  if (const auto cases = json.find("cases")) {
    for (const JsonCursor& element : cases->elements()) {
      profile.cases[at].push_back(read_case(element, static_cast<OpClass>(at)));
    }
  }
}

// Reads an optional peak per second, of which 0 stands for none.
double read_peak(const JsonCursor& json, std::string_view name) {
  const auto peak = json.find(name);
  return peak ? peak->number(kMinPerSecond, kMaxPerSecond) / kMicrosecondsPerSecond : 0;
}

}  // namespace

std::size_t op_class_index(const JsonCursor& json, std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < kNumNamedClasses; ++at) {
    names.emplace_back(to_string(static_cast<OpClass>(at)));
  }
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail_unknown_name(json, "op class", name, names);
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::string read_name(const JsonCursor& json) {
  std::string name = json.non_empty_text();
  if (name.size() > kMaxNameBytes) {
    json.fail(
        fmt::format("expected a name of at most {} bytes, found {}", kMaxNameBytes, name.size()));
  }
  return name;
}

void fail_unknown_name(const JsonCursor& json, std::string_view what, std::string_view name,
                       const std::vector<std::string>& names) {
  json.fail(fmt::format("unknown {} '{}'{}", what, excerpt(name), suggest_names(name, names)));
}

Provenance read_provenance(const JsonCursor& json) {
  json.expect_only({"kind", "source", "date", "notes"});
  const std::vector<std::string> kinds = {"spec-sheet", "fitted", "measured"};
  const std::string kind = json.at("kind").text();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    fail_unknown_name(json.at("kind"), "kind of provenance", kind, kinds);
  }
  return {.kind = kind,
          .source = json.at("source").non_empty_text(),
          .date = json.at("date").non_empty_text(),
          .notes = json.at("notes").text()};
}

DeviceProfile read_device_profile(const JsonCursor& json) {
  json.expect_schema("emplace-device-profile", 1);
  json.expect_only({"schema",
                    "version",
                    "name",
                    "device_class",
                    "summary",
                    "peak_flops_per_s",
                    "tf32_flops_per_s",
                    "float16_flops_per_s",
                    "multiprocessors",
                    "memory_bytes_per_s",
                    "stream_bytes_per_s",
                    "cache_bytes",
                    "memory_bytes",
                    "context_bytes",
                    "reserve_bytes",
                    "slots",
                    "speed",
                    "launch_us",
                    "step_factors",
                    "op_classes",
                    "fallback",
                    "measured",
                    "calibration",
                    "provenance"});
  DeviceProfile profile;
  profile.name = json.at("name").non_empty_text();
  profile.device_class = json.at("device_class").non_empty_text();
  profile.summary = json.at("summary").text();
  profile.peak_flops_per_us =
      json.at("peak_flops_per_s").number(kMinPerSecond, kMaxPerSecond) / kMicrosecondsPerSecond;
  profile.tf32_flops_per_us = read_peak(json, "tf32_flops_per_s");
  profile.float16_flops_per_us = read_peak(json, "float16_flops_per_s");
  if (const auto multiprocessors = json.find("multiprocessors")) {
    profile.multiprocessors =
        static_cast<std::int32_t>(multiprocessors->integer(1, kMaxMultiprocessors));
  }
  profile.memory_bytes_per_us =
      json.at("memory_bytes_per_s").number(kMinPerSecond, kMaxPerSecond) / kMicrosecondsPerSecond;
  if (const auto stream = json.find("stream_bytes_per_s")) {
    profile.stream_bytes_per_us =
        stream->number(kMinPerSecond, profile.memory_bytes_per_us * kMicrosecondsPerSecond) /
        kMicrosecondsPerSecond;
  }
  if (const auto cache = json.find("cache_bytes")) {
    profile.cache_bytes = cache->integer(1, kMaxMemoryBytes);
  }
  profile.memory_bytes = json.at("memory_bytes").integer(1, kMaxMemoryBytes);
  if (const auto context = json.find("context_bytes")) {
    profile.context_bytes = context->integer(0, profile.memory_bytes - 1);
  }
  if (const auto reserve = json.find("reserve_bytes")) {
    profile.reserve_bytes = reserve->integer(0, profile.usable_bytes() - 1);
  }
  if (const auto slots = json.find("slots")) {
    profile.slots = static_cast<std::int32_t>(slots->integer(1, kMaxSlots));
  }
  if (const auto speed = json.find("speed")) {
    profile.speed = speed->number(1 / kMaxSpeed, kMaxSpeed);
  }
  if (const auto launch_us = json.find("launch_us")) {
    profile.launch_us = launch_us->number(0, kMaxFixedUs);
  }
  if (const auto factors = json.find("step_factors")) {
    factors->expect_only({kPrecisions.begin(), kPrecisions.end()});
    for (std::size_t at = 0; at < kPrecisions.size(); ++at) {
      if (const auto factor = factors->find(kPrecisions[at])) {
        profile.step_factors[at] = factor->number(1 / kMaxStepFactor, kMaxStepFactor);
      }
    }
  }
  for (const auto& [name, entry] : json.at("op_classes").members()) {
    read_class(entry, op_class_index(entry, name), profile);
  }
  profile.fallback = read_roofline(json.at("fallback"));
  if (const auto measured = json.find("measured")) {
    profile.measured = read_measurements(*measured);
  }
  if (const auto calibration = json.find("calibration")) {
    profile.calibration = read_calibration(*calibration);
  }
  profile.provenance = read_provenance(json.at("provenance"));
  return profile;
}

DeviceProfile read_device_profile(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  return read_device_profile(document.root());
}

}  // namespace emplace
