#include "repair.hpp"

#include "memory_estimate.hpp"

#include <emplace/sim/memory_shortage.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// A large problem takes several moves at once, so that their number stays in the hundreds.
constexpr std::size_t kGroupsPerMove = 500;
constexpr std::size_t kMaxTrials = 1000;   // of moves, for each one made
constexpr std::size_t kMaxExchanges = 50;  // tried, of as many groups with as many others
constexpr std::int64_t kPatience = 12;     // rounds without fewer bytes over

class Repairer {
 public:
  Repairer(const Problem& problem, Simulator& simulator, std::int64_t max_simulations)
      : problem_(problem),
        simulator_(simulator),
        max_simulations_(max_simulations),
        estimate_(problem),
        kept_free_bytes_(problem.num_devices(), 0),
        load_(problem.num_devices(), 0),
        added_us_(index_of(problem.num_groups()) * problem.placeable_devices().size(), 0),
        is_known_(problem.num_groups(), false),
        has_moved_(problem.num_groups(), false) {}

  Repair run(StepRecord first) {
    record_ = std::move(first);
    note(record_.placement, record_.makespan_us, record_.bytes_over);
    // What is on a device that is not placeable may stay there.
    const bool is_all_placeable = std::ranges::all_of(
        record_.placement.devices(), [&](DeviceId device) { return is_placeable(device); });
    if (is_all_placeable && find_memory_shortage(problem_)) {
      result_.status = RepairStatus::kInfeasible;
      return result_;
    }
    std::int64_t best_round = 0;
    for (std::int64_t round = 1; !is_done() && round <= best_round + kPatience; ++round) {
      const std::int64_t before = result_.bytes_over;
      const bool has_moved = move_groups();
      if (has_moved) {
        record_ = simulator_.record(estimate_.placement());
        note(record_.placement, record_.makespan_us, record_.bytes_over);
      }
      if (!keep_free() && !has_moved) {
        break;
      }
      best_round = result_.bytes_over < before ? round : best_round;
    }
    while (!is_done() && descend()) {
    }
    result_.status = result_.bytes_over == 0 ? RepairStatus::kFits : RepairStatus::kGivenUp;
    return result_;
  }

 private:
  struct Relief {
    double us_per_byte;  // lost time for each byte freed at the peak
    GroupId group;
    DeviceId to;
  };

  bool is_done() const {
    return result_.bytes_over == 0 || result_.simulations >= max_simulations_;
  }

  bool is_placeable(DeviceId device) const {
    return std::ranges::binary_search(problem_.placeable_devices(), device);
  }

  // Counts a simulation, and keeps the placement if less is over than ever before.
  void note(const Placement& placement, double step_time_us, std::int64_t bytes_over) {
    ++result_.simulations;
    if (result_.simulations == 1 || bytes_over < result_.bytes_over) {
      result_.placement = placement;
      result_.step_time_us = step_time_us;
      result_.bytes_over = bytes_over;
    }
  }

  // Simulates moves from the best placement so far until one leaves less over; false if none does.
  // This is for times that change so much that the estimate is of no use.
  bool descend() {
    const std::int64_t before = result_.bytes_over;
    Placement placement = result_.placement;
    record_ = simulator_.record(placement);
    note(placement, record_.makespan_us, record_.bytes_over);
    start_estimate();
    find_moves(record_.worst_device);
    for (std::size_t trial = 0; trial < moves_.size() && !is_done(); ++trial) {
      const Relief& move = next_move(trial);
      place(placement, move.group, move.to);
      const SimResult& result = simulator_.run(placement);
      note(placement, result.makespan_us, result.bytes_over);
      if (result_.bytes_over < before) {
        return true;
      }
      place(placement, move.group, record_.worst_device);
    }
    return false;
  }

