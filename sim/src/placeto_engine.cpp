#include "placeto_engine.hpp"

#include "earliest.hpp"

#include <algorithm>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

PlacetoEngine::PlacetoEngine(const Problem& problem)
    : problem_(problem), gap_after_transfer_us_(problem.cluster().placeto.gap_after_transfer_us) {
  const std::size_t num_ops = index(problem_.num_ops());
  const std::size_t num_outputs = index(problem_.num_outputs());
  const std::size_t num_devices = index(problem_.num_devices());
  for (std::vector<double>* by_op : {&start_us_, &end_us_, &freed_us_, &frees_us_}) {
    by_op->resize(num_ops);
  }
  last_use_us_.resize(num_ops + 1, -1);
  transfer_start_us_.assign(num_outputs, kNotSent);
  transfer_end_us_.assign(num_outputs, kNotSent);
  peak_bytes_.resize(num_devices);
  for (std::int32_t output = 0; output < problem_.num_outputs(); ++output) {
    transfer_us_.push_back(static_cast<double>(problem_.output_bytes(output)) /
                           problem_.cluster().placeto.bytes_per_us);
  }
  // The op after the last pads lists of consumers: it is on no device and waits for ever.
  const OpId nobody = problem_.num_ops();
  std::vector<std::size_t> first_more;
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const auto children = problem_.children_by_name(op);
    const bool is_only = std::all_of(children.begin(), children.end(), [&](const auto& child) {
      return child.output == children.front().output;
    });
    OpFacts facts{
        .consumers = {},
        .gap_us = problem_.gap_us(op),
        .transfer_us = children.empty() ? 0 : transfer_us_[index(children.front().output)],
        .only_output = children.empty() ? 0 : children.front().output,
        .reads_one = is_only && !children.empty(),
        .num_parents = problem_.num_parents(op),
        .num_consumers = static_cast<std::int32_t>(children.size())};
    first_more.push_back(more_consumers_.size());
    for (std::size_t i = 0; i < std::max(children.size(), kConsumers); ++i) {
      const OpId consumer = i < children.size() ? children[i].op : nobody;
      if (i < kConsumers) {
        facts.consumers[i] = consumer;
      } else {
        more_consumers_.push_back(consumer);
      }
    }
    more_consumers_.resize((more_consumers_.size() + kConsumers - 1) / kConsumers * kConsumers,
                           nobody);
    facts_.push_back(facts);
    if (facts.num_parents == 0) {
      roots_.push_back(op);
    }
  }
  first_more.push_back(more_consumers_.size());
  for (std::size_t op = 0; op < num_ops; ++op) {
    facts_[op].rest = more_consumers_.data() + first_more[op];
    facts_[op].rest_end = more_consumers_.data() + first_more[op + 1];
  }
  group_ops_.resize(index(problem_.num_groups()));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    group_ops_[index(problem_.grouping().group_of(op))] += 1;
  }
  state_.resize(num_ops + 1);
  stations_.resize(num_devices + 1);
  turns_.resize(num_devices + kEventBlock);
  ready_storage_.resize(1 + num_ops + num_devices + 1);
  ready_start_us_.resize(ready_storage_.size());
  station_of_device_.resize(num_devices);
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
  std::fill(turns_.begin(), turns_.end(), kNever);
  num_slots_ = 0;
  Entry* ready = ready_storage_.data() + 1;  // an entry may look at the one before it
  const auto open_station = [&](DeviceId device, const double* costs_us, std::size_t num_ops) {
    stations_[num_slots_] = {.turn = &turns_[num_slots_],
                             .device = device,
                             .slot = num_slots_,
                             .costs_us = costs_us,
                             .ready_begin = ready,
                             .ready_head = ready,
                             .ready_tail = ready};
    ready += num_ops + 1;
  };
  for (const DeviceId device : problem_.devices_by_name()) {
    const std::size_t num_ops = num_ready_[index(device)];
    if (num_ops > 0) {
      open_station(device, problem_.costs_us(device).data(), num_ops);
      station_of_device_[index(device)] = &stations_[num_slots_++];
    }
  }
  // The op that pads lists of consumers lives behind all devices and waits for ever.
  open_station(kNone, nullptr, 0);
  state_[index(problem_.num_ops())] = {
      &stations_[num_slots_], std::numeric_limits<std::int32_t>::max(), 0, {0, 0}};
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[grouping.group_of(op)];
    state_[index(op)] = {station_of_device_[index(device)],
                         facts_[index(op)].num_parents,
                         problem_.name_rank(op),
                         {0, static_cast<std::uint64_t>(op)}};
  }
  num_at_once_ = 0;

  // Ops without producers are ready from the start, in graph order (rule 6).
  for (const OpId op : roots_) {
    Station& station = *state_[index(op)].home;
    *station.ready_tail++ = {0, op};
    *station.turn = 0;
  }
}

// Persistent bytes for the whole step and each op's outputs from its start until 1 us before the
// truncated end of its last consumer, wherever that runs (rules 14 and 15).
void PlacetoEngine::account_memory(const Placement& placement) {
  for (std::size_t op = 0; op < freed_us_.size(); ++op) {
    const OpFacts& facts = facts_[op];
    double freed_us = start_us_[op];
    for (const OpId consumer : facts.consumers) {
      freed_us = std::max(freed_us, last_use_us_[index(consumer)]);
    }
    for (const OpId* consumer = facts.rest; consumer != facts.rest_end; ++consumer) {
      freed_us = std::max(freed_us, last_use_us_[index(*consumer)]);
    }
    freed_us_[op] = freed_us;
  }
  std::fill(peak_bytes_.begin(), peak_bytes_.end(), 0);
  for (std::size_t slot = 0; slot < num_slots_; ++slot) {
    const Station& station = stations_[slot];
    const auto begin = static_cast<std::size_t>(station.ready_begin - ready_storage_.data());
    const auto count = static_cast<std::size_t>(station.ready_head - station.ready_begin);
    for (std::size_t position = 0; position < count; ++position) {
      const OpId op = station.ready_begin[position].op;
      frees_us_[position] = freed_us_[index(op)];
      allocations_[position] = problem_.allocated_bytes(op);
    }
    peak_bytes_[index(station.device)] =
        memory_.peak({ready_start_us_.data() + begin, count}, {frees_us_.data(), count},
                     {allocations_.data(), count});
  }
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    peak_bytes_[index(placement[group])] += problem_.group_persistent_bytes(group);
  }
}

}  // namespace emplace
