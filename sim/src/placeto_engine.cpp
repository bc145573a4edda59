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
      times_(problem),
      moved_(problem.num_groups()),
      replay_(problem, times_) {
  const std::size_t num_ops = index(problem_.num_ops());
  const std::size_t num_devices = index(problem_.num_devices());
  freed_us_.resize(num_ops);
  peak_bytes_.resize(num_devices);
  // The op after the last pads lists of consumers: it is on no device and waits for ever. Ops
  // without consumers are taken to have one output that takes its time and is never sent.
  const OpId nobody = problem_.num_ops();
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const auto children = problem_.children_by_name(op);
    const std::int32_t only_output = PlacetoTimes::only_output(problem_, op);
    OpFacts facts{.consumers = {},
                  .more_consumers = static_cast<std::int32_t>(more_consumers_.size()),
                  .num_consumers = static_cast<std::int32_t>(children.size()),
                  .transfer_us = times_.transfer_us[index(std::max(only_output, 0))],
                  .only_output = only_output,
                  .has_gap = problem_.gap_us(op) > 0,
                  .name_rank = static_cast<std::uint32_t>(problem_.name_rank(op)) & kRankMask};
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
  num_ops_on_.resize(num_devices);
  memory_.reserve(num_ops);
  // A device has room for one more op than it runs (find_peaks_of_replay).
  for (std::vector<double>* by_op : {&starts_us_, &frees_us_}) {
    by_op->resize(num_ops + num_devices);
  }
  allocating_.resize(num_ops + num_devices);
  bytes_.resize(num_ops + num_devices);
  ends_.resize(num_devices);
}

void PlacetoEngine::reset(const Placement& placement) {
  const Grouping& grouping = problem_.grouping();

  // Devices without ops take no turns; the others get slots in the order of their names.
  std::fill(num_ops_on_.begin(), num_ops_on_.end(), 0);
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    num_ops_on_[index(placement[group])] += group_ops_[index(group)];
  }
  std::fill(stations_.begin(), stations_.end(), Station{});
  num_slots_ = 0;
  Entry* ready = ready_storage_.data() + 1;  // an entry may look at the one before it
  for (const DeviceId device : problem_.devices_by_name()) {
    const std::size_t num_ops = num_ops_on_[index(device)];
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
  next_turn_ = times_.turns.data();

  // Ops without producers are ready from the start, in graph order (rule 6).
  for (const OpId op : roots_) {
    Station& station = stations_[state_[index(op)].slot];
    *station.ready_tail++ = {0, op};
    station.turn = 0;
  }
}

void PlacetoEngine::run(const Placement& placement) {
  if (last_run_ == LastRun::kNone || !moved_.find(placement) || !replay(placement)) {
    simulate(placement);
    last_run_ = LastRun::kFull;
  }
  moved_.note_run(placement);
}

// Runs the placement from what the last run left.
bool PlacetoEngine::replay(const Placement& placement) {
  if (last_run_ == LastRun::kFull) {
    replay_.adopt(moved_.last());
    is_remembered_ = false;
  }
  for (const GroupId group : moved_.groups()) {
    replay_.move(group, placement[group]);
    num_ops_on_[index(moved_.last()[group])] -= group_ops_[index(group)];
    num_ops_on_[index(placement[group])] += group_ops_[index(group)];
  }
  const bool has_succeeded = replay_.run();
  moved_.note_replay(has_succeeded);
  if (has_succeeded) {
    makespan_us_ = replay_.makespan_us();
    last_run_ = LastRun::kReplay;
  }
  return has_succeeded;
}

}  // namespace emplace
