#include "earliest.hpp"
#include "placeto_engine.hpp"

#include <algorithm>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

double whole(double us) { return static_cast<double>(static_cast<std::int64_t>(us)); }

// Added to a time, makes it infinite unless a condition holds, without a branch.
constexpr double kNeverUnless[] = {std::numeric_limits<double>::infinity(), 0.0};

}  // namespace

void PlacetoEngine::run(const Placement& placement) {
  reset(placement);
  for (;;) {
    const auto [source, is_tied] = earliest(events_.data(), 2 * num_slots_);
    const double now_us = events_[source];
    if (now_us == kNever) {
      break;
    }
    Station& station = stations_[source / 2];
    if (is_tied && deliver_all(now_us)) {
      continue;
    }
    if (source % 2 == 0) {
      deliver(station, now_us);
    } else {
      take_turn(station, now_us);
    }
  }
  makespan_us_ = 0;
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    makespan_us_ =
        std::max({makespan_us_, stations_[slot].free_us, stations_[slot].channel_free_us});
  }
}

// Hands the first transfer of a channel to its consumers_ (rules 9 and 10).
void PlacetoEngine::deliver(Station& sender, double now_us) {
  const Transfer transfer = *sender.sent_head++;
  *sender.arrival = sender.sent_head->arrives_us;
  const OpFacts& producer = facts_[index(transfer.producer)];
  for (auto* block = producer.consumers; block != producer.consumers_end; block += kConsumers) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kConsumers; ++i) {
      hand_over(transfer, sender, block[i], now_us);
    }
  }
}

inline void PlacetoEngine::hand_over(const Transfer& transfer, const Station& sender,
                                     const Problem::Child& child, double now_us) {
  OpState& consumer = state_[index(child.op)];
  Station& station = *consumer.home;
  const bool is_receiver = (&station != &sender) & (child.output == transfer.output);
  if (is_receiver & (station.settles_us <= now_us)) {
    // What ends at this very instant comes in the order of producers' names, but before a transfer
    // that took no time, since that starts only after what ends at this instant.
    if (station.settles_us < now_us || transfer.start_us == now_us ||
        problem_.name_rank(station.running) < problem_.name_rank(transfer.producer)) {
      settle(station);
    }
  }
  consumer.waiting -= is_receiver;
  const bool is_ready = is_receiver & (consumer.waiting == 0);
  *station.ready_tail = child.op;
  station.ready_tail += is_ready;
  *station.turn =
      std::min(*station.turn, std::max(now_us, station.free_us) + kNeverUnless[is_ready]);
  // An op that also reads what the device is running waits for that.
  if (consumer.last_local_producer == station.running) [[unlikely]] {
    if (is_ready && station.settles_us != kNever) {
      --station.ready_tail;
      postpone(station, child.op);
    }
  }
}

// Where events_ coincide, transfers that arrive come before devices that take their turn: first
// those under way, in the order of their producers' names; then one that takes no time, of the
// first channel (rule 5). Returns false if none arrives now.
bool PlacetoEngine::deliver_all(double now_us) {
  arriving_.clear();
  Station* at_once = nullptr;
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    Station& station = stations_[slot];
    if (*station.arrival != now_us) {
      continue;
    }
    if (station.sent_head->start_us < now_us) {
      arriving_.push_back(&station);
    } else if (at_once == nullptr) {
      at_once = &station;
    }
  }
  if (arriving_.empty() && at_once == nullptr) {
    return false;
  }
  if (arriving_.empty()) {
    arriving_.push_back(at_once);
  }
  std::sort(arriving_.begin(), arriving_.end(), [&](const Station* a, const Station* b) {
    return problem_.name_rank(a->sent_head->producer) < problem_.name_rank(b->sent_head->producer);
  });
  for (Station* const station : arriving_) {
    deliver(*station, now_us);
  }
  return true;
}

