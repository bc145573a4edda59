#include "measurement_reader.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// From a picosecond to a week and a half: what lies outside is a wrong unit.
constexpr double kMinUs = 1e-6;
constexpr double kMaxUs = 1e12;
constexpr double kMaxError = 1e9;
constexpr std::int32_t kMaxCount = std::numeric_limits<std::int32_t>::max();

OpMeasurement read_measurement(const JsonCursor& json) {
  json.expect_only({"kind", "shape", "type", "attributes", "us", "relative_deviation", "spread",
                    "warm_us", "runs", "library", "flops", "bytes"});
  OpMeasurement measurement;
  measurement.key.kind = json.at("kind").non_empty_text();
  for (const JsonCursor& dimension : json.at("shape").elements()) {
    measurement.key.shape.push_back(dimension.integer(0));
  }
  if (const auto type = json.find("type")) {
    measurement.key.type = static_cast<DataType>(type->one_of(kDataTypes));
  }
  if (const auto attributes = json.find("attributes")) {
    const Op op{.kind = measurement.key.kind, .shape = measurement.key.shape};
    measurement.key.attributes = attributes_text(read_attributes(*attributes, op));
  }
  measurement.us = json.at("us").number(kMinUs, kMaxUs);
  if (const auto deviation = json.find("relative_deviation", "spread")) {
    measurement.relative_deviation = deviation->number(0, kMaxRelativeDeviation);
  }
  if (const auto warm_us = json.find("warm_us")) {
    measurement.warm_us = warm_us->number(0, kMaxUs);
  }
  measurement.runs = static_cast<std::int32_t>(json.at("runs").integer(1, kMaxCount));
  measurement.library = json.at("library").non_empty_text();
  measurement.flops = json.at("flops").integer(0);
  measurement.bytes = json.at("bytes").integer(0);
  return measurement;
}

PredictionError read_error(const JsonCursor& json) {
  json.expect_only({"predicted", "mean_error", "max_error", "median_error"});
  const auto median = json.find("median_error");
  return {.predicted = static_cast<std::int32_t>(json.at("predicted").integer(0, kMaxCount)),
          .mean = json.at("mean_error").number(0, kMaxError),
          .max = json.at("max_error").number(0, kMaxError),
          .median = median ? median->number(0, kMaxError) : 0};
}

ClassCalibration read_class(const JsonCursor& json) {
  json.expect_only({"measurements", "interpolated", "roofline", "fitted"});
  const auto fitted = json.find("fitted");
  return {.measurements = static_cast<std::int32_t>(json.at("measurements").integer(0, kMaxCount)),
          .interpolated = read_error(json.at("interpolated")),
          .roofline = read_error(json.at("roofline")),
          .fitted = fitted ? read_error(*fitted) : PredictionError{}};
}

}  // namespace

MeasurementTable read_measurements(const JsonCursor& json) {
  std::vector<OpMeasurement> measurements;
  std::map<OpKey, std::size_t> place_of;
  for (const JsonCursor& element : json.elements()) {
    OpMeasurement measurement = read_measurement(element);
    const auto [other, is_new] = place_of.emplace(measurement.key, measurements.size());
    if (!is_new) {
      element.fail(fmt::format(
          "kind, shape, type and attributes are those of measurement {} already (counted from 0)",
          other->second));
    }
    measurements.push_back(std::move(measurement));
  }
  return MeasurementTable(std::move(measurements));
}

Calibration read_calibration(const JsonCursor& json) {
  json.expect_only({"product", "software", "clocks", "date", "runs_throttled", "runs_lost",
                    "op_classes", "all"});
  Calibration calibration{.product = json.at("product").text(),
                          .software = json.at("software").text(),
                          .clocks = json.at("clocks").text(),
                          .date = json.at("date").non_empty_text(),
                          .runs_throttled = json.at("runs_throttled").integer(0),
                          .runs_lost = json.at("runs_lost").integer(0)};
  for (const auto& [name, entry] : json.at("op_classes").members()) {
    calibration.classes[op_class_index(entry, name)] = read_class(entry);
  }
  calibration.all = read_class(json.at("all"));
  return calibration;
}

}  // namespace emplace
