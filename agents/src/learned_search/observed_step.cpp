#include "observed_step.hpp"

#include <algorithm>

namespace emplace::agents::learned_search {

void Sequence::clear() {
  groups_.clear();
  starts_us_.clear();
  ends_us_.clear();
  busy_us_.assign(1, 0);
}

// Returns for how long the groups run before `time_us`.
double Sequence::busy_before_us(double time_us) const {
  const std::size_t started =
      count_before(starts_us_, [time_us](double start_us) { return start_us < time_us; });
  if (started == 0) {
    return 0;
  }
  const double over_us = std::max(0.0, ends_us_[started - 1] - time_us);
  return busy_us_[started] - over_us;
}

ObservedStep::ObservedStep(const Problem& problem)
    : problem_(problem),
      groups_(problem.num_groups()),
      devices_(problem.num_devices()),
      rank_(problem.num_groups()),
      by_start_(problem.group_order().begin(), problem.group_order().end()),
      on_device_(problem.num_devices()) {
  std::int32_t rank = 0;
  for (const GroupId group : problem.group_order()) {
    rank_[group] = rank++;
  }
}

void ObservedStep::observe(const Placement& placement, const StepOutline& outline, double step_us) {
  step_us_ = step_us;
  for (GroupId group = 0; group < groups_.end_id(); ++group) {
    const double start_us = outline.group_start_us[group];
    groups_[group] = {
        .device = placement[group],
        .start_us = start_us,
        .end_us = start_us + problem_.group_cost_us(group, placement[group]),
    };
  }
  order_groups();
  find_arrivals();
  find_tails();
  find_critical_path();
}

void ObservedStep::order_groups() {
  std::ranges::sort(by_start_, [this](GroupId a, GroupId b) { return is_before(a, b); });
  for (DeviceId device = 0; device < devices_.end_id(); ++device) {
    devices_[device] = {};
    on_device_[device].clear();
  }
  for (const GroupId group : by_start_) {
    Group& own = groups_[group];
    Sequence& others = on_device_[own.device];
    if (!others.groups().empty()) {
      own.before = others.groups().back();
      groups_[own.before].after = group;
    }
    others.add(group, own.start_us, own.end_us);
    devices_[own.device].busy_us += own.time_us();
  }
}

void ObservedStep::find_arrivals() {
  transfers_us_ = 0;
  for (const GroupId group : by_start_) {
    Group& own = groups_[group];
    for (const GroupEdge& edge : problem_.group_in_edges(group)) {
      Group& producer = groups_[edge.producer];
      const double edge_us = transfer_us(edge);
      own.arrival_us = std::max(own.arrival_us, producer.end_us + edge_us);
      own.input_us += edge_us;
      producer.output_us += edge_us;
      devices_[own.device].received_us += edge_us;
      devices_[producer.device].sent_us += edge_us;
      transfers_us_ += edge_us;
    }
    const double free_us = own.before == kNone ? 0.0 : groups_[own.before].end_us;
    own.wait_us = std::max(0.0, own.start_us - std::max(own.arrival_us, free_us));
  }
}

void ObservedStep::find_tails() {
  for (auto at = by_start_.rbegin(); at != by_start_.rend(); ++at) {
    const GroupId group = *at;
    Group& own = groups_[group];
    double after_us = own.after == kNone ? 0.0 : groups_[own.after].tail_us;
    for (const GroupEdge& edge : problem_.group_out_edges(group)) {
      after_us = std::max(after_us, transfer_us(edge) + groups_[edge.consumer].tail_us);
    }
    own.tail_us = own.time_us() + after_us;
  }
}

// Goes back from the group that ends last to what it waited for longest.
void ObservedStep::find_critical_path() {
  GroupId group = by_start_.front();
  for (const GroupId other : by_start_) {
    if (groups_[other].end_us > groups_[group].end_us) {
      group = other;
    }
  }
  while (group != kNone) {
    Group& own = groups_[group];
    own.is_critical = true;
    GroupId cause = own.before;
    double cause_us = cause == kNone ? -1.0 : groups_[cause].end_us;
    for (const GroupEdge& edge : problem_.group_in_edges(group)) {
      const double there_us = groups_[edge.producer].end_us + transfer_us(edge);
      if (there_us > cause_us) {
        cause = edge.producer;
        cause_us = there_us;
      }
    }
    group = cause != kNone && is_before(cause, group) ? cause : kNone;
  }
}

}  // namespace emplace::agents::learned_search
