#pragma once

// What a timeline shows of a step: for each device the ops in lanes and what it sends, and ops that
// are one box. How thin is too thin depends on how long a pixel is.

#include <emplace/base/ids.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Holds what is drawn as one: an op, or neighbours.
struct TimelineBox {
  double from_us = 0;
  double to_us = 0;
  Phase phase = Phase::kForward;
  std::string_view layer{};  ///< the first elements of the ops' scopes
  std::int64_t ops = 1;

  double length_us() const { return to_us - from_us; }
  bool looks_like(const TimelineBox& other) const {
    return phase == other.phase && layer == other.layer;
  }

  /// Adds what follows.
  void add(const TimelineBox& next) {
    to_us = std::max(to_us, next.to_us);
    ops += next.ops;
  }
};

/// Holds ops that do not overlap, by their start times.
using TimelineLane = std::vector<OpId>;

/// Holds transfers of one device that overlap or follow one another.
struct Sending {
  double from_us = 0;
  double to_us = 0;
  std::int64_t transfers = 0;
  std::int64_t bytes = 0;
};

/// Describes what one device did.
struct TimelineRow {
  DeviceId device = 0;
  std::vector<TimelineLane> lanes{};  ///< as few as its ops need
  std::vector<Sending> sendings{};    ///< by time
  double busy_us = 0;                 ///< sum over its ops
};

/// Reads the timeline of a step from its record, which must live longer.
class StepTimeline {
 public:
  /// Requires: `record` is a run on `problem`. `us_per_pixel` is positive.
  StepTimeline(const Problem& problem, const StepRecord& record, double us_per_pixel)
      : problem_(problem), record_(record), us_per_pixel_(us_per_pixel) {}

  /// Says how long a pixel is.
  void set_us_per_pixel(double us_per_pixel) { us_per_pixel_ = us_per_pixel; }

  /// Returns a row for each device that ran an op.
  std::vector<TimelineRow> rows() const;

  /// Returns a lane as boxes: neighbours of one phase and layer together, and what is thinner than
  /// kLeastBox pixels with its neighbour. A layer is the first `depth` elements of a scope.
  std::vector<TimelineBox> boxes_of(const TimelineLane& lane, int depth) const;

 private:
  std::vector<TimelineBox> runs_of(const TimelineLane& lane, int depth) const;
  bool touches(double end_us, double start_us) const;

  const Problem& problem_;
  const StepRecord& record_;
  double us_per_pixel_;
};

/// Returns the first `depth` elements of a scope.
std::string_view layer_of(std::string_view scope, int depth);

}  // namespace emplace::bench
