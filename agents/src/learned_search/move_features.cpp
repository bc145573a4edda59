#include "move_features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace emplace::agents::learned_search {
namespace {

constexpr double kWindow = 4;        // mean times of a group, on both sides of a group
constexpr double kNearCritical = 8;  // mean times of a group: the slack that halves criticality
constexpr float kScale = 0.25F;      // makes most features smaller than 2

}  // namespace

float signed_log2(double x) {
  // The bits of a positive float are its exponent and, below, what it is above a power of two.
  constexpr float kUnit = 1.0F / (1 << 23);
  constexpr std::uint32_t kOne = std::bit_cast<std::uint32_t>(1.0F);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(1 + std::abs(x)));
  const float magnitude = static_cast<float>(bits - kOne) * kUnit;
  return x < 0 ? -magnitude : magnitude;
}

// What is summed over the groups that move.
struct MoveFeatures::Sums {
  double free_us = 0;  // when the last of them ends on the new device
  double path_us = 0;
  double push_us = 0;
  double delayed_us = 0;  // what they run over the starts of groups on the new device
  double latest_us = 0;   // how much later than now one of them starts
  double work_us = 0;
  double new_work_us = 0;
  double transfer_us = 0;
  double new_transfer_us = 0;
  double near_critical_work_us = 0;
  double near_critical_transfer_us = 0;  // what it shrinks
  double critical_work_us = 0;
  double critical_transfer_us = 0;  // what it shrinks
  double freed_us = 0;              // by which groups after them may start earlier
  double wait_us = 0;
  double consumers_wait_us = 0;
  double busy_us = 0;      // of their work, with others around on the old devices
  double new_busy_us = 0;  // and on the new one
  double load_us = 0;      // of the old devices, weighted by the work that leaves
  double sent_us = 0;
  double received_us = 0;
  double start_us = 0;
  double edges = 0;
  double edges_closed = 0;  // edges to the new device less those to the old one
};

MoveFeatures::MoveFeatures(const ObservedStep& step, double mean_time_us)
    : step_(step),
      mean_time_us_(mean_time_us),
      new_start_us_(step.problem().num_groups()),
      new_end_us_(step.problem().num_groups()),
      moves_(step.problem().num_groups(), 0),
      moved_from_(step.problem().num_devices()) {}

double MoveFeatures::criticality(double slack_us) const {
  const double limit_us = kNearCritical * mean_time_us_;
  return limit_us / (limit_us + std::max(0.0, slack_us));
}

