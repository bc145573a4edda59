#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/op_key.hpp>

#include <algorithm>

namespace emplace {

std::string_view to_string(CostSource source) {
  switch (source) {
    case CostSource::kMeasured:
      return "measured";
    case CostSource::kInterpolated:
      return "interpolated";
    case CostSource::kRoofline:
      return "roofline";
    case CostSource::kGuess:
      break;
  }
  return "guess";
}

Cost op_cost(const DeviceProfile& profile, const Op& op) {
  // Nothing was timed, but nothing is guessed either: no work takes no time on every roofline.
  if (!launches(op.kind)) {
    return {.us = 0, .source = CostSource::kRoofline};
  }
  for (const MeasuredCost& measured : op.measured) {
    if (measured.device_class == profile.device_class) {
      return {.us = measured.cost_us, .source = CostSource::kMeasured, .spread = measured.spread};
    }
  }
  if (const OpMeasurement* measured = profile.measured.find(op)) {
    return {.us = measured->us, .source = CostSource::kMeasured, .spread = measured->spread};
  }
  const double flops = static_cast<double>(op.flops);
  const double bytes = static_cast<double>(op.bytes_read) + static_cast<double>(op.bytes_written);
  const Roofline& roofline = roofline_of(profile, op_class_of(op.kind));
  const TimeEstimate expected = {.us = roofline_us(profile, roofline, flops, bytes),
                                 .spread = roofline.spread};
  if (const auto between =
          profile.measured.estimate(op.kind, key_type(op), flops, bytes, expected)) {
    return {.us = between->us, .source = CostSource::kInterpolated, .spread = between->spread};
  }
  return {.us = expected.us,
          .source = &roofline != &profile.fallback ? CostSource::kRoofline : CostSource::kGuess,
          .spread = expected.spread};
}

const Roofline& roofline_of(const DeviceProfile& profile, OpClass op_class) {
  const auto& own = profile.rooflines[static_cast<std::size_t>(op_class)];
  return own ? *own : profile.fallback;
}

double roofline_us(const DeviceProfile& profile, const Roofline& roofline, double flops,
                   double bytes) {
  const double compute_us = flops / (roofline.compute_efficiency * profile.peak_flops_per_us);
  const double memory_us = bytes / (roofline.memory_efficiency * profile.memory_bytes_per_us);
  return roofline.fixed_us + std::max(compute_us, memory_us);
}

}  // namespace emplace
