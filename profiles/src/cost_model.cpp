#include <emplace/profiles/device_profile.hpp>

#include <algorithm>

namespace emplace {
namespace {

double roofline_us(const DeviceProfile& profile, const Roofline& roofline, const Op& op) {
  const double bytes = static_cast<double>(op.bytes_read) + static_cast<double>(op.bytes_written);
  const double compute_us =
      static_cast<double>(op.flops) / (roofline.compute_efficiency * profile.peak_flops_per_us);
  const double memory_us = bytes / (roofline.memory_efficiency * profile.memory_bytes_per_us);
  return roofline.fixed_us + std::max(compute_us, memory_us);
}

}  // namespace

std::string_view to_string(CostRung rung) {
  switch (rung) {
    case CostRung::kMeasured:
      return "measured";
    case CostRung::kInterpolated:
      return "interpolated";
    case CostRung::kRoofline:
      return "roofline";
    case CostRung::kGuess:
      break;
  }
  return "guess";
}

Cost op_cost(const DeviceProfile& profile, const Op& op) {
  // Nothing was timed, but nothing is guessed either: no work takes no time on every roofline.
  if (!launches(op.kind)) {
    return {.us = 0, .rung = CostRung::kRoofline};
  }
  for (const MeasuredCost& measured : op.measured) {
    if (measured.device_class == profile.device_class) {
      return {.us = measured.cost_us, .rung = CostRung::kMeasured, .spread = measured.spread};
    }
  }
  const auto& roofline = profile.rooflines[static_cast<std::size_t>(op_class_of(op.kind))];
  if (roofline) {
    return {.us = roofline_us(profile, *roofline, op),
            .rung = CostRung::kRoofline,
            .spread = roofline->spread};
  }
  return {.us = roofline_us(profile, profile.fallback, op),
          .rung = CostRung::kGuess,
          .spread = profile.fallback.spread};
}

}  // namespace emplace
