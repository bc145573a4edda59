#include "placeto_engine.hpp"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

void PlacetoEngine::simulate(const Placement& placement) {
  reset(placement);
  for (Station* next = &next_station(); next->turn != kNever; next = &next_station()) {
    take_turn(*next);
  }
  makespan_us_ = 0;
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    const Station& station = stations_[slot];
    makespan_us_ = std::max({makespan_us_, microseconds(station.free), station.channel_free_us});
  }
}

// Returns the first of the stations whose turn comes earliest: a tournament in each block.
inline PlacetoEngine::Station& PlacetoEngine::next_station() {
  std::size_t earliest = 0;
  Instant least = kNever;
  for (std::size_t slot = 0; slot < num_slots_; slot += kStations) {
    const Station* const block = &stations_[slot];
    static_assert(kStations == 4);
    const Instant left = std::min(block[0].turn, block[1].turn);
    const Instant right = std::min(block[2].turn, block[3].turn);
    const bool in_left = block[1].turn < block[0].turn;
    const bool in_right = block[3].turn < block[2].turn;
    const std::size_t winner = choose(right < left, std::size_t{2} | in_right, in_left);
    const Instant turn = std::min(left, right);
    earliest = choose(turn < least, slot | winner, earliest);
    least = std::min(turn, least);
  }
  return stations_[earliest];
}

// Runs the first op of the device's queue and sends what other devices want of it (rules 7 to 9).
void PlacetoEngine::take_turn(Station& station) {
  const double now_us = microseconds(station.turn);
  const OpId op = (station.ready_head++)->op;
  const OpFacts& facts = facts_[index(op)];
  const double cost_us = station.costs_us[op];
  const double end_us = now_us + cost_us;
  *next_turn_++ = op;
  times_.start_us[index(op)] = now_us;
  times_.end_us[index(op)] = end_us;
  times_.last_uses_us[index(op)] = PlacetoTimes::last_use_us(now_us, cost_us);
  station.free = instant(end_us + gap_us_[facts.has_gap]);

  const double start_us = std::max(station.channel_free_us, end_us);
  const double arrives_us = start_us + facts.transfer_us;
  if ((facts.only_output != PlacetoTimes::kNone) & (end_us > now_us) & (arrives_us > start_us))
      [[likely]] {
    const Moment here{instant(end_us), facts.name_rank};
    const Moment elsewhere{instant(arrives_us), facts.name_rank};
    std::int32_t num_local = tell_block(station, facts.consumers, here, elsewhere);
    const OpId* block = more_consumers_.data() + facts.more_consumers;
    for (std::int32_t i = kConsumers; i < facts.num_consumers; i += kConsumers) {
      num_local += tell_block(station, block, here, elsewhere);
      block += kConsumers;
    }
    const bool is_sent = num_local < facts.num_consumers;
    const double start_if[] = {PlacetoTimes::kNotSent, start_us};
    const double arrives_if[] = {PlacetoTimes::kNotSent, arrives_us};
    const double free_if[] = {station.channel_free_us, arrives_us + times_.gap_after_transfer_us};
    times_.transfer_start_us[index(facts.only_output)] = start_if[is_sent];
    times_.transfer_end_us[index(facts.only_output)] = arrives_if[is_sent];
    station.channel_free_us = free_if[is_sent];
  } else {
    finish(station, op, now_us);
  }
  const bool has_work = station.ready_head != station.ready_tail;
  station.turn = only_if(has_work, std::max(station.free, station.ready_head->ready));
}

// Tells some consumers, with the moments for those on the producer's device and for those
// elsewhere, which differ in time alone; returns how many are on the device.
inline std::int32_t PlacetoEngine::tell_block(const Station& station, const OpId* block,
                                              const Moment& here, const Moment& elsewhere) {
  std::int32_t num_local = 0;
#pragma GCC unroll 4
  for (std::int32_t i = 0; i < kConsumers; ++i) {
    const bool is_local = state_[index(block[i])].slot == station.slot;
    num_local += is_local;
    tell(block[i], {choose(is_local, here.at, elsewhere.at), here.order});
  }
  return num_local;
}

// Does for any op what take_turn() does for one with a single output that takes its time: sends
// each output that is wanted elsewhere once, in the order of first mention, and tells the
// consumers.
void PlacetoEngine::finish(Station& station, OpId op, double now_us) {
  const double end_us = times_.end_us[index(op)];
  station.channel_free_us = times_.send(problem_, op, station.channel_free_us, [&](OpId consumer) {
    return state_[index(consumer)].slot != station.slot;
  });
  for (const Problem::Child& child : problem_.children_by_name(op)) {
    const bool is_local = state_[index(child.op)].slot == station.slot;
    const double begin_us = is_local ? now_us : times_.transfer_start_us[index(child.output)];
    const double known_us = is_local ? end_us : times_.transfer_end_us[index(child.output)];
    std::uint64_t order = facts_[index(op)].name_rank;
    if (known_us == begin_us) {
      order = begin_us > now_us ? kAtOnceByChannel | std::uint64_t{station.slot} << kRankBits
                                : kAtOnceAsItComes;
      order |= num_at_once_++;
    }
    tell(child.op, {instant(known_us), order});
  }
}

// Tells one consumer when it has what it reads; if that was the last it waited for, queues it (rule
// 10).
inline void PlacetoEngine::tell(OpId op, Moment delivery) {
  OpState& consumer = state_[index(op)];
  bool is_last = delivery.at > consumer.ready.at;
  if (delivery.at == consumer.ready.at) [[unlikely]] {
    is_last = delivery.order > consumer.ready.order;
  }
  const Instant at = std::max(delivery.at, consumer.ready.at);
  consumer.ready = {at, choose(is_last, delivery.order, consumer.ready.order)};
  __builtin_prefetch(facts_.data() + op);  // it will take its turn before long
  const bool is_ready = --consumer.waiting == 0;

  // The entry is written in any case; it stays if the tail of the queue moves behind it.
  Station& station = stations_[consumer.slot];
  Entry* const entry = station.ready_tail;
  *entry = {at, op};
  station.ready_tail += is_ready;
  const Instant ready = only_if(is_ready, at);
  station.turn = std::min(station.turn, std::max(station.free, ready));
  if (entry[-1].ready >= ready) {
    sort_in(station, entry);
  }
}

// Moves the last entry of a queue to its place. Among equal moments consumers go by name.
void PlacetoEngine::sort_in(Station& station, Entry* entry) {
  const Entry last = *entry;
  const auto place = [&](OpId op) {
    return std::pair(state_[index(op)].ready.order, problem_.name_rank(op));
  };
  while (entry != station.ready_head &&
         (entry[-1].ready > last.ready ||
          (entry[-1].ready == last.ready && place(entry[-1].op) > place(last.op)))) {
    *entry = entry[-1];
    --entry;
  }
  *entry = last;
}

}  // namespace emplace
