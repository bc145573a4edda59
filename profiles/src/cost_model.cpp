#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/op_key.hpp>

#include <algorithm>
#include <variant>

namespace emplace {
namespace {

// Of an op that runs alone, and that the graph has no cost of.
Cost cost_alone(const DeviceProfile& profile, const Op& op, Precision precision) {
  if (const OpMeasurement* measured = profile.measured.find(op)) {
    return {.us = measured->us,
            .source = CostSource::kMeasured,
            .relative_deviation = measured->relative_deviation};
  }
  const OpWork work = op_work(op);
  const double layout_us = transpose_us(profile, op, precision);
  const Roofline& roofline = roofline_of(profile, op.kind, op.shape, precision);
  const TimeEstimate expected = {.us = roofline_us(roofline, work, rates_of(profile, precision)),
                                 .relative_deviation = roofline.relative_deviation};
  if (const auto between =
          profile.measured.estimate(op.kind, key_type(op), work.flops, work.bytes, expected)) {
    return {.us = between->us + layout_us,
            .source = CostSource::kInterpolated,
            .relative_deviation = between->relative_deviation};
  }
  return {.us = expected.us + layout_us,
          .source = &roofline != &profile.fallback ? CostSource::kRoofline : CostSource::kGuess,
          .relative_deviation = expected.relative_deviation};
}

}  // namespace

Cost op_cost(const DeviceProfile& profile, const Op& op, MathMode math) {
  // Nothing was timed, but nothing is guessed either: no work takes no time on every roofline.
  if (!launches(op.kind)) {
    return {.us = 0, .source = CostSource::kRoofline};
  }
  for (const MeasuredCost& measured : op.measured) {
    if (measured.device_class == profile.device_class) {
      return {.us = measured.cost_us / profile.speed,
              .source = CostSource::kMeasured,
              .relative_deviation = measured.relative_deviation};
    }
  }
  const Precision precision = precision_of(profile, op.kind, key_type(op), math);
  Cost cost = cost_alone(profile, op, precision);
  cost.us *= profile.step_factors[static_cast<std::size_t>(precision)] / profile.speed;
  return cost;
}

double transpose_us(const DeviceProfile& profile, const Op& op, Precision precision) {
  const auto* const conv = std::get_if<ConvAttributes>(&op.attributes);
  // [N, C, H, W, K, R, S, U, V, dilation, P, Q], as in op_kind.hpp.
  const std::vector<std::int64_t>& shape = op.shape;
  if (conv == nullptr || conv->layout.empty() || precision == Precision::kTf32 ||
      conv->layout == (precision == Precision::kFloat16 ? "nhwc" : "nchw") ||
      op_class_of(op.kind) != OpClass::kConvolution || shape.size() != 12) {
    return 0;
  }
  const auto size = [&](std::size_t at) { return static_cast<double>(shape[at]); };
  const double images = size(0) * (size(1) * size(2) * size(3) + size(4) * size(10) * size(11));
  const double bytes = 2 * images * static_cast<double>(size_of(key_type(op)));
  return bytes / (profile.stream_bytes_per_us > 0 ? profile.stream_bytes_per_us
                                                  : profile.memory_bytes_per_us);
}

Precision precision_of(const DeviceProfile& profile, std::string_view kind, DataType type,
                       MathMode math) {
  const OpClass op_class = op_class_of(kind);
  if (op_class != OpClass::kConvolution && op_class != OpClass::kMatmul) {
    return Precision::kFloat32;
  }
  if (type == DataType::kFloat16 || type == DataType::kBfloat16) {
    return profile.float16_flops_per_us > 0 ? Precision::kFloat16 : Precision::kFloat32;
  }
  const bool is_tf32 = profile.tf32_flops_per_us > 0 && type == DataType::kFloat32 &&
                       (math == MathMode::kTf32 ||
                        (math == MathMode::kFramework && op_class == OpClass::kConvolution));
  return is_tf32 ? Precision::kTf32 : Precision::kFloat32;
}

DeviceRates rates_of(const DeviceProfile& profile, Precision precision) {
  DeviceRates rates = {.flops_per_us = profile.peak_flops_per_us,
                       .bytes_per_us = profile.memory_bytes_per_us,
                       .multiprocessors = profile.multiprocessors};
  if (precision == Precision::kTf32) {
    rates.flops_per_us = profile.tf32_flops_per_us;
  } else if (precision == Precision::kFloat16) {
    rates.flops_per_us = profile.float16_flops_per_us;
  }
  return rates;
}

bool selects(const CostCase& which, std::string_view kind, std::span<const std::int64_t> shape,
             Precision precision) {
  if (which.precision && *which.precision != precision) {
    return false;
  }
  // [N, C, H, W, K, R, S, U, V, dilation, P, Q], as in op_kind.hpp.
  if (which.window != 0 &&
      !(shape.size() == 12 && shape[5] == which.window && shape[6] == which.window &&
        shape[7] == 1 && shape[8] == 1 && shape[9] == 1)) {
    return false;
  }
  return which.kinds.empty() || std::ranges::find(which.kinds, kind) != which.kinds.end();
}

const Roofline& roofline_of(const DeviceProfile& profile, std::string_view kind,
                            std::span<const std::int64_t> shape, Precision precision) {
  const auto at = static_cast<std::size_t>(op_class_of(kind));
  for (const CostCase& which : profile.cases[at]) {
    if (selects(which, kind, shape, precision)) {
      return which.roofline;
    }
  }
  const std::optional<Roofline>& own = profile.rooflines[at];
  return own ? *own : profile.fallback;
}

double roofline_us(const DeviceProfile& profile, const OpMeasurement& measurement) {
  const OpKey& key = measurement.key;
  // A profile with measurements has a peak for TF32 only if that was used (calibrate/fit.hpp).
  const Precision precision = precision_of(profile, key.kind, key.type, MathMode::kTf32);
  return roofline_us(roofline_of(profile, key.kind, key.shape, precision),
                     op_work(key.kind, key.shape, static_cast<double>(measurement.flops),
                             static_cast<double>(measurement.bytes)),
                     rates_of(profile, precision));
}

}  // namespace emplace
