#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/profiles/measurement_table.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace emplace {
namespace {

using Point = std::array<double, 2>;

// Ops that compute nothing, such as a concat, have a place in the plane too.
Point place_of(double flops, double bytes) { return {log_of(flops + 1), log_of(bytes + 1)}; }

// Positive if a, b, c turn to the left.
double turn(Point a, Point b, Point c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// Returns the convex hull, counterclockwise (Andrew 1979); of points on a line its two ends.
std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) {
    return points;
  }
  std::vector<Point> hull;
  const auto add_chain = [&hull](auto begin, auto end) {
    const std::size_t start = hull.size();
    for (auto point = begin; point != end; ++point) {
      while (hull.size() >= start + 2 && turn(hull[hull.size() - 2], hull.back(), *point) <= 0) {
        hull.pop_back();
      }
      hull.push_back(*point);
    }
    hull.pop_back();  // the next chain begins with it
  };
  add_chain(points.begin(), points.end());
  add_chain(points.rbegin(), points.rend());
  return hull;
}

double squared_distance(Point point, Point a, Point b) {
  const Point along = {b[0] - a[0], b[1] - a[1]};
  const double squared_length = along[0] * along[0] + along[1] * along[1];
  double part = 0;
  if (squared_length > 0) {
    part = ((point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1]) / squared_length;
    part = std::clamp(part, 0.0, 1.0);
  }
  const Point off = {point[0] - a[0] - part * along[0], point[1] - a[1] - part * along[1]};
  return off[0] * off[0] + off[1] * off[1];
}

// Says whether a point is within `tolerance` of a hull.
bool covers(const std::vector<Point>& hull, Point point, double tolerance) {
  bool is_inside = hull.size() > 2;
  for (std::size_t at = 0; at < hull.size(); ++at) {
    const Point next = hull[(at + 1) % hull.size()];
    if (squared_distance(point, hull[at], next) <= tolerance * tolerance) {
      return true;
    }
    is_inside = is_inside && turn(hull[at], next, point) >= 0;
  }
  return is_inside;
}

struct Bound {
  double us = 0;
  double relative_deviation = 0;  // of the measurement

  auto operator<=>(const Bound&) const = default;
};

// Bounds the time of one op by the measurements of its kind and type.
class Bounds {
 public:
  Bounds(std::span<const OpMeasurement> measurements, double flops, double bytes)
      : measurements_(measurements), flops_(flops + 1), bytes_(bytes + 1) {}

  TimeEstimate estimate(const TimeEstimate& expected) const {
    std::vector<Bound> bounds;
    bounds.reserve(2 * measurements_.size());
    for (const OpMeasurement& measurement : measurements_) {
      bounds.push_back({lower_us(measurement), measurement.relative_deviation});
      bounds.push_back({upper_us(measurement), measurement.relative_deviation});
    }
    const auto above = bounds.begin() + static_cast<std::ptrdiff_t>(measurements_.size());
    std::nth_element(bounds.begin(), above, bounds.end());
    const Bound lower = *std::max_element(bounds.begin(), above);
    const double us = std::clamp(expected.us, lower.us, above->us);

    // Of a time that may be anywhere between the two: a standard deviation of width / sqrt(12).
    double undecided = (above->us - lower.us) / (us * std::sqrt(12.0));
    if (expected.relative_deviation > 0) {
      undecided = std::min(undecided, expected.relative_deviation);
    }
    const double contradiction = contradiction_at(us);
    const double own = std::max(lower.relative_deviation, above->relative_deviation);
    const double relative_deviation =
        std::sqrt(undecided * undecided + contradiction * contradiction + own * own);
    return {.us = us, .relative_deviation = std::min(relative_deviation, kMaxRelativeDeviation)};
  }

 private:
  double lower_us(const OpMeasurement& of) const {
    return of.us / std::max({1.0, (static_cast<double>(of.flops) + 1) / flops_,
                             (static_cast<double>(of.bytes) + 1) / bytes_});
  }
  double upper_us(const OpMeasurement& of) const {
    return of.us * std::max({1.0, flops_ / (static_cast<double>(of.flops) + 1),
                             bytes_ / (static_cast<double>(of.bytes) + 1)});
  }