void MoveFeatures::compute(std::span<const Move> moves, std::span<float> features) {
  const DeviceId to = moves.front().device;
  moved_.clear();
  for (const Move& move : moves) {
    moved_.push_back(move.group);
    moves_[move.group] = 1;
  }
  std::ranges::sort(moved_, [this](GroupId a, GroupId b) { return step_.is_before(a, b); });
  for (const GroupId group : moved_) {
    const ObservedStep::Group& now = step_.group(group);
    moved_from_[now.device].add(group, now.start_us, now.end_us);
  }

  Sums sums;
  double slack_us = step_.step_us();
  for (const GroupId group : moved_) {
    const ObservedStep::Group& now = step_.group(group);
    const ObservedStep::Device& from = step_.device(now.device);
    const double work_us = now.time_us();
    const double new_work_us = step_.problem().group_cost_us(group, to);
    add_inputs(group, to, sums);
    run_on(group, to, sums);
    add_outputs(group, to, sums);
    slack_us = std::min(slack_us, step_.slack_us(group));
    sums.work_us += work_us;
    sums.new_work_us += new_work_us;
    sums.near_critical_work_us += criticality(step_.slack_us(group)) * work_us;
    sums.critical_work_us += now.is_critical ? work_us : 0.0;
    sums.wait_us += now.wait_us;
    sums.busy_us += work_us * busy_share_around(group, now.device);
    sums.new_busy_us += new_work_us * busy_share_around(group, to);
    sums.load_us += work_us * from.busy_us;
    sums.sent_us += work_us * from.sent_us;
    sums.received_us += work_us * from.received_us;
    sums.start_us += now.start_us;
    if (now.after != ObservedStep::kNone && moves_[now.after] == 0) {
      const ObservedStep::Group& after = step_.group(now.after);
      sums.freed_us += std::clamp(after.start_us - after.arrival_us, 0.0, work_us);
    }
  }
  for (const GroupId group : moved_) {
    moves_[group] = 0;
    moved_from_[step_.group(group).device].clear();
  }

  const double step_us = step_.step_us();
  const ObservedStep::Device& device = step_.device(to);
  const double weight = std::max(sums.work_us, 1e-9);
  const double load_us = sums.load_us / weight;
  const auto groups = static_cast<double>(moved_.size());
  const auto in_groups = [this](double us) { return kScale * signed_log2(us / mean_time_us_); };
  const auto in_steps = [step_us](double us) { return kScale * signed_log2(1000 * us / step_us); };
  const auto share = [step_us](double us) { return static_cast<float>(us / step_us); };
  const double saved_transfer_us = sums.transfer_us - sums.new_transfer_us;
  const double saved_work_us = sums.work_us - sums.new_work_us;
  // The estimate of MoveProposals.
  const double saved_us = saved_transfer_us + saved_work_us + sums.busy_us - sums.new_busy_us;
  const float values[kCount] = {
      in_groups(sums.path_us - step_us),
      in_steps(sums.path_us - step_us),
      sums.push_us > 0 ? in_groups(sums.push_us - step_us) : -2.0F,
      sums.push_us > 0 ? in_steps(sums.push_us - step_us) : -2.0F,
      in_groups(sums.delayed_us),
      in_steps(sums.delayed_us),
      in_groups(sums.latest_us),
      in_groups(slack_us),
      in_steps(slack_us),
      in_groups(sums.work_us),
      in_steps(sums.work_us),
      in_groups(saved_work_us),
      in_groups(sums.transfer_us),
      in_groups(sums.new_transfer_us),
      in_groups(saved_transfer_us),
      in_steps(saved_transfer_us),
      in_groups(sums.near_critical_work_us),
      in_groups(sums.near_critical_transfer_us),
      in_groups(sums.critical_work_us),
      in_groups(sums.critical_transfer_us),
      in_steps(sums.critical_work_us + sums.critical_transfer_us),
      in_groups(sums.freed_us),
      in_groups(sums.wait_us),
      in_groups(sums.consumers_wait_us),
      in_groups(sums.busy_us - sums.new_busy_us),
      kScale * static_cast<float>(saved_us / (sums.new_work_us + mean_time_us_)),
      share(load_us),
      share(device.busy_us),
      in_steps(load_us - device.busy_us),
      share(sums.sent_us / weight),
      share(sums.received_us / weight),
      share(device.sent_us),
      share(device.received_us),
      share(step_.transfers_us()),
      share(sums.start_us / groups),
      static_cast<float>(sums.edges > 0 ? sums.edges_closed / sums.edges : 0.0),
  };
  std::ranges::transform(values, features.begin(),
                         [](float value) { return std::clamp(value, -8.0F, 8.0F); });
}