// Queues the consumers_ that became ready when the device's last op ended (rule 10).
void PlacetoEngine::settle(Station& station) {
  const std::ptrdiff_t count = station.pending_tail - station.pending_begin;
  std::copy_n(station.pending_begin, kPad, station.ready_tail);  // mostly enough, and no loop
  if (count > static_cast<std::ptrdiff_t>(kPad)) {
    std::copy(station.pending_begin + kPad, station.pending_tail, station.ready_tail + kPad);
  }
  station.ready_tail += count;
  station.pending_tail = station.pending_begin;
  station.settles_us = kNever;
}

// Keeps an op that waits for the running one only, in the order of names.
void PlacetoEngine::postpone(Station& station, OpId op) {
  OpId* const place = std::upper_bound(
      station.pending_begin, station.pending_tail, op,
      [&](OpId a, OpId b) { return problem_.name_rank(a) < problem_.name_rank(b); });
  std::copy_backward(place, station.pending_tail, station.pending_tail + 1);
  *place = op;
  ++station.pending_tail;
}

// Runs the first op of the device's queue and sends what other devices want of it (rules 7 and 8).
void PlacetoEngine::take_turn(Station& station, double now_us) {
  settle(station);
  ready_start_us_[static_cast<std::size_t>(station.ready_head - ready_storage_.data())] = now_us;
  const OpId op = *station.ready_head++;
  const OpFacts& fact = facts_[index(op)];
  const double cost_us = station.costs_us[op];
  const double end = now_us + cost_us;
  start_us_[index(op)] = now_us;
  end_us_[index(op)] = end;
  last_use_us_[index(op)] = whole(now_us) + whole(cost_us) - 1;
  station.free_us = end + fact.gap_us;
  station.running = op;
  station.settles_us = end;

  std::int32_t num_local = 0;
  OpId* pending = station.pending_tail;
  for (auto* block = fact.consumers; block != fact.consumers_end; block += kConsumers) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kConsumers; ++i) {
      OpState& consumer = state_[index(block[i].op)];
      const std::int32_t is_local = consumer.home == &station;
      consumer.waiting -= is_local;
      consumer.last_local_producer ^= (consumer.last_local_producer ^ op) & -is_local;
      *pending = block[i].op;
      pending += is_local & static_cast<std::int32_t>(consumer.waiting == 0);
      num_local += is_local;
    }
  }
  station.pending_tail = pending;
  const bool has_work =
      (station.ready_head != station.ready_tail) | (pending != station.pending_begin);
  *station.turn = station.free_us + kNeverUnless[has_work];
  if (fact.only_output != kNone) {
    send(station, op, fact.only_output, end, num_local < fact.num_consumers);
    return;
  }
  const auto [first, last] = problem_.outputs(op);
  std::fill(transfer_start_us_.begin() + first, transfer_start_us_.begin() + last, kNotSent);
  std::fill(transfer_end_us_.begin() + first, transfer_end_us_.begin() + last, kNotSent);
  for (const Problem::Child& child : problem_.children(op)) {
    if (state_[index(child.op)].home != &station &&
        transfer_start_us_[index(child.output)] == kNotSent) {
      send(station, op, child.output, end, true);
    }
  }
}

// Sends an output to all devices that want it, in one transfer, after those queued before it (rule
// 9).
void PlacetoEngine::send(Station& station, OpId producer, std::int32_t output, double ready_us,
                         bool is_wanted) {
  const double start = std::max(station.channel_free_us, ready_us);
  const double arrives = start + transfer_us_[index(output)];
  const double start_if[] = {kNotSent, start};
  const double end_if[] = {kNotSent, arrives};
  const double free_if[] = {station.channel_free_us, arrives + gap_after_transfer_us_};
  transfer_start_us_[index(output)] = start_if[is_wanted];
  transfer_end_us_[index(output)] = end_if[is_wanted];
  station.channel_free_us = free_if[is_wanted];
  // Those sent before arrive before.
  *station.arrival = std::min(*station.arrival, arrives + kNeverUnless[is_wanted]);
  *station.sent_tail = {start, arrives, output, producer};
  station.sent_tail += is_wanted;
  station.sent_tail->arrives_us = kNever;
}

}  // namespace emplace
