#pragma once

// Which transfers a placement makes, and who waits for what: all that a replay of the `physical`
// engine must know of a placement, kept up to date as groups move.
//
// An output crosses once to each device that reads it (rule 2). Such a transfer goes by the name of
// the first of the uses that it serves (Problem::uses()).

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Holds the plan of one placement. After its construction it allocates nothing.
class TransferPlan {
 public:
  /// Describes what an op does under the placement.
  struct OpPlan {
    double busy_us;             ///< for which it keeps its device
    std::int32_t first_source;  ///< where its sources begin in sources()
    std::int32_t last_source;   ///< and end
    DeviceId device;            ///< that runs it
    std::int32_t num_sent;      ///< transfers that start at its end
  };

  /// Makes room for the plans of one problem. Requires: `problem` outlives it.
  explicit TransferPlan(const Problem& problem);

  /// Plans a placement.
  void set(const Placement& placement);

  /// Puts a group on another device; to be followed by update().
  void move(GroupId group, DeviceId device);

  /// Plans anew what the moves since the last update() touch.
  void update();

  const OpPlan& op(OpId op) const { return ops_[static_cast<std::size_t>(op)]; }

  /// Returns what ops wait for: ops, or, with names behind theirs, transfers.
  const std::int32_t* sources() const { return sources_.data(); }

  /// Returns what an op lets go of at its end, for each of its sources: things as in num_users().
  const std::int32_t* held() const { return held_.data(); }

  /// Returns for each thing in memory how many must let go of it before it is freed: first the
  /// outputs, for their local consumers and transfers; then the copies that transfers bring, for
  /// their consumers; then one thing that is always held, for control edges.
  std::span<const std::int32_t> num_users() const { return num_users_; }

  /// Returns the copy of a transfer, as a thing in memory.
  std::int32_t copy(std::int32_t transfer) const { return problem_.num_outputs() + transfer; }

  /// Says whether the transfer of that name is made.
  bool is_made(std::int32_t transfer) const { return made_[static_cast<std::size_t>(transfer)]; }

  /// Returns the transfers that were not made before the last update().
  std::span<const std::int32_t> added() const { return added_; }

  /// Return a transfer's ends.
  DeviceId from(std::int32_t transfer) const { return op(use(transfer).producer).device; }
  DeviceId to(std::int32_t transfer) const { return op(use(transfer).consumer).device; }

  /// Returns how many ops a device runs.
  std::size_t num_ops_on(DeviceId device) const {
    return num_ops_on_[static_cast<std::size_t>(device)];
  }

  /// Returns the bytes of weights and optimizer slots on a device.
  std::int64_t persistent_bytes(DeviceId device) const {
    return persistent_bytes_[static_cast<std::size_t>(device)];
  }

 private:
  static constexpr std::int32_t kNone = -1;

  const Problem::Use& use(std::int32_t id) const {
    return problem_.uses()[static_cast<std::size_t>(id)];
  }
  void place(OpId op, DeviceId device);
  void touch(std::int32_t output);
  void route(std::int32_t output);
  void set_made(std::int32_t transfer, bool is_made);

  const Problem& problem_;
  std::vector<OpPlan> ops_;
  std::vector<std::int32_t> sources_;
  std::vector<std::int32_t> held_;
  std::vector<std::int32_t> num_users_;
  std::vector<std::uint8_t> made_;
  std::vector<std::int32_t> added_;
  std::vector<std::int64_t> persistent_bytes_;  // by device
  std::vector<std::size_t> num_ops_on_;         // by device

  std::vector<std::int32_t> source_of_use_;  // where it stands in `sources_`
  std::vector<std::pair<std::int32_t, std::int32_t>> uses_of_output_;  // as a range
  std::vector<std::int32_t> transfer_to_;  // scratch of route(), by device
  std::vector<OpId> moved_;                // since the last update
  std::vector<std::int32_t> touched_;      // outputs, by update()
  std::vector<std::uint8_t> is_touched_;
};

}  // namespace emplace