  // Where the simulator found more than a device has although the estimate did not, the difference
  // will be kept free, too. Returns whether there is any.
  bool keep_free() {
    bool has_kept = false;
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      const std::int64_t over = record_.peak_bytes[device] - problem_.memory_bytes(device);
      if (over > 0 && bytes_over(device) == 0) {
        kept_free_bytes_[device] += over;
        has_kept = true;
      }
    }
    return has_kept;
  }

  std::int64_t bytes_over(DeviceId device) const {
    const std::int64_t usable = problem_.memory_bytes(device) - kept_free_bytes_[device];
    return std::max<std::int64_t>(0, estimate_.peak_bytes(device) - usable);
  }

  // Moves groups until the estimate fits or knows no more moves. Returns whether it moved any.
  bool move_groups() {
    start_estimate();
    for (bool has_moved = false;; has_moved = true) {
      DeviceId fullest = 0;
      for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
        fullest = bytes_over(device) > bytes_over(fullest) ? device : fullest;
      }
      if (bytes_over(fullest) == 0 || (!relieve(fullest) && !exchange(fullest))) {
        return has_moved;
      }
    }
  }

  void start_estimate() {
    estimate_.start(record_);
    std::fill(is_known_.begin(), is_known_.end(), false);
    std::fill(has_moved_.begin(), has_moved_.end(), false);
    std::fill(load_.begin(), load_.end(), 0);
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      load_[record_.placement[group]] += load_of(group, record_.placement[group]);
    }
  }

  // Returns the share of the step in which a device runs a group.
  double load_of(GroupId group, DeviceId device) const {
    return record_.makespan_us > 0 ? problem_.group_cost_us(group, device) / record_.makespan_us
                                   : 0;
  }

  // Makes the best moves away from `device` that are worth it; false if there is none.
  bool relieve(DeviceId device) {
    find_moves(device);
    std::size_t left = 1 + index_of(problem_.num_groups()) / kGroupsPerMove;
    bool has_relieved = false;
    for (std::size_t trial = 0; trial < kMaxTrials && left > 0 && trial < moves_.size(); ++trial) {
      const Relief& move = next_move(trial);
      if (has_moved_[move.group]) {
        continue;
      }
      const std::int64_t to_before = bytes_over(move.to);
      const std::int64_t before = to_before + bytes_over(device);
      this->move(move.group, move.to);
      const std::int64_t to_after = bytes_over(move.to);
      if (to_after > to_before && to_after + bytes_over(device) >= before) {
        this->move(move.group, device);
        continue;
      }
      keep(move.group, device, move.to);
      has_relieved = true;
      --left;
    }
    return has_relieved;
  }

  // Makes the first exchange of two groups, the one on `device`, after which less is over; false if
  // there is none among the best.
  bool exchange(DeviceId device) {
    if (!is_placeable(device)) {
      return false;
    }
    find_moves(device);
    for (std::size_t trial = 0; trial < kMaxExchanges && trial < moves_.size(); ++trial) {
      const Relief move = next_move(trial);
      const std::int64_t before = bytes_over(move.to) + bytes_over(device);
      this->move(move.group, move.to);
      const std::vector<GroupId> others = largest_parts(move.to, move.group);
      for (const GroupId other : others) {
        this->move(other, device);
        if (bytes_over(move.to) + bytes_over(device) < before) {
          keep(move.group, device, move.to);
          keep(other, move.to, device);
          return true;
        }
        this->move(other, move.to);
      }
      this->move(move.group, device);
    }
    return false;
  }

  // Returns the groups with the largest parts of the peak of a device, without `except`.
  std::vector<GroupId> largest_parts(DeviceId device, GroupId except) {
    const IdSpan<GroupId, const double> parts = estimate_.parts_of_peak(device);
    std::vector<GroupId> groups;
    for (GroupId group = 0; group < parts.end_id(); ++group) {
      if (parts[group] > 0 && group != except && !has_moved_[group] && !is_pinned(group)) {
        groups.push_back(group);
      }
    }
    std::ranges::stable_sort(groups, std::greater{}, [&](GroupId group) { return parts[group]; });
    groups.resize(std::min(groups.size(), kMaxExchanges));
    return groups;
  }

  void place(Placement& placement, GroupId group, DeviceId device) const {
    for (const GroupId moved : with(group)) {
      placement[moved] = device;
    }
  }

  // Returns a group and all that must be with it.
  std::vector<GroupId> with(GroupId group) const {
    const std::span<const GroupId> tied = problem_.constraints().tied_to(group);
    return tied.empty() ? std::vector{group} : std::vector(tied.begin(), tied.end());
  }

  // Moves a group, and what must be with it, in the estimate.
  void move(GroupId group, DeviceId to) {
    for (const GroupId moved : with(group)) {
      estimate_.move(moved, to);
    }
  }

  // Takes note of a move that the estimate has made.
  void keep(GroupId group, DeviceId from, DeviceId to) {
    for (const GroupId moved : with(group)) {
      has_moved_[moved] = true;
      load_[from] -= load_of(moved, from);
      load_[to] += load_of(moved, to);
      is_known_[moved] = false;
      estimate_.visit_neighbours(moved, [&](GroupId other) { is_known_[other] = false; });
    }
  }

  bool is_pinned(GroupId group) const {
    return problem_.constraints().pinned_device(group) != Problem::kNotPinned;
  }

  // Returns the best of the moves but `count`; call it with 0, 1, ...
  const Relief& next_move(std::size_t count) {
    const auto worse = [](const Relief& a, const Relief& b) {
      return std::tuple(a.us_per_byte, a.group, a.to) > std::tuple(b.us_per_byte, b.group, b.to);
    };
    if (count == 0) {
      std::ranges::make_heap(moves_, worse);
    }
    std::pop_heap(moves_.begin(), moves_.end() - static_cast<std::ptrdiff_t>(count), worse);
    return moves_[moves_.size() - 1 - count];
  }

  void find_moves(DeviceId device) {
    moves_.clear();
    const IdSpan<GroupId, const double> parts = estimate_.parts_of_peak(device);
    const std::span<const DeviceId> targets = problem_.placeable_devices();
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      if (parts[group] <= 0 || has_moved_[group] || is_pinned(group)) {
        continue;
      }
      double* const added_us = added_us_.data() + index_of(group) * targets.size();
      for (std::size_t at = 0; at < targets.size(); ++at) {
        if (!is_known_[group]) {
          added_us[at] = estimate_.added_transfer_us(group, targets[at]);
        }
        if (targets[at] != device) {
          const double lost_us = added_us[at] + added_work_us(group, device, targets[at]);
          moves_.push_back({lost_us / parts[group], group, targets[at]});
        }
      }
      is_known_[group] = true;
    }
  }

  // Returns how much longer the group itself takes, and waits for a device that is busy.
  double added_work_us(GroupId group, DeviceId from, DeviceId to) const {
    const double before_us = problem_.group_cost_us(group, from);
    const double after_us = problem_.group_cost_us(group, to);
    return after_us - before_us + std::max(0.0, after_us * load_[to] - before_us * load_[from]);
  }

  const Problem& problem_;
  Simulator& simulator_;
  std::int64_t max_simulations_;
  Repair result_;
  StepRecord record_;
  MemoryEstimate estimate_;
  IdVector<DeviceId, std::int64_t> kept_free_bytes_;

  // Of the present round.
  IdVector<DeviceId, double> load_;   // busy time over step time
  std::vector<double> added_us_;      // by group and placeable device: by longer transfers
  IdVector<GroupId, bool> is_known_;  // whether that is up to date
  IdVector<GroupId, bool> has_moved_;
  std::vector<Relief> moves_;
};

}  // namespace

Repair repair(const Problem& problem, Simulator& simulator, Placement placement,
              std::int64_t max_simulations) {
  problem.constrain(placement);
  StepRecord first = simulator.record(placement);
  if (first.bytes_over > 0) {
    return Repairer(problem, simulator, max_simulations).run(std::move(first));
  }
  return {.status = RepairStatus::kFits,
          .placement = std::move(placement),
          .step_time_us = first.makespan_us,
          .bytes_over = 0,
          .simulations = 1};
}

Repair repair(const Problem& problem, Simulator& simulator, Placement placement,
              std::int64_t max_simulations, Budget& budget) {
  Repair repaired = repair(problem, simulator, std::move(placement),
                           std::min(max_simulations, budget.evaluations_left() + 1));
  budget.charge(repaired.simulations - 1);
  return repaired;
}

}  // namespace emplace::agents
