#pragma once

// The measured times of ops on a device, and estimates from them for ops that were not measured.
//
// An op in the table costs what it took. Any other is estimated from the measurements of its kind
// and type of numbers by two laws, which every roofline obeys, and most devices nearly: an op that
// moves and computes no more than another takes no longer; and one with at most r times the FLOPs
// and bytes takes at most r times as long (r >= 1). So a measurement (F_k, B_k, t_k) bounds the
// time t of an op of F FLOPs and B bytes:
//
//     t_k / max(1, F_k / F, B_k / B)  <=  t  <=  t_k * max(1, F / F_k, B / B_k)
//
// with 1 added to all F and B, because some are 0. In the logarithms of F, B and t the bounds are
// pieces of planes (Beliakov 2005, "Monotonicity preserving approximation of multivariate scattered
// data", has the theory). Times that contradict the measurements least, in the sum of the ratios'
// logarithms, lie between the middle two of all bounds. Among them the estimate is the one nearest
// to the prediction of the less certain sources: it is the median of all bounds and that
// prediction.
//
// So it never falls when F or B grows. It differs from the roofline only where measurements do;
// between measurements that grow like the work, or do not grow, it is on their line. If
// measurements contradict each other, because shapes matter too, a single odd one has little
// influence.
//
// Nothing is estimated outside the convex hull of the measurements in the plane of log F and log B,
// except for kHullTolerance. O(log n) for an op in the table, O(n) for another of n of its kind.
// Thread-safe: a table never changes.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/op_key.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// What an op took on a device.
struct OpMeasurement {
  OpKey key{};
  double us = 0;  ///< median, positive
  double relative_deviation =
      0;                   ///< standard deviation over the median, 0 to kMaxRelativeDeviation
  double warm_us = 0;      ///< with its data in the caches, the median; 0: unknown
  std::int32_t runs = 0;   ///< that were kept
  std::string library{};   ///< what computed it: "cudnn", "cublas", "emplace", "reference", ...
  std::int64_t flops = 0;  ///< as Op::flops
  std::int64_t bytes = 0;  ///< read and written

  bool operator==(const OpMeasurement&) const = default;
};

/// A time and how far it may be wrong.
struct TimeEstimate {
  double us = 0;
  double relative_deviation = 0;  ///< standard deviation over the time, 0 to kMaxRelativeDeviation
};

/// Measurements, at most one for each key.
class MeasurementTable {
 public:
  /// Ops may be outside the hull by this share of their FLOPs or bytes: the borders and biases by
  /// which similar ops differ.
  static constexpr double kHullTolerance = 0.01;

  /// Makes an empty table.
  MeasurementTable() = default;

  /// Makes a table of `measurements`. Requires: distinct keys, positive times.
  explicit MeasurementTable(std::vector<OpMeasurement> measurements);

  /// Returns all measurements, sorted by kind, type, shape and attributes.
  const std::vector<OpMeasurement>& all() const { return measurements_; }

  /// Returns the measurement of an op like `op`, of the same attributes if there is one, or null.
  const OpMeasurement* find(const Op& op) const;

  /// Returns the estimate for an op of this kind and type for which the less certain sources
  /// predict `expected`, or nothing if it is outside the hull. Its relative deviation includes how
  /// far apart the bounds are (but no more than the relative deviation of `expected`, unless that
  /// is 0), how far they contradict each other, and the relative deviation of the measurements that
  /// it lies between.
  std::optional<TimeEstimate> estimate(std::string_view kind, DataType type, double flops,
                                       double bytes, const TimeEstimate& expected) const;

  bool operator==(const MeasurementTable& other) const {
    return measurements_ == other.measurements_;
  }

 private:
  /// A place in the plane of logarithms.
  using Point = std::array<double, 2>;

  /// The measurements of one kind and type: a range of the table, and its hull, counterclockwise.
  struct Group {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<Point> hull{};
  };

  const Group* find_group(std::string_view kind, DataType type) const;

  std::vector<OpMeasurement> measurements_;
  std::vector<Group> groups_;
};

}  // namespace emplace
