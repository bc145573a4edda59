#include "placeto_engine.hpp"

#include <algorithm>
#include <limits>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

PlacetoEngine::PlacetoEngine(const Problem& problem)
    : problem_(problem),
      gap_us_{0, problem.cluster().placeto.gap_after_op_us},
      gap_after_transfer_us_(problem.cluster().placeto.gap_after_transfer_us) {
  const std::size_t num_ops = index(problem_.num_ops());
  const std::size_t num_outputs = index(problem_.num_outputs());
  const std::size_t num_devices = index(problem_.num_devices());
  for (std::vector<double>* by_op : {&start_us_, &end_us_, &freed_us_, &starts_us_, &frees_us_}) {
    by_op->resize(num_ops);
  }
  last_use_us_.resize(num_ops + 1, -1);
  transfer_start_us_.assign(num_outputs + 1, kNotSent);
  transfer_end_us_.assign(num_outputs + 1, kNotSent);
  peak_bytes_.resize(num_devices);
  for (std::int32_t output = 0; output < problem_.num_outputs(); ++output) {
    transfer_us_.push_back(static_cast<double>(problem_.output_bytes(output)) /
                           problem_.cluster().placeto.bytes_per_us);
  }
  // The op after the last pads lists of consumers: it is on no device and waits for ever. Ops
  // without consumers are taken to have one output that takes its time and is never sent.
  const OpId nobody = problem_.num_ops();
  constexpr double kAnyTime = 1;
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const auto children = problem_.children_by_name(op);
    OpFacts facts{.consumers = {},
                  .more_consumers = static_cast<std::int32_t>(more_consumers_.size()),
                  .num_consumers = static_cast<std::int32_t>(children.size()),
                  .transfer_us = kAnyTime,
                  .only_output = problem_.num_outputs(),
                  .has_gap = problem_.gap_us(op) > 0,
                  .name_rank = static_cast<std::uint32_t>(problem_.name_rank(op)) & kRankMask};
    if (!children.empty()) {
      const std::int32_t output = children.front().output;
      const bool is_only = std::all_of(children.begin(), children.end(),
                                       [&](const auto& child) { return child.output == output; });
      facts.transfer_us = transfer_us_[index(output)];
      facts.only_output = is_only ? output : kNone;
    }
    std::fill(std::begin(facts.consumers), std::end(facts.consumers), nobody);
    const std::size_t num_first = std::min(children.size(), index(kConsumers));
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (i < num_first) {
        facts.consumers[i] = children[i].op;
      } else {
        more_consumers_.push_back(children[i].op);
      }
    }
    while (more_consumers_.size() % index(kConsumers) != 0) {
      more_consumers_.push_back(nobody);
    }
    facts_.push_back(facts);
    if (problem_.num_parents(op) == 0) {
      roots_.push_back(op);
    }
  }
  group_ops_.resize(index(problem_.num_groups()));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    group_ops_[index(problem_.grouping().group_of(op))] += 1;
  }
  state_.resize(num_ops + 1);
  stations_.resize((num_devices + kStations - 1) / kStations * kStations + 1);
  ready_storage_.resize(1 + num_ops + num_devices + 1);
  slot_of_device_.resize(num_devices);
  num_ready_.resize(num_devices);
  memory_.reserve(num_ops);
  allocations_.resize(num_ops);
}

void PlacetoEngine::reset(const Placement& placement) {
  const Grouping& grouping = problem_.grouping();

  // Devices without ops take no turns; the others get slots in the order of their names.
  std::fill(num_ready_.begin(), num_ready_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    num_ready_[index(placement[group])] += group_ops_[index(group)];
  }
  std::fill(stations_.begin(), stations_.end(), Station{});
  num_slots_ = 0;
  Entry* ready = ready_storage_.data() + 1;  // an entry may look at the one before it
  for (const DeviceId device : problem_.devices_by_name()) {
    const std::size_t num_ops = num_ready_[index(device)];
    if (num_ops > 0) {
      stations_[num_slots_] = {.costs_us = problem_.costs_us(device).data(),
                               .ready_begin = ready,
                               .ready_head = ready,
                               .ready_tail = ready,
                               .device = device,
                               .slot = static_cast<std::uint32_t>(num_slots_)};
      slot_of_device_[index(device)] = static_cast<std::uint32_t>(num_slots_++);
      ready += num_ops + 1;
    }
  }
  Station& home_of_nobody = stations_.back();
  home_of_nobody.slot = static_cast<std::uint32_t>(stations_.size() - 1);
  home_of_nobody.ready_head = home_of_nobody.ready_tail = ready;
  state_[index(problem_.num_ops())] = {
      {0, 0}, std::numeric_limits<std::int32_t>::max(), home_of_nobody.slot};
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[grouping.group_of(op)];
    state_[index(op)] = {{0, static_cast<std::uint64_t>(op)},
                         problem_.num_parents(op),
                         slot_of_device_[index(device)]};
  }
  num_at_once_ = 0;

  // Ops without producers are ready from the start, in graph order (rule 6).
  for (const OpId op : roots_) {
    Station& station = stations_[state_[index(op)].slot];
    *station.ready_tail++ = {0, op};
    station.turn = 0;
  }
}

// Persistent bytes for the whole step and each op's outputs from its start until 1 us before the
// truncated end of its last consumer, wherever that runs (rules 14 and 15).
void PlacetoEngine::account_memory(const Placement& placement) {
  for (std::size_t op = 0; op < freed_us_.size(); ++op) {
    const OpFacts& facts = facts_[op];
    double freed_us = start_us_[op];
    const auto last_use = [&](const OpId* block) {
      return std::max(last_use_us_[index(block[0])], last_use_us_[index(block[1])]);
    };
    static_assert(kConsumers == 2);
    freed_us = std::max(freed_us, last_use(facts.consumers));
    const OpId* block = more_consumers_.data() + facts.more_consumers;
    for (std::int32_t i = kConsumers; i < facts.num_consumers; i += kConsumers) {
      freed_us = std::max(freed_us, last_use(block));
      block += kConsumers;
    }
    freed_us_[op] = freed_us;
  }
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    const Station& station = stations_[slot];
    const auto count = static_cast<std::size_t>(station.ready_head - station.ready_begin);
    for (std::size_t position = 0; position < count; ++position) {
      const OpId op = station.ready_begin[position].op;
      starts_us_[position] = start_us_[index(op)];
      frees_us_[position] = freed_us_[index(op)];
      allocations_[position] = problem_.allocated_bytes(op);
    }
    peak_bytes_[index(station.device)] = memory_.peak(
        {starts_us_.data(), count}, {frees_us_.data(), count}, {allocations_.data(), count});
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    peak_bytes_[index(placement[group])] += problem_.group_persistent_bytes(group);
  }
}

}  // namespace emplace
