#include "placeto_engine.hpp"

#include <algorithm>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

// Persistent bytes for the whole step and each op's outputs from its start until 1 us before the
// truncated end of its last consumer, wherever that runs (rules 14 and 15).
void PlacetoEngine::account_memory(const Placement& placement) {
  free_outputs();
  if (last_run_ == LastRun::kReplay) {
    find_peaks_of_replay(placement);
  } else {
    find_peaks();
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    peak_bytes_[index(placement[group])] += problem_.group_persistent_bytes(group);
  }
}

void PlacetoEngine::free_outputs() {
  const auto last_use_us = [&](const OpId* block) {
    static_assert(kConsumers == 2);
    return std::max(times_.last_uses_us[index(block[0])], times_.last_uses_us[index(block[1])]);
  };
  for (std::size_t op = 0; op < freed_us_.size(); ++op) {
    const OpFacts& facts = facts_[op];
    double freed_us = std::max(times_.start_us[op], last_use_us(facts.consumers));
    const OpId* block = more_consumers_.data() + facts.more_consumers;
    for (std::int32_t i = kConsumers; i < facts.num_consumers; i += kConsumers) {
      freed_us = std::max(freed_us, last_use_us(block));
      block += kConsumers;
    }
    freed_us_[op] = freed_us;
  }
}

// After a full run the queues tell in which order a device started its ops.
void PlacetoEngine::find_peaks() {
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    const Station& station = stations_[slot];
    const auto count = static_cast<std::size_t>(station.ready_head - station.ready_begin);
    for (std::size_t position = 0; position < count; ++position) {
      const OpId op = station.ready_begin[position].op;
      starts_us_[position] = times_.start_us[index(op)];
      frees_us_[position] = freed_us_[index(op)];
      bytes_[position] = problem_.allocated_bytes(op);
    }
    peak_bytes_[index(station.device)] =
        memory_.peak({starts_us_.data(), count}, {frees_us_.data(), count}, {bytes_.data(), count});
  }
}

// After a replay the turns of all devices do. Ops that allocate nothing are left out: each op is
// written behind the others of its device, and stays if their end moves behind it.
void PlacetoEngine::find_peaks_of_replay(const Placement& placement) {
  std::size_t begin = 0;
  for (std::size_t device = 0; device < ends_.size(); ++device) {
    ends_[device] = begin;
    begin += num_ops_on_[device] + 1;
  }
  for (const OpId op : times_.turns) {
    std::size_t& end = ends_[index(placement[problem_.grouping().group_of(op)])];
    allocating_[end] = op;
    starts_us_[end] = times_.start_us[index(op)];
    frees_us_[end] = freed_us_[index(op)];
    bytes_[end] = problem_.allocated_bytes(op);
    end += bytes_[end] != 0;
  }
  begin = 0;
  for (std::size_t device = 0; device < ends_.size(); ++device) {
    const std::size_t count = ends_[device] - begin;
    const std::span starts_us = std::span<const double>(starts_us_).subspan(begin, count);
    const std::span frees_us = std::span<const double>(frees_us_).subspan(begin, count);
    const std::span bytes = std::span<const std::int64_t>(bytes_).subspan(begin, count);
    const std::span ops = std::span<const OpId>(allocating_).subspan(begin, count);
    if (is_remembered_) {
      peak_bytes_[device] = memory_.peak_again(starts_us, frees_us, bytes, ops);
    } else {
      peak_bytes_[device] = memory_.peak(starts_us, frees_us, bytes);
      memory_.remember(ops);
    }
    begin += num_ops_on_[device] + 1;
  }
  is_remembered_ = true;
}

}  // namespace emplace