  // Returns by what part `us` breaks the bounds that it breaks, on average.
  double contradiction_at(double us) const {
    double sum = 0;
    int broken = 0;
    for (const OpMeasurement& measurement : measurements_) {
      const double lower = lower_us(measurement);
      const double upper = upper_us(measurement);
      if (us < lower || us > upper) {
        sum += us < lower ? lower / us - 1 : us / upper - 1;
        ++broken;
      }
    }
    return broken > 0 ? sum / broken : 0;
  }

  std::span<const OpMeasurement> measurements_;
  double flops_;
  double bytes_;
};

// The order of the table: those of one kind and type stand together.
auto order_of(const OpMeasurement& measurement) {
  const OpKey& key = measurement.key;
  return std::tie(key.kind, key.type, key.shape, key.attributes);
}

}  // namespace

MeasurementTable::MeasurementTable(std::vector<OpMeasurement> measurements)
    : measurements_(std::move(measurements)) {
  std::sort(
      measurements_.begin(), measurements_.end(),
      [](const OpMeasurement& a, const OpMeasurement& b) { return order_of(a) < order_of(b); });
  for (std::size_t at = 0; at < measurements_.size(); ++at) {
    const OpMeasurement& measurement = measurements_[at];
    EMPLACE_CHECK(measurement.us > 0, "a measured {} took {} us", measurement.key.kind,
                  measurement.us);
    EMPLACE_CHECK(at == 0 || measurement.key != measurements_[at - 1].key,
                  "two measurements of one {}", measurement.key.kind);
  }
  for (std::size_t begin = 0; begin < measurements_.size();) {
    Group group{.begin = begin, .end = begin};
    std::vector<Point> points;
    const OpKey& first = measurements_[begin].key;
    for (; group.end < measurements_.size() && measurements_[group.end].key.kind == first.kind &&
           measurements_[group.end].key.type == first.type;
         ++group.end) {
      const OpMeasurement& measurement = measurements_[group.end];
      points.push_back(
          place_of(static_cast<double>(measurement.flops), static_cast<double>(measurement.bytes)));
    }
    group.hull = hull_of(std::move(points));
    begin = group.end;
    groups_.push_back(std::move(group));
  }
}

const MeasurementTable::Group* MeasurementTable::find_group(std::string_view kind,
                                                            DataType type) const {
  const auto found = std::partition_point(groups_.begin(), groups_.end(), [&](const Group& group) {
    const OpKey& key = measurements_[group.begin].key;
    return std::tuple<std::string_view, DataType>(key.kind, key.type) < std::tie(kind, type);
  });
  if (found == groups_.end() || measurements_[found->begin].key.kind != kind ||
      measurements_[found->begin].key.type != type) {
    return nullptr;
  }
  return &*found;
}

const OpMeasurement* MeasurementTable::find(const Op& op) const {
  const Group* group = find_group(op.kind, key_type(op));
  if (group == nullptr) {
    return nullptr;
  }
  const auto end = measurements_.begin() + static_cast<std::ptrdiff_t>(group->end);
  const auto found = std::partition_point(
      measurements_.begin() + static_cast<std::ptrdiff_t>(group->begin), end,
      [&](const OpMeasurement& measurement) { return measurement.key.shape < op.shape; });
  if (found == end || found->key.shape != op.shape) {
    return nullptr;
  }
  // Of sizes that were not measured with these attributes, others are the best that there is.
  const std::string attributes = attributes_text(op.attributes);
  const auto others = std::find_if(found, end, [&](const OpMeasurement& measurement) {
    return measurement.key.shape != op.shape || measurement.key.attributes == attributes;
  });
  return others != end && others->key.shape == op.shape ? &*others : &*found;
}

std::optional<TimeEstimate> MeasurementTable::estimate(std::string_view kind, DataType type,
                                                       double flops, double bytes,
                                                       const TimeEstimate& expected) const {
  const Group* group = find_group(kind, type);
  if (group == nullptr || !covers(group->hull, place_of(flops, bytes), kHullTolerance)) {
    return std::nullopt;
  }
  return Bounds(std::span(measurements_).subspan(group->begin, group->end - group->begin), flops,
                bytes)
      .estimate(expected);
}

}  // namespace emplace
