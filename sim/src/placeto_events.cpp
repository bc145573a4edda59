#include "earliest.hpp"
#include "placeto_engine.hpp"

#include <algorithm>
#include <utility>

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
    const std::size_t slot = earliest(turns_.data(), num_slots_);
    const double now_us = turns_[slot];
    if (now_us == kNever) {
      break;
    }
    take_turn(stations_[slot], now_us);
  }
  makespan_us_ = 0;
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    makespan_us_ =
        std::max({makespan_us_, stations_[slot].free_us, stations_[slot].channel_free_us});
  }
}

// Runs the first op of the device's queue and sends what other devices want of it (rules 7 to 9).
void PlacetoEngine::take_turn(Station& station, double now_us) {
  ready_start_us_[static_cast<std::size_t>(station.ready_head - ready_storage_.data())] = now_us;
  const OpId op = (station.ready_head++)->op;
  const OpFacts& facts = facts_[index(op)];
  const double cost_us = station.costs_us[op];
  const double end_us = now_us + cost_us;
  start_us_[index(op)] = now_us;
  end_us_[index(op)] = end_us;
  last_use_us_[index(op)] = whole(now_us) + whole(cost_us) - 1;
  station.free_us = end_us + facts.gap_us;

  const std::uint64_t by_name = order_of(op);
  const double start_us = std::max(station.channel_free_us, end_us);
  const double arrives_us = start_us + facts.transfer_us;
  if (facts.reads_one & (end_us > now_us) & (arrives_us > start_us)) [[likely]] {
    const Moment moments[] = {{arrives_us, by_name}, {end_us, by_name}};
    std::int32_t num_local = tell_block(station, facts.consumers, moments);
    for (const OpId* block = facts.rest; block != facts.rest_end; block += kConsumers) {
      num_local += tell_block(station, block, moments);
    }
    const bool is_sent = num_local < facts.num_consumers;
    const double start_if[] = {kNotSent, start_us};
    const double arrives_if[] = {kNotSent, arrives_us};
    const double free_if[] = {station.channel_free_us, arrives_us + gap_after_transfer_us_};
    transfer_start_us_[index(facts.only_output)] = start_if[is_sent];
    transfer_end_us_[index(facts.only_output)] = arrives_if[is_sent];
    station.channel_free_us = free_if[is_sent];
  } else {
    finish(station, op, now_us);
  }
  const bool has_work = station.ready_head != station.ready_tail;
  *station.turn = std::max(station.free_us, station.ready_head->ready_us) + kNeverUnless[has_work];
}

// Tells some consumers, with the moments for those elsewhere and for those on the producer's
// device; returns how many are the latter.
inline std::int32_t PlacetoEngine::tell_block(const Station& station, const OpId* block,
                                              const Moment* moments) {
  std::int32_t num_local = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kConsumers; ++i) {
    const bool is_local = state_[index(block[i])].home == &station;
    num_local += is_local;
    tell(block[i], moments[is_local]);
  }
  return num_local;
}

std::uint64_t PlacetoEngine::order_of(OpId producer) const {
  return static_cast<std::uint64_t>(state_[index(producer)].name_rank);
}

// Does for any op what take_turn() does for one with a single output that takes its time: sends
// each output that is wanted elsewhere once, in the order of first mention, and tells the
// consumers.
void PlacetoEngine::finish(Station& station, OpId op, double now_us) {
  const double end_us = end_us_[index(op)];
  const auto [first, last] = problem_.outputs(op);
  std::fill(transfer_start_us_.begin() + first, transfer_start_us_.begin() + last, kNotSent);
  std::fill(transfer_end_us_.begin() + first, transfer_end_us_.begin() + last, kNotSent);
  for (const Problem::Child& child : problem_.children(op)) {
    const std::size_t output = index(child.output);
    if (state_[index(child.op)].home != &station && transfer_start_us_[output] == kNotSent) {
      transfer_start_us_[output] = std::max(station.channel_free_us, end_us);
      transfer_end_us_[output] = transfer_start_us_[output] + transfer_us_[output];
      station.channel_free_us = transfer_end_us_[output] + gap_after_transfer_us_;
    }
  }
  for (const Problem::Child& child : problem_.children_by_name(op)) {
    const bool is_local = state_[index(child.op)].home == &station;
    const double begin_us = is_local ? now_us : transfer_start_us_[index(child.output)];
    const double known_us = is_local ? end_us : transfer_end_us_[index(child.output)];
    std::uint64_t order = order_of(op);
    if (known_us == begin_us) {
      order = begin_us > now_us ? kAtOnceByChannel | station.slot << kRankBits : kAtOnceAsItComes;
      order |= num_at_once_++;
    }
    tell(child.op, {known_us, order});
  }
}

// Tells one consumer when it has what it reads; if that was the last it waited for, queues it (rule
// 10).
inline void PlacetoEngine::tell(OpId op, Moment delivery) {
  OpState& consumer = state_[index(op)];
  const bool is_last =
      (delivery.us > consumer.ready.us) |
      ((delivery.us == consumer.ready.us) & (delivery.order > consumer.ready.order));
  consumer.ready.us = std::max(delivery.us, consumer.ready.us);
  consumer.ready.order ^=
      (consumer.ready.order ^ delivery.order) & -static_cast<std::uint64_t>(is_last);
  __builtin_prefetch(&facts_[index(op)]);  // it will take its turn before long
  const bool is_ready = --consumer.waiting == 0;

  Station& station = *consumer.home;
  Entry* const entry = station.ready_tail;
  *entry = {consumer.ready.us, op};
  station.ready_tail += is_ready;
  *station.turn = std::min(*station.turn,
                           std::max(station.free_us, consumer.ready.us) + kNeverUnless[is_ready]);
  if (is_ready & (entry != station.ready_head) & (entry[-1].ready_us >= consumer.ready.us)) {
    sort_in(station, entry);
  }
}

// Moves the last entry of a queue to its place. Among equal moments consumers go by name.
void PlacetoEngine::sort_in(Station& station, Entry* entry) {
  const Entry last = *entry;
  const auto place = [&](OpId op) {
    return std::pair(state_[index(op)].ready.order, state_[index(op)].name_rank);
  };
  while (entry != station.ready_head &&
         (entry[-1].ready_us > last.ready_us ||
          (entry[-1].ready_us == last.ready_us && place(entry[-1].op) > place(last.op)))) {
    *entry = entry[-1];
    --entry;
  }
  *entry = last;
}

}  // namespace emplace
