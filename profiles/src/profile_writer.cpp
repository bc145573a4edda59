#include "profile_writer.hpp"

#include <emplace/base/json.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace emplace {
namespace {

constexpr double kUsPerSecond = 1e6;

// Returns the number per second that is read back as `per_us`, a whole one if there is.
double per_second(double per_us) {
  const double product = per_us * kUsPerSecond;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double candidate : {std::round(product), product, std::nextafter(product, 0.0),
                                 std::nextafter(product, kInfinity)}) {
    if (candidate / kUsPerSecond == per_us) {
      return candidate;
    }
  }
  return product;
}

Json to_json(const Roofline& roofline) {
  Json json = {{"fixed_us", roofline.fixed_us},
               {"compute_efficiency", roofline.compute_efficiency},
               {"memory_efficiency", roofline.memory_efficiency}};
  if (roofline.relative_deviation != 0) {
    json.add("relative_deviation", roofline.relative_deviation);
  }
  if (roofline.form != CostForm::kMaximum) {
    json.add("form", to_string(roofline.form));
  }
  if (roofline.form == CostForm::kTiles) {
    json.add("tile_efficiencies", roofline.tile_efficiencies);
  }
  return json;
}

Json to_json(const CostCase& which) {
  Json json = Json::object();
  if (!which.kinds.empty()) {
    json.add("kinds", which.kinds);
  }
  if (which.window != 0) {
    json.add("window", which.window);
  }
  if (which.precision) {
    json.add("precision", to_string(*which.precision));
  }
  if (!which.proxy.empty()) {
    json.add("proxy", which.proxy);
  }
  json.add_all(to_json(which.roofline));
  return json;
}

// Returns an object with a member for each class that has a roofline, its cases with it.
Json classes_to_json(const DeviceProfile& profile) {
  Json json = Json::object();
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    const std::optional<Roofline>& roofline = profile.rooflines[at];
    if (!roofline) {
      continue;
    }
    Json entry = to_json(*roofline);
    if (!profile.cases[at].empty()) {
      Json cases = Json::array();
      for (const CostCase& which : profile.cases[at]) {
        cases.push_back(to_json(which));
      }
      entry.add("cases", cases);
    }
    json.add(to_string(static_cast<OpClass>(at)), entry);
  }
  return json;
}

Json to_json(const OpMeasurement& measurement) {
  Json json = {{"kind", measurement.key.kind}, {"shape", measurement.key.shape}};
  if (measurement.key.type != DataType::kFloat32) {
    json.add("type", to_string(measurement.key.type));
  }
  if (!measurement.key.attributes.empty()) {
    json.add("attributes", Json::of_text(measurement.key.attributes));
  }
  json.add("us", measurement.us);
  json.add("relative_deviation", measurement.relative_deviation);
  if (measurement.warm_us != 0) {
    json.add("warm_us", measurement.warm_us);
  }
  json.add("runs", measurement.runs);
  json.add("library", measurement.library);
  json.add("flops", measurement.flops);
  json.add("bytes", measurement.bytes);
  return json;
}

Json to_json(const PredictionError& error) {
  Json json = {
      {"predicted", error.predicted}, {"mean_error", error.mean}, {"max_error", error.max}};
  if (error.median != 0) {
    json.add("median_error", error.median);
  }
  return json;
}

Json to_json(const ClassCalibration& calibration) {
  Json json = {{"measurements", calibration.measurements},
               {"interpolated", to_json(calibration.interpolated)},
               {"roofline", to_json(calibration.roofline)}};
  if (calibration.fitted.predicted > 0) {
    json.add("fitted", to_json(calibration.fitted));
  }
  return json;
}

// Returns an object with a member for each class that has an entry.
template <class Entry>
Json by_class(const std::array<std::optional<Entry>, kNumOpClasses>& entries) {
  Json json = Json::object();
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (const std::optional<Entry>& entry = entries[at]) {
      json.add(to_string(static_cast<OpClass>(at)), to_json(*entry));
    }
  }
  return json;
}

Json to_json(const Calibration& calibration) {
  return {{"product", calibration.product},
          {"software", calibration.software},
          {"clocks", calibration.clocks},
          {"date", calibration.date},
          {"runs_throttled", calibration.runs_throttled},
          {"runs_lost", calibration.runs_lost},
          {"op_classes", by_class(calibration.classes)},
          {"all", to_json(calibration.all)}};
}

}  // namespace

Json to_json(const Provenance& provenance) {
  return {{"kind", provenance.kind},
          {"source", provenance.source},
          {"date", provenance.date},
          {"notes", provenance.notes}};
}

Json to_json(const DeviceProfile& profile) {
  Json json = {{"schema", "emplace-device-profile"},
               {"version", 1},
               {"name", profile.name},
               {"device_class", profile.device_class},
               {"summary", profile.summary},
               {"peak_flops_per_s", per_second(profile.peak_flops_per_us)}};
  if (profile.tf32_flops_per_us != 0) {
    json.add("tf32_flops_per_s", per_second(profile.tf32_flops_per_us));
  }
  if (profile.float16_flops_per_us != 0) {
    json.add("float16_flops_per_s", per_second(profile.float16_flops_per_us));
  }
  if (profile.multiprocessors != 0) {
    json.add("multiprocessors", profile.multiprocessors);
  }
  json.add("memory_bytes_per_s", per_second(profile.memory_bytes_per_us));
  if (profile.stream_bytes_per_us != 0) {
    json.add("stream_bytes_per_s", per_second(profile.stream_bytes_per_us));
  }
  if (profile.cache_bytes != 0) {
    json.add("cache_bytes", profile.cache_bytes);
  }
  json.add("memory_bytes", profile.memory_bytes);
  if (profile.context_bytes != 0) {
    json.add("context_bytes", profile.context_bytes);
  }
  if (profile.reserve_bytes != 0) {
    json.add("reserve_bytes", profile.reserve_bytes);
  }
  if (profile.slots != 1) {
    json.add("slots", profile.slots);
  }
  if (profile.speed != 1) {
    json.add("speed", profile.speed);
  }
  if (profile.launch_us != 0) {
    json.add("launch_us", profile.launch_us);
  }
  if (profile.step_factors != DeviceProfile().step_factors) {
    Json factors = Json::object();
    for (std::size_t at = 0; at < kPrecisions.size(); ++at) {
      if (profile.step_factors[at] != 1) {
        factors.add(std::string(kPrecisions[at]), profile.step_factors[at]);
      }
    }
    json.add("step_factors", factors);
  }
  json.add("op_classes", classes_to_json(profile));
  json.add("fallback", to_json(profile.fallback));
  if (!profile.measured.all().empty()) {
    Json measured = Json::array();
    for (const OpMeasurement& measurement : profile.measured.all()) {
      measured.push_back(to_json(measurement));
    }
    json.add("measured", measured);
  }
  if (profile.calibration) {
    json.add("calibration", to_json(*profile.calibration));
  }
  json.add("provenance", to_json(profile.provenance));
  return json;
}

std::string write_device_profile_json(const DeviceProfile& profile) {
  return to_json(profile).laid_out();
}

}  // namespace emplace
