#pragma once

// How data moves between the devices of a cluster: links that transfers share, and the route from
// each device to each other one.
//
// A link is what transfers compete for: one direction of a cable, both directions where they share
// its bandwidth, a bus, a copy engine. A route is the set of links that a transfer occupies at the
// same time. docs/concepts/simulation.md explains how the `physical` engine serves them.

#include <emplace/base/ids.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Bounds of bandwidths and latencies in files; a value outside has a wrong unit.
inline constexpr double kMinBytesPerUs = 1e-3;
inline constexpr double kMaxBytesPerUs = 1e15;
inline constexpr double kMaxLatencyUs = 1e9;

/// How a link serves simultaneous transfers: it shares its bandwidth among them max-min fairly,
/// serves them one after the other in order of arrival, or gives each all of its bandwidth.
enum class LinkSharing : std::uint8_t { kFair, kFifo, kFatpipe };

/// The names of the policies, in the order of LinkSharing.
inline constexpr std::array<std::string_view, 3> kLinkSharings = {"fair", "fifo", "fatpipe"};

/// Returns the name of a policy.
inline std::string_view to_string(LinkSharing sharing) {
  return kLinkSharings[static_cast<std::size_t>(sharing)];
}

/// Describes a link.
struct Link {
  /// Unique in its cluster. The two directions of a cable "pcie:0" between "gpu:0" and "plx:0" are
  /// "pcie:0 gpu:0>plx:0" and "pcie:0 plx:0>gpu:0".
  std::string name{};
  double bytes_per_us = 0;  ///< positive and finite
  double latency_us = 0;    ///< until the first byte is through; uses no bandwidth
  LinkSharing sharing = LinkSharing::kFair;

  bool operator==(const Link&) const = default;
};

/// The links of a cluster and a route for each ordered pair of devices.
class Topology {
 public:
  /// Makes a topology without links, of no devices.
  Topology() = default;

  /// Makes a topology of `num_devices` devices without routes.
  Topology(DeviceId num_devices, std::vector<Link> links);

  /// Sets the route between two different devices. Requires: indices of links, each at most once.
  void set_route(DeviceId from, DeviceId to, std::vector<std::int32_t> links);

  /// Returns the number of devices between which it has routes.
  DeviceId num_devices() const { return num_devices_; }

  /// Returns the links.
  const std::vector<Link>& links() const { return links_; }

  /// Returns the links of a route, in order; empty for a device to itself, and if there is none.
  std::span<const std::int32_t> route(DeviceId from, DeviceId to) const {
    return routes_[cell(from, to)];
  }

  /// Returns the sum of the latencies of a route.
  double latency_us(DeviceId from, DeviceId to) const;

  /// Returns the bandwidth of the slowest link of a route; infinity if there is none.
  double bytes_per_us(DeviceId from, DeviceId to) const;

  bool operator==(const Topology&) const = default;

 private:
  std::size_t cell(DeviceId from, DeviceId to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(num_devices_) +
           static_cast<std::size_t>(to);
  }

  DeviceId num_devices_ = 0;
  std::vector<Link> links_;
  std::vector<std::vector<std::int32_t>> routes_;
};

}  // namespace emplace
