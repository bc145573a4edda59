#pragma once

// What Placeto's network reads of a problem: the numbers of its groups that do not change, who
// sends messages to whom, and who reaches whom.

#include "nn/row_sums.hpp"

#include <emplace/graphs/ids.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::placeto {

/// Says how messages go in one direction.
struct Messages {
  /// Has a row for each group that hears of others: the sum of what they say.
  nn::RowSums heard{};

  /// Has a row for each group: its own (source 0), and its row of `heard` (source 1) if it has one.
  nn::RowSums joined{};

  /// Holds the same by the number of groups on the longest way that leads to a group; sources are
  /// the levels before, and for `joined` the groups' own and what was heard.
  struct Level {
    nn::RowSums heard{};
    nn::RowSums joined{};
  };
  std::vector<Level> levels{};

  /// Has a row for each group: its row (source: its level).
  nn::RowSums from_levels{};
};

/// Holds what the network reads of a problem.
class Graph {
 public:
  /// Reads `problem`. Complexity: O(groups * edges / 64).
  explicit Graph(const Problem& problem);

  std::size_t size() const { return cost_.size(); }
  std::size_t num_devices() const { return num_devices_; }

  /// Returns numbers by group, each divided by the largest: the mean cost of the members, the bytes
  /// of the outputs that leave the group, and the bytes of the members' first outputs.
  std::span<const float> cost() const { return cost_; }
  std::span<const float> bytes() const { return bytes_; }
  std::span<const float> memory() const { return memory_; }

  /// Returns times in units of the dearest group's mean cost: of a group on a device, and of moving
  /// the outputs that leave it. Devices count among the placeable ones.
  float cost_on(std::size_t group, std::size_t device) const {
    return cost_on_[group * num_devices_ + device];
  }
  float transfer(std::size_t group, std::size_t from, std::size_t to) const {
    const Way& way = ways_[from * num_devices_ + to];
    return way.latency + way.per_byte * bytes_out_[group];
  }

  /// Returns the messages along the edges, and those against them.
  const Messages& down() const { return down_; }
  const Messages& up() const { return up_; }

  /// Says whether `to` needs results of `from`, at once or through others.
  bool reaches(GroupId from, GroupId to) const {
    const auto bit = static_cast<std::size_t>(from);
    return (ancestors_[static_cast<std::size_t>(to) * words_ + bit / kBits] >> bit % kBits & 1U) !=
           0;
  }

 private:
  // The time of a transfer; of one to the same device it is 0.
  struct Way {
    float latency;
    float per_byte;
  };

  void read_numbers(const Problem& problem);
  void read_times(const Problem& problem, std::span<const double> cost_us,
                  std::span<const double> bytes);
  void find_ancestors(const Problem& problem);

  static constexpr std::size_t kBits = 64;

  std::size_t num_devices_;
  std::vector<float> cost_;
  std::vector<float> bytes_;
  std::vector<float> memory_;
  std::vector<float> cost_on_;    // by group, device
  std::vector<float> bytes_out_;  // by group
  std::vector<Way> ways_;         // by device, device
  Messages down_;
  Messages up_;
  std::size_t words_ = 0;                 // of ancestors_ for each group
  std::vector<std::uint64_t> ancestors_;  // a bit for each group, by group
};

}  // namespace emplace::agents::placeto
