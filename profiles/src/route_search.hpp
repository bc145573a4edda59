#pragma once

// Finds the routes that a cluster file leaves out: the cheapest way over its links, where a link
// costs its latency and the time for a megabyte (2^20 bytes).
//
// Places are numbered: the devices first, then the switches. Switches forward; a device does
// not, so a mesh of cables between devices does not relay. Costs are whole nanoseconds, so that
// the order of a sum decides no tie. Of equally cheap routes the one with the fewest links is best,
// then the one whose links stand first in the file, compared from the start of the route. Dijkstra
// from each goal: O(arcs log arcs).

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/profiles/topology.hpp>

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace {

/// Index of a device or switch of a cluster.
using Place = std::int32_t;

/// Orders routes: first by time, then by the number of links.
struct RouteCost {
  std::int64_t ns = 0;
  std::int32_t links = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
  auto operator<=>(const RouteCost&) const = default;

  /// Returns the cost of one route after the other.
  friend RouteCost operator+(RouteCost a, RouteCost b) {
    return {.ns = a.ns + b.ns, .links = a.links + b.links};
  }
};

/// Says how the best route to a goal goes on from a place.
struct RouteStep {
  RouteCost cost{};        ///< of the rest of the route
  std::int32_t link = -1;  ///< -1 at the goal
  Place next = -1;         ///< where the link leads
};

/// Finds the best routes between the devices of a network of links.
class RouteSearch {
 public:
  /// Starts without a link between places, of which the first `num_devices` are devices.
  RouteSearch(DeviceId num_devices, Place num_places);

  /// Lets `link`, which has the index `index`, lead from one place to another.
  void add_arc(Place from, Place to, std::int32_t index, const Link& link);

  /// Returns the step to take towards `goal` from each place; its cost is kNoRoute where there is
  /// no way.
  IdVector<Place, RouteStep> steps_to(DeviceId goal) const;

  /// More than any route costs, yet a link may be added to it.
  static constexpr RouteCost kNoRoute{.ns = std::numeric_limits<std::int64_t>::max() / 2};

 private:
  struct Arc {
    Place from = 0;
    Place to = 0;
    std::int32_t link = 0;
    RouteCost cost{};
  };

  bool may_enter(Place place, DeviceId goal) const {
    return place >= num_devices_ || place == goal;
  }

  DeviceId num_devices_;
  IdVector<Place, std::vector<Arc>> arcs_from_;  // in the order of the file
  IdVector<Place, std::vector<Arc>> arcs_to_;
};

/// Returns the links of a route, in order. Requires: `steps` from steps_to(), with a way from
/// `from`.
std::vector<std::int32_t> follow(const IdVector<Place, RouteStep>& steps, DeviceId from);

}  // namespace emplace
