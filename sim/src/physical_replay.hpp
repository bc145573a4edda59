#pragma once

// Runs a placement that differs little from the one before in the `physical` model, without an
// event queue.
//
// A device with one slot runs its ops in the order of the moments at which they are ready. So, as
// in placeto_replay.hpp, one order of all ops settles the step: each op starts at the later of two
// times that are known by then, when it is ready and when its device is free. A few groups on other
// devices hardly change that order. Where it proves wrong on a device, the ops since are sorted and
// gone through again; ties are decided as the engine decides them.
//
// Transfers go through the same network as in a full run, in the same order. It is moved on only as
// far as an op needs, and ops that are ready before its next event come first. An op ends, and its
// transfers set out, later than it is ready; so an order that is a little wrong has not misled the
// network yet. If it has, if too much would have to be gone through again, or if ends that are not
// equal are within one instant, the replay gives up, for a full run to follow. Its results are
// those of a full run to the last bit.

#include "network.hpp"
#include "physical_memory.hpp"
#include "transfer_plan.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace emplace {

/// Replays steps of one problem; a workspace of one thread. After its construction it allocates
/// nothing.
class PhysicalReplay {
 public:
  /// Says whether steps of a problem can be replayed: its devices have one slot, and run what is
  /// ready first.
  static bool is_possible(const Problem& problem);

  /// Prepares a workspace on a network that full runs and replays share, for flows with the names
  /// of uses.
  PhysicalReplay(const Problem& problem, Network& network);

  PhysicalReplay(const PhysicalReplay&) = delete;
  PhysicalReplay& operator=(const PhysicalReplay&) = delete;

  /// Takes over a full run of `placement`: when ops started and ended.
  void adopt(const Placement& placement, std::span<const double> start_us,
             std::span<const double> end_us);

  /// Puts a group on another device. Requires: the last run was adopted, or a replay.
  void move(GroupId group, DeviceId device) { plan_.move(group, device); }

  /// Replays the step with the moves since the last run. Returns whether it succeeded; if not, the
  /// times are of no use.
  bool run();

  /// Return the results of the last replay.
  double makespan_us() const;
  std::span<const double> start_us() const { return start_us_; }
  std::span<const double> end_us() const { return end_us_; }
  std::span<const std::int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  // A time, and among what happens at that time after one another, because it takes no time, the
  // round: ends in one round let ops start that end in the next.
  struct Moment {
    double at_us;
    std::int32_t round;
    auto operator<=>(const Moment&) const = default;
  };

  // A device with its ops in the order in which they run, a stretch of shared storage, and its
  // transfers whose latency is not over yet, a list.
  struct Queue {
    OpId* begin;
    OpId* next;  // those before took their turns
    OpId* end;
    std::int32_t arrival = kNone;  // of its transfers under way: whose latency is over first
    std::int32_t last_arrival = kNone;
    bool may_go_on = true;           // something has come that it may have waited for
    bool waits_for_network = false;  // an op may overtake if the network does nothing till then
  };

  // The first and the last of several ends within one instant.
  struct Span {
    double first_us;
    double last_us;
  };

  std::size_t known(std::int32_t transfer) const {
    return static_cast<std::size_t>(problem_.num_ops() + transfer);
  }
  std::int32_t known_from_the_start() const {
    return static_cast<std::int32_t>(known_us_.size() - 1);
  }
  bool is_root(OpId op) const { return problem_.inputs(op).empty(); }
  void line_up();
  void keep_order();
  bool are_instants_clear();
  bool take_turns(Queue& queue);
  bool is_ready(OpId op);
  bool let_overtake(Queue& queue);
  Moment wake(OpId op) const;
  Moment free(const OpId* first, const OpId* place) const;
  Moment start(const OpId* first, const OpId* place) const;
  OpId* place_of_next(const Queue& queue) const;
  bool sort_in(Queue& queue, OpId* place);
  bool take_back(OpId op);
  bool send(OpId op);
  void join(Queue& queue, std::int32_t transfer);
  void leave(Queue& queue, std::int32_t transfer);
  Moment arrival(std::int32_t transfer) const;
  bool comes_before(std::int32_t a, std::int32_t b) const;
  std::int32_t next_arrival() const;
  double next_of_network_us() const;
  bool step();
  void enter(std::int32_t transfer);
  void deliver(std::int32_t transfer, const Moment& now);

  const Problem& problem_;
  const double bytes_of_overhead_;
  const double min_bytes_;
  std::vector<double> latency_us_;  // of routes
  TransferPlan plan_;
  PhysicalMemory memory_;
  std::vector<double> start_us_;
  std::vector<double> known_us_;    // ends of ops, then of transfers, then a zero
  const std::span<double> end_us_;  // of ops
  std::vector<double> entered_us_;  // by transfer: when its latency is over
  std::vector<std::int64_t> peak_bytes_;

  std::vector<std::int32_t> topological_rank_;  // by op
  std::vector<std::uint8_t> has_control_uses_;  // by op
  std::vector<OpId> order_;                     // of the last run: all ops by their starts
  std::vector<OpId> ending_;                    // all ops by their ends
  std::vector<OpId> lined_up_;                  // the same, device by device
  std::vector<Queue> queues_;                   // by device, in `lined_up_`
  std::vector<double> ready_us_;                // by op
  std::vector<std::int32_t> blocker_;  // by op: a source that it waited for when it was looked at
  std::vector<std::int32_t> rounds_;   // by op or transfer: of its end
  std::int64_t credit_ = 0;            // for taking turns again

  Network& network_;
  Moment network_at_{-1, 0};                 // its last event
  std::vector<Span> network_us_;             // its events
  std::vector<std::int32_t> arrival_after_;  // by transfer: the next in the list of its device
  std::vector<Network::Ended> ended_;
};

}  // namespace emplace
