// The transfers of a replay: their latencies, their way into the network, and its events.

#include "instant.hpp"
#include "physical_replay.hpp"

#include <algorithm>
#include <tuple>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

// Lets an op's transfers set out. Returns false if one is too late for the network.
bool PhysicalReplay::send(OpId op) {
  const Moment now{end_us_[index(op)], rounds_[index(op)]};
  auto [use, end] = problem_.uses_of(op);
  for (; use < end; ++use) {
    if (!plan_.is_made(use)) {
      continue;
    }
    const double latency_us =
        latency_us_[index(plan_.from(use) * problem_.num_devices() + plan_.to(use))];
    entered_us_[index(use)] = now.at_us + latency_us;
    if (arrival(use) <= network_at_ || (latency_us > 0 && entered_us_[index(use)] == now.at_us)) {
      return false;
    }
    join(queues_[index(plan_.from(use))], use);
  }
  return true;
}

// Returns when the latency of a transfer is over.
PhysicalReplay::Moment PhysicalReplay::arrival(std::int32_t transfer) const {
  const std::size_t producer = index(problem_.uses()[index(transfer)].producer);
  const double at_us = entered_us_[index(transfer)];
  return {at_us, at_us == end_us_[producer] ? rounds_[producer] : 0};
}

// Transfers enter the network in the order of time, then as they set out, those without latency
// last (rule 2).
bool PhysicalReplay::comes_before(std::int32_t a, std::int32_t b) const {
  const Moment a_at = arrival(a);
  const Moment b_at = arrival(b);
  if (a_at != b_at) {
    return a_at < b_at;
  }
  const auto key = [this](std::int32_t transfer) {
    const Problem::Use& use = problem_.uses()[index(transfer)];
    const Moment sent{end_us_[index(use.producer)], rounds_[index(use.producer)]};
    return std::tuple(sent.at_us == entered_us_[index(transfer)], sent, use.producer, use.output,
                      plan_.to(transfer));
  };
  return key(a) < key(b);
}

// Puts a transfer into the list of its device, mostly behind all others.
void PhysicalReplay::join(Queue& queue, std::int32_t transfer) {
  if (queue.arrival == kNone || comes_before(transfer, queue.arrival)) {
    arrival_after_[index(transfer)] = queue.arrival;
    queue.last_arrival = queue.arrival == kNone ? transfer : queue.last_arrival;
    queue.arrival = transfer;
    return;
  }
  std::int32_t before = queue.last_arrival;
  if (comes_before(transfer, before)) {
    before = queue.arrival;
    while (!comes_before(transfer, arrival_after_[index(before)])) {
      before = arrival_after_[index(before)];
    }
  }
  arrival_after_[index(transfer)] =
      before == queue.last_arrival ? kNone : arrival_after_[index(before)];
  arrival_after_[index(before)] = transfer;
  queue.last_arrival = before == queue.last_arrival ? transfer : queue.last_arrival;
}

// Takes a transfer out of the list of its device.
void PhysicalReplay::leave(Queue& queue, std::int32_t transfer) {
  std::int32_t before = kNone;
  for (std::int32_t other = queue.arrival; other != transfer;
       other = arrival_after_[index(other)]) {
    before = other;
  }
  (before == kNone ? queue.arrival : arrival_after_[index(before)]) =
      arrival_after_[index(transfer)];
  queue.last_arrival = queue.last_arrival == transfer ? before : queue.last_arrival;
}

// Returns the transfer whose latency is over next, or kNone.
std::int32_t PhysicalReplay::next_arrival() const {
  std::int32_t next = kNone;
  for (const Queue& queue : queues_) {
    if (queue.arrival != kNone && (next == kNone || comes_before(queue.arrival, next))) {
      next = queue.arrival;
    }
  }
  return next;
}

double PhysicalReplay::next_of_network_us() const {
  double next_us = network_.next_end_us();
  for (const Queue& queue : queues_) {
    if (queue.arrival != kNone) {
      next_us = std::min(next_us, entered_us_[index(queue.arrival)]);
    }
  }
  return next_us;
}

// Handles the next event of the network, and all others of its moment. Returns false where only
// the engine knows what comes first.
bool PhysicalReplay::step() {
  const double end_us = network_.next_end_us();
  Moment now{end_us, 0};
  std::int32_t next = next_arrival();
  if (next != kNone) {
    now = std::min(now, arrival(next));
  }
  const double first_us = now.at_us;
  if (end_us <= end_of_instant(first_us)) {
    if (first_us == network_at_.at_us) {
      return false;
    }
    ended_.clear();
    network_.take_ended(end_of_instant(first_us), ended_);
    for (const Network::Ended& flow : ended_) {
      now = std::max(now, {flow.at_us, 0});
    }
    for (const Network::Ended& flow : ended_) {
      deliver(flow.flow, now);
    }
  }
  network_at_ = now;
  network_us_.push_back({first_us, now.at_us});
  for (; next != kNone && arrival(next) == now; next = next_arrival()) {
    leave(queues_[index(plan_.from(next))], next);
    enter(next);
  }
  network_.share(now.at_us);
  for (Queue& queue : queues_) {
    queue.may_go_on |= queue.waits_for_network;
    queue.waits_for_network = false;
  }
  return true;
}

// Lets a transfer move its bytes, if it has any.
void PhysicalReplay::enter(std::int32_t transfer) {
  const Problem::Use& use = problem_.uses()[index(transfer)];
  memory_.note_start(transfer, end_us_[index(use.producer)]);
  const double bytes = static_cast<double>(problem_.output_bytes(use.output)) + bytes_of_overhead_;
  if (bytes < min_bytes_) {
    deliver(transfer, network_at_);
  } else {
    network_.add(transfer, plan_.from(transfer), plan_.to(transfer), bytes, network_at_.at_us);
  }
}

void PhysicalReplay::deliver(std::int32_t transfer, const Moment& now) {
  known_us_[known(transfer)] = now.at_us;
  rounds_[known(transfer)] = now.round;
  memory_.note_end(transfer, now.at_us);
  queues_[index(plan_.to(transfer))].may_go_on = true;
}

}  // namespace emplace