void MoveFeatures::add_inputs(GroupId group, DeviceId to, Sums& sums) {
  const ObservedStep::Group& now = step_.group(group);
  double ready_us = 0;
  const double critical = criticality(step_.slack_us(group));
  for (const GroupEdge& edge : step_.problem().group_in_edges(group)) {
    const ObservedStep::Group& producer = step_.group(edge.producer);
    const bool moves_too = moves_[edge.producer] != 0;
    const double before_us =
        producer.device == now.device
            ? 0.0
            : step_.problem().transfer_us(edge.bytes, producer.device, now.device);
    const double after_us = moves_too || producer.device == to
                                ? 0.0
                                : step_.problem().transfer_us(edge.bytes, producer.device, to);
    ready_us =
        std::max(ready_us, (moves_too ? new_end_us_[edge.producer] : producer.end_us) + after_us);
    sums.transfer_us += before_us;
    sums.new_transfer_us += after_us;
    sums.near_critical_transfer_us += critical * (before_us - after_us);
    if (now.is_critical && producer.is_critical) {
      sums.critical_transfer_us += before_us - after_us;
    }
    if (!moves_too) {
      sums.edges += 1;
      sums.edges_closed +=
          (producer.device == to ? 1 : 0) - (producer.device == now.device ? 1 : 0);
    }
  }
  new_start_us_[group] = ready_us;
}

// Finds when the group, whose inputs are there at new_start_us_, runs on the new device.
void MoveFeatures::run_on(GroupId group, DeviceId to, Sums& sums) {
  const Sequence& others = step_.on_device(to);
  const std::span<const double> starts_us = others.starts_us();
  double start_us = new_start_us_[group];
  const std::size_t next =
      count_before(starts_us, [start_us](double other_us) { return other_us <= start_us; });
  if (next > 0) {
    start_us = std::max(start_us, others.ends_us()[next - 1]);
  }
  start_us = std::max(start_us, sums.free_us);
  const double time_us = step_.problem().group_cost_us(group, to);
  const double end_us = start_us + time_us;
  new_start_us_[group] = start_us;
  new_end_us_[group] = end_us;
  sums.free_us = end_us;
  sums.latest_us = std::max(sums.latest_us, start_us - step_.group(group).start_us);
  if (next < starts_us.size() && end_us > starts_us[next]) {
    sums.delayed_us += std::min(end_us - starts_us[next], time_us);
    const GroupId after = others.groups()[next];
    sums.push_us = std::max(sums.push_us, end_us + step_.group(after).tail_us);
  }
}

void MoveFeatures::add_outputs(GroupId group, DeviceId to, Sums& sums) {
  const ObservedStep::Group& now = step_.group(group);
  const double end_us = new_end_us_[group];
  sums.path_us = std::max(sums.path_us, end_us);
  for (const GroupEdge& edge : step_.problem().group_out_edges(group)) {
    if (moves_[edge.consumer] != 0) {
      continue;  // seen as an input there
    }
    const ObservedStep::Group& consumer = step_.group(edge.consumer);
    const double before_us =
        consumer.device == now.device
            ? 0.0
            : step_.problem().transfer_us(edge.bytes, now.device, consumer.device);
    const double after_us =
        consumer.device == to ? 0.0 : step_.problem().transfer_us(edge.bytes, to, consumer.device);
    const double slack_us = step_.step_us() - now.end_us - before_us - consumer.tail_us;
    sums.path_us = std::max(sums.path_us, end_us + after_us + consumer.tail_us);
    sums.transfer_us += before_us;
    sums.new_transfer_us += after_us;
    sums.near_critical_transfer_us += criticality(slack_us) * (before_us - after_us);
    if (now.is_critical && consumer.is_critical) {
      sums.critical_transfer_us += before_us - after_us;
    }
    sums.consumers_wait_us += consumer.wait_us;
    sums.edges += 1;
    sums.edges_closed += (consumer.device == to ? 1 : 0) - (consumer.device == now.device ? 1 : 0);
  }
}

// Returns the share of the time around a group in which a device runs groups that stay.
double MoveFeatures::busy_share_around(GroupId group, DeviceId device) const {
  const ObservedStep::Group& now = step_.group(group);
  const double begin_us = now.start_us - kWindow * mean_time_us_;
  const double end_us = now.end_us + kWindow * mean_time_us_;
  const double busy_us = step_.on_device(device).busy_us(begin_us, end_us) -
                         moved_from_[device].busy_us(begin_us, end_us);
  return busy_us / (end_us - begin_us);
}

}  // namespace emplace::agents::learned_search
