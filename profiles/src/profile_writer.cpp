#include "profile_writer.hpp"

#include "json_layout.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace emplace {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicrosecondsPerSecond = 1e6;

// Returns the number per second that is read back as `per_us`, a whole one if there is.
double per_second(double per_us) {
  const double product = per_us * kMicrosecondsPerSecond;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double candidate : {std::round(product), product, std::nextafter(product, 0.0),
                                 std::nextafter(product, kInfinity)}) {
    if (candidate / kMicrosecondsPerSecond == per_us) {
      return candidate;
    }
  }
  return product;
}

Json to_json(const Roofline& roofline) {
  Json json = {{"fixed_us", roofline.fixed_us},
               {"compute_efficiency", roofline.compute_efficiency},
               {"memory_efficiency", roofline.memory_efficiency}};
  if (roofline.spread != 0) {
    json["spread"] = roofline.spread;
  }
  if (roofline.form != CostForm::kMaximum) {
    json["form"] = to_string(roofline.form);
  }
  if (roofline.form == CostForm::kTiles) {
    json["tile_efficiencies"] = roofline.tile_efficiencies;
  }
  return json;
}

Json to_json(const CostCase& which) {
  Json json = Json::object();
  if (!which.kinds.empty()) {
    json["kinds"] = which.kinds;
  }
  if (which.window != 0) {
    json["window"] = which.window;
  }
  if (which.arithmetic) {
    json["arithmetic"] = to_string(*which.arithmetic);
  }
  if (!which.proxy.empty()) {
    json["proxy"] = which.proxy;
  }
  json.update(to_json(which.roofline));
  return json;
}

// Returns an object with a member for each class that has a roofline, its cases with it.
Json classes_to_json(const DeviceProfile& profile) {
  Json json = Json::object();
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    if (!profile.rooflines[at]) {
      continue;
    }
    Json entry = to_json(*profile.rooflines[at]);
    for (const CostCase& which : profile.cases[at]) {
      entry["cases"].push_back(to_json(which));
    }
    json[std::string(to_string(static_cast<OpClass>(at)))] = std::move(entry);
  }
  return json;
}

Json to_json(const OpMeasurement& measurement) {
  Json json = {{"kind", measurement.key.kind}, {"shape", measurement.key.shape}};
  if (measurement.key.type != DataType::kFloat32) {
    json["type"] = to_string(measurement.key.type);
  }
  json["us"] = measurement.us;
  json["spread"] = measurement.spread;
  json["runs"] = measurement.runs;
  json["library"] = measurement.library;
  json["flops"] = measurement.flops;
  json["bytes"] = measurement.bytes;
  return json;
}

Json to_json(const PredictionError& error) {
  Json json = {
      {"predicted", error.predicted}, {"mean_error", error.mean}, {"max_error", error.max}};
  if (error.median != 0) {
    json["median_error"] = error.median;
  }
  return json;
}

Json to_json(const ClassCalibration& calibration) {
  Json json = {{"measurements", calibration.measurements},
               {"interpolated", to_json(calibration.interpolated)},
               {"roofline", to_json(calibration.roofline)}};
  if (calibration.fitted.predicted > 0) {
    json["fitted"] = to_json(calibration.fitted);
  }
  return json;
}

// Returns an object with a member for each class that has an entry.
template <class Entry>
Json by_class(const std::array<std::optional<Entry>, kNumOpClasses>& entries) {
  Json json = Json::object();
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (entries[at]) {
      json[std::string(to_string(static_cast<OpClass>(at)))] = to_json(*entries[at]);
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
    json["tf32_flops_per_s"] = per_second(profile.tf32_flops_per_us);
  }
  if (profile.float16_flops_per_us != 0) {
    json["float16_flops_per_s"] = per_second(profile.float16_flops_per_us);
  }
  if (profile.multiprocessors != 0) {
    json["multiprocessors"] = profile.multiprocessors;
  }
  json["memory_bytes_per_s"] = per_second(profile.memory_bytes_per_us);
  json["memory_bytes"] = profile.memory_bytes;
  if (profile.context_bytes != 0) {
    json["context_bytes"] = profile.context_bytes;
  }
  if (profile.reserve_bytes != 0) {
    json["reserve_bytes"] = profile.reserve_bytes;
  }
  if (profile.slots != 1) {
    json["slots"] = profile.slots;
  }
  if (profile.launch_us != 0) {
    json["launch_us"] = profile.launch_us;
  }
  json["op_classes"] = classes_to_json(profile);
  json["fallback"] = to_json(profile.fallback);
  if (!profile.measured.all().empty()) {
    Json measured = Json::array();
    for (const OpMeasurement& measurement : profile.measured.all()) {
      measured.push_back(to_json(measurement));
    }
    json["measured"] = std::move(measured);
  }
  if (profile.calibration) {
    json["calibration"] = to_json(*profile.calibration);
  }
  json["provenance"] = to_json(profile.provenance);
  return json;
}

std::string write_device_profile_json(const DeviceProfile& profile) {
  return lay_out(to_json(profile));
}

}  // namespace emplace
