#pragma once

// The graph that Placeto's network reads: fixed features of the groups, the neighbours for
// message passing, and reachability. Its memory is linear in groups and edges.

#include "group_neighbours.hpp"
#include "nn/segment_sum.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::placeto {

/// Describes message passing in one direction: along the edges, or against them.
struct MessagePassing {
  /// Has a row for each group that has neighbours: the sum of their messages.
  nn::SegmentSum aggregate{};

  /// Has a row for each group: its own embedding (source 0), plus its row of the aggregated
  /// messages (source 1) if it has neighbours.
  nn::SegmentSum residual{};
};

/// Says how a group is related to another: by a path to it, by one from it, or by none.
enum class Relation : std::uint8_t { kPeer, kAncestor, kDescendant, kSelf };

/// Holds the features and the edges of a problem's groups.
class Graph {
 public:
  /// Reads `problem`. Complexity: O(ops + groups + edges).
  explicit Graph(const Problem& problem);

  std::size_t size() const { return cost_.size(); }
  std::size_t num_devices() const { return num_devices_; }

  /// Returns features by group, each divided by the largest: the mean cost of the members, and the
  /// bytes of the outputs that leave the group.
  std::span<const float> cost() const { return cost_; }
  std::span<const float> bytes() const { return bytes_; }

  /// Returns times in units of the largest mean cost of a group: of a group on a device, and of the
  /// transfer of the outputs that leave it. Devices are indices of placeable ones.
  float cost_on(std::size_t group, std::size_t device) const {
    return cost_on_[group * num_devices_ + device];
  }
  float transfer(std::size_t group, std::size_t from, std::size_t to) const {
    const Route& route = routes_[from * num_devices_ + to];
    return route.latency + route.per_byte * bytes_out_[group];
  }

  /// Returns the message passing along the edges, and that against them.
  const MessagePassing& forward() const { return forward_; }
  const MessagePassing& backward() const { return backward_; }

  /// Sets `relations` to those of all groups to `current`. Complexity: O(groups + edges).
  void find_relations(GroupId current, std::vector<Relation>& relations) const;

 private:
  // The time of a transfer; 0 on the same device.
  struct Route {
    float latency;
    float per_byte;
  };

  void read_features(const Problem& problem);
  void read_times(const Problem& problem, const IdVector<GroupId, double>& cost_us,
                  const IdVector<GroupId, double>& bytes);

  std::size_t num_devices_;
  std::vector<float> cost_;
  std::vector<float> bytes_;
  std::vector<float> cost_on_;    // by group, device
  std::vector<float> bytes_out_;  // by group
  std::vector<Route> routes_;     // by device, device
  MessagePassing forward_;
  MessagePassing backward_;
  std::vector<GroupId> order_;  // topological
  GroupNeighbours neighbours_;
};

}  // namespace emplace::agents::placeto
