#include "move_proposals.hpp"

#include <algorithm>
#include <limits>

namespace emplace::agents {
namespace {

constexpr DeviceId kStays = -1;

}  // namespace

MoveProposals::MoveProposals(const Coarsening& coarsening, Options options)
    : problem_(coarsening.problem()),
      options_(options),
      moves_(coarsening, options.moves),
      period_of_(problem_.num_groups(), 0),
      own_share_(problem_.num_groups(), 0.0),
      busy_(problem_.num_devices()),
      target_(problem_.num_groups(), kStays) {}

void MoveProposals::observe(const Placement& placement, const StepOutline& step,
                            double step_time_us) {
  const double period_us = step_time_us / kPeriods;
  for (std::vector<double>& busy : busy_) {
    busy.assign(kPeriods, 0.0);
  }
  if (!(period_us > 0)) {
    own_share_.assign(own_share_.size(), 0.0);
    return;  // nothing was busy
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    const double period = step.group_start_us[group] / period_us;
    const std::int32_t first = period < kPeriods ? static_cast<std::int32_t>(period) : kPeriods - 1;
    period_of_[group] = first;
    // A group is taken to run at once from its start.
    double left = problem_.group_cost_us(group, placement[group]) / period_us;
    double room = first + 1 - period;
    own_share_[group] = std::min(left, room);
    for (std::int32_t at = first; at < kPeriods && left > 0; ++at) {
      busy_[placement[group]][static_cast<std::size_t>(at)] += std::min(left, room);
      left -= room;
      room = 1;
    }
  }
}

std::span<const Move> MoveProposals::propose(const Placement& placement, RandomStream& random) {
  best_.clear();
  if (problem_.placeable_devices().size() == 1) {
    return best_;
  }
  const std::int64_t candidates = random.uniform() < options_.uncompared ? 1 : options_.candidates;
  double best_gain = -std::numeric_limits<double>::infinity();
  for (std::int64_t candidate = 0; candidate < candidates; ++candidate) {
    moves_.draw(placement, random, drawn_);
    for (const Move& move : drawn_) {
      target_[move.group] = move.device;
    }
    const double gain = estimated_gain(placement);
    for (const Move& move : drawn_) {
      target_[move.group] = kStays;
    }
    if (gain > best_gain) {
      best_gain = gain;
      std::swap(best_, drawn_);
    }
  }
  return best_;
}

double MoveProposals::estimated_gain(const Placement& placement) const {
  double gain_us = 0;
  double moved_us = mean_time_us();
  for (const Move& move : drawn_) {
    const DeviceId from = placement[move.group];
    const double before_us = problem_.group_cost_us(move.group, from);
    const double after_us = problem_.group_cost_us(move.group, move.device);
    moved_us += after_us;
    gain_us += before_us * (1 + busy_share(from, move.group) - own_share_[move.group]) -
               after_us * (1 + busy_share(move.device, move.group));
    for (const GroupEdge& edge : problem_.group_in_edges(move.group)) {
      gain_us += saved_us(placement, edge, edge.producer);
    }
    for (const GroupEdge& edge : problem_.group_out_edges(move.group)) {
      gain_us += saved_us(placement, edge, edge.consumer);
    }
  }
  return moved_us > 0 ? gain_us / moved_us : gain_us;
}

// Returns the time of a transfer that the drawn moves save, of which `other` is one end. An edge
// between two groups that move is seen from both ends.
double MoveProposals::saved_us(const Placement& placement, const GroupEdge& edge,
                               GroupId other) const {
  if (edge.bytes == 0) {
    return 0;
  }
  const auto after = [&](GroupId group) {
    return target_[group] == kStays ? placement[group] : target_[group];
  };
  const double saved_us =
      problem_.transfer_us(edge.bytes, placement[edge.producer], placement[edge.consumer]) -
      problem_.transfer_us(edge.bytes, after(edge.producer), after(edge.consumer));
  return target_[other] == kStays ? saved_us : saved_us / 2;
}

double MoveProposals::busy_share(DeviceId device, GroupId group) const {
  const std::vector<double>& busy = busy_[device];
  return busy.empty() ? 0.0 : busy[static_cast<std::size_t>(period_of_[group])];
}

}  // namespace emplace::agents
