#include "incremental_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::placeto_model {
namespace {

// What it costs to put an op in its place, beside going through others again, in ops gone through;
// and how much of that a run may do, however few its ops.
constexpr std::int32_t kReorderCost = 8;
constexpr std::int32_t kMostRepeats = 6;  // times the ops of the step
constexpr std::int32_t kLeastAllowance = 256;

}  // namespace

IncrementalRun::IncrementalRun(const Problem& problem, const CostTable& costs)
    : problem_(problem),
      num_ops_(problem.num_ops()),
      times_(problem),
      sequence_(problem, times_),
      rows_(sequence_.rows),
      inputs_(sequence_.inputs),
      sources_(sequence_.sources),
      records_(sequence_.records),
      place_(sequence_.place),
      ties_(problem, sequence_, times_) {
  IdVector<OpId, std::int32_t> next_input;
  for (const Row& row : rows_) {
    next_input.push_back(row.sources);
  }
  for (OpId op = 0; op < num_ops_; ++op) {
    first_reader_.push_back(readers_.size());
    for (const Problem::Child& child : problem.children(op)) {
      readers_.push_back(next_input[child.op]++);
    }
  }
  num_elsewhere_.resize(problem.num_outputs() + 1);
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    devices_.push_back({.costs_us = costs.on(device).data()});
  }
  base_.records.resize(num_ops_);
  base_.known_us.resize(times_.known_us.size());
  base_.transfer_start_us.resize(times_.transfer_start_us.size());
  base_.last_ops.resize(index_of(num_ops_ / kCheckPlaces + 1) * devices_.size());
  for (DeviceId device = 0; device < devices_.end_id(); ++device) {
    last_ops_before(0)[device] = sentinel_of(device);
  }
  moved_.reserve(problem.num_groups());
  taken_back_.reserve(num_ops_);
  taken_back_in_.resize(num_ops_);
}

bool IncrementalRun::start_from(const Placement& placement, std::span<const OpId> order) {
  const Grouping& grouping = problem_.grouping();
  for (OpId op = 0; op < num_ops_; ++op) {
    rows_[op].device = placement[grouping.group_of(op)];
  }
  moved_.clear();
  // Ops that read nothing are ready first, in graph order wherever they are. So let them all come
  // first, and none of them needs to be sorted in when it is moved.
  std::int32_t place = 0;
  for (OpId op = 0; op < num_ops_; ++op) {
    if (sequence_.is_root(op)) {
      records_[place++].op = op;
    }
  }
  for (const OpId op : order) {
    if (!sequence_.is_root(op)) {
      records_[place++].op = op;
    }
  }
  for (place = 0; place < num_ops_; ++place) {
    place_[records_[place].op] = place;
  }
  std::fill(num_elsewhere_.begin(), num_elsewhere_.end(), 0);
  for (OpId op = 0; op < num_ops_; ++op) {
    const Row& row = rows_[op];
    for (std::int32_t input = row.sources; input < row.sources_end; ++input) {
      sources_[input] = inputs_[input].producer;
      connect(op, input);
    }
  }
  return sweep_all();
}

// Runs the whole step in the present order, and makes it the base.
bool IncrementalRun::sweep_all() {
  next_check_ = num_ops_;
  if (!sweep(0)) {
    return false;
  }
  make_base();
  return true;
}

bool IncrementalRun::run(std::span<const Move> moves) {
  go_back();
  first_touched_ = num_ops_;
  last_touched_ = -1;
  for (const auto [group, device] : moves) {
    const OpId member = problem_.grouping().members(group).front();
    moved_.push_back({group, rows_[member].device});
    move(group, device);
  }
  next_check_ = (last_touched_ / kCheckPlaces + 1) * kCheckPlaces;
  return sweep(first_touched_);
}

// Undoes what the last run changed of the base.
void IncrementalRun::go_back() {
  for (std::int32_t place = changed_.begin; place < changed_.end; ++place) {
    records_[place] = base_.records[place];
    place_[records_[place].op] = place;
  }
  copy_times(base_, times_);
  touch(changed_);
  changed_ = {};
  for (auto last = moved_.rbegin(); last != moved_.rend(); ++last) {
    move(last->group, last->from);
  }
  moved_.clear();
}

void IncrementalRun::make_base() {
  std::copy(records_.begin() + changed_.begin, records_.begin() + changed_.end,
            base_.records.begin() + changed_.begin);
  copy_times(times_, base_);
  find_last_ops();
  base_.makespan_us = makespan_us_;
  changed_ = {};
  moved_.clear();
}

template <class From, class To>
void IncrementalRun::copy_times(const From& from, To& to) const {
  const auto copy_output = [&](OutputId output) {
    const auto known = index_of(num_ops_) + index_of(output);
    to.known_us[known] = from.known_us[known];
    to.transfer_start_us[output] = from.transfer_start_us[output];
  };
  for (std::int32_t place = changed_.begin; place < changed_.end; ++place) {
    const OpId op = records_[place].op;
    to.known_us[index_of(op)] = from.known_us[index_of(op)];
    if (rows_[op].only_output != StepTimes::kNone) [[likely]] {
      copy_output(rows_[op].only_output);
    } else {
      const auto [first, last] = problem_.outputs(op);
      for (OutputId output = first; output < last; ++output) {
        copy_output(output);
      }
    }
  }
}

// Notes the last op of each device before each kCheckPlaces-th place that changed.
void IncrementalRun::find_last_ops() {
  std::int32_t place = changed_.begin / kCheckPlaces * kCheckPlaces;
  const OpId* before = last_ops_before(place);
  for (; place + kCheckPlaces <= changed_.end; place += kCheckPlaces) {
    OpId* const after = last_ops_before(place + kCheckPlaces);
    std::copy_n(before, devices_.size(), after);
    for (std::int32_t at = place; at < place + kCheckPlaces; ++at) {
      after[rows_[records_[at].op].device] = records_[at].op;
    }
    before = after;
  }
}

// Says that what times() tells of these places is out of date.
void IncrementalRun::touch(Range range) {
  if (range.begin >= range.end) {
    return;
  }
  stale_ = stale_.begin >= stale_.end
               ? range
               : Range{std::min(stale_.begin, range.begin), std::max(stale_.end, range.end)};
}

const StepTimes& IncrementalRun::times() {
  for (std::int32_t place = stale_.begin; place < stale_.end; ++place) {
    const auto& [ready_us, start_us, channel_free_us, op, previous] = records_[place];
    times_.dispatch_order[place] = op;
    times_.start_us[op] = start_us;
    times_.last_uses_us[op] =
        StepTimes::last_use_us(start_us, devices_[rows_[op].device].costs_us[op]);
  }
  stale_ = {};
  return times_;
}

// Puts a group on another device, and notes which places that touches.
void IncrementalRun::move(GroupId group, DeviceId device) {
  const auto members = problem_.grouping().members(group);
  for (const OpId op : members) {
    rows_[op].device = device;
    first_touched_ = std::min(first_touched_, place_[op]);
    last_touched_ = std::max(last_touched_, place_[op]);
  }
  for (const OpId op : members) {
    const Row& row = rows_[op];
    for (std::int32_t input = row.sources; input < row.sources_end; ++input) {
      connect(op, input);
    }
    const std::int32_t* reader = readers_.data() + first_reader_[op];
    for (const Problem::Child& child : problem_.children(op)) {
      connect(child.op, *reader++);
      last_touched_ = std::max(last_touched_, place_[child.op]);
    }
  }
}

// Lets a consumer read at the producer's device or at the end of the transfer.
void IncrementalRun::connect(OpId consumer, std::int32_t input) {
  const auto [producer, output] = inputs_[input];
  std::int32_t& source = sources_[input];
  const Row& row = rows_[producer];
  const bool is_elsewhere = row.device != rows_[consumer].device;
  if (is_elsewhere == (source != producer)) {
    return;
  }
  std::int32_t& num_elsewhere = num_elsewhere_[output];
  source = is_elsewhere ? num_ops_ + output : std::int32_t{producer};
  num_elsewhere += is_elsewhere ? 1 : -1;
  // Whether an output is sent makes a difference to its channel, and so does the order of several.
  if (num_elsewhere == (is_elsewhere ? 1 : 0) || row.only_output == StepTimes::kNone) {
    first_touched_ = std::min(first_touched_, place_[producer]);
  }
}

// Runs the ops from `place` on, in the order of the records. Returns whether it succeeded.
bool IncrementalRun::sweep(std::int32_t place) {
  set_devices_before(place);
  changed_ = {place, place};
  std::int64_t allowance =
      std::int64_t{kMostRepeats} * num_ops_ + kLeastAllowance;  // for going through ops again
  bool has_succeeded = true;
  for (; place < num_ops_; ++place) {
    if (place == next_check_ && has_rejoined(place)) {
      break;
    }
    const OpId op = records_[place].op;
    const Row& row = rows_[op];
    const DeviceTimes& device = devices_[row.device];
    const double ready = ready_us(row);
    if (ready <= device.ready_us) [[unlikely]] {
      records_[place].ready_us = ready;
      const TieBreaking::Order order = ties_.order_of(device.last, op);
      if (order == TieBreaking::Order::kUnknown) {
        has_succeeded = false;
        break;
      }
      if (order == TieBreaking::Order::kWrong) {
        const std::int32_t first = reorder(place);
        allowance -= kReorderCost + place - first;
        if (allowance < 0) {
          has_succeeded = false;
          break;
        }
        place = first - 1;
        continue;
      }
    }
    dispatch(place, op, row, ready);
  }
  changed_.end = std::max(changed_.end, std::min<std::int32_t>(place + 1, num_ops_));
  touch(changed_);
  if (place < num_ops_) {
    makespan_us_ = base_.makespan_us;
  } else {
    makespan_us_ = 0;
    for (const DeviceTimes& device : devices_) {
      makespan_us_ = std::max({makespan_us_, device.free_us, device.channel_free_us});
    }
  }
  return has_succeeded;
}

// Returns when an op has all that it reads.
inline double IncrementalRun::ready_us(const Row& row) const {
  static_assert(DispatchSequence::kBlock == 2);
  const double* const known_us = times_.known_us.data();
  const std::int32_t* source = sources_.data() + row.sources;
  double ready_us = std::max(known_us[source[0]], known_us[source[1]]);
  for (std::int32_t left = row.sources_end - row.sources - 2; left > 0; left -= 2) {
    source += 2;
    ready_us = std::max(ready_us, std::max(known_us[source[0]], known_us[source[1]]));
  }
  return ready_us;
}

// Runs an op and sends what other devices want of it (rules 7 to 9).
inline void IncrementalRun::dispatch(std::int32_t place, OpId op, const Row& row, double ready_us) {
  DeviceTimes& device = devices_[row.device];
  const double start_us = std::max(ready_us, device.free_us);
  const double end_us = start_us + device.costs_us[op];
  times_.end_us[op] = end_us;
  if (row.only_output != StepTimes::kNone) [[likely]] {
    const double sent_us = std::max(device.channel_free_us, end_us);
    const double arrives_us = sent_us + row.transfer_us;
    const bool is_sent = num_elsewhere_[row.only_output] > 0;
    const double start_if[] = {StepTimes::kNotSent, sent_us};
    const double arrives_if[] = {StepTimes::kNotSent, arrives_us};
    const double free_if[] = {device.channel_free_us, arrives_us + times_.gap_after_transfer_us};
    times_.transfer_start_us[row.only_output] = start_if[is_sent];
    times_.transfer_end_us[row.only_output] = arrives_if[is_sent];
    device.channel_free_us = free_if[is_sent];
  } else {
    device.channel_free_us = times_.send(problem_, op, device.channel_free_us, [&](OpId consumer) {
      return rows_[consumer].device != row.device;
    });
  }
  records_[place] = {ready_us, start_us, device.channel_free_us, op, device.last};
  device.ready_us = ready_us;
  device.free_us = end_us + row.gap_us;
  device.last = op;
}

// Puts the devices into the state in which they are before an op of the base is dispatched.
void IncrementalRun::set_devices_before(std::int32_t place) {
  const OpId* const last_ops = last_ops_before(place);
  for (DeviceId device = 0; device < devices_.end_id(); ++device) {
    devices_[device].last = last_ops[device];
  }
  for (std::int32_t at = place / kCheckPlaces * kCheckPlaces; at < place; ++at) {
    const OpId op = records_[at].op;
    devices_[rows_[op].device].last = op;
  }
  for (DeviceId device = 0; device < devices_.end_id(); ++device) {
    set_device(device, devices_[device].last);
  }
}

// Puts a device into the state in which it is after one of its ops.
void IncrementalRun::set_device(DeviceId device, OpId last) {
  DeviceTimes& state = devices_[device];
  state.last = last;
  if (last < num_ops_) {
    const Record& record = sequence_.record_of(last);
    state.ready_us = record.ready_us;
    state.free_us = times_.end_us[last] + rows_[last].gap_us;
    state.channel_free_us = record.channel_free_us;
  } else {
    state.ready_us = -1;
    state.free_us = 0;
    state.channel_free_us = 0;
  }
}

// Says whether all from `place` on is as in the base; if not, chooses where to look again.
// Requires: `place` is a multiple of kCheckPlaces, and behind all that was touched.
bool IncrementalRun::has_rejoined(std::int32_t place) {
  next_check_ = place + kCheckPlaces;
  if (place < changed_.end) {  // ops from here on were put in another order
    return false;
  }
  const OpId* const last_ops = last_ops_before(place);
  for (DeviceId device = 0; device < devices_.end_id(); ++device) {
    const OpId last = devices_[device].last;
    if (last != last_ops[device] || (last < num_ops_ && !is_as_in_base(last))) {
      return false;
    }
  }
  std::int32_t last_reader = -1;
  for (std::int32_t at = changed_.begin; at < place; ++at) {
    const OpId op = records_[at].op;
    if (has_new_times(op)) {
      for (const Problem::Child& child : problem_.children(op)) {
        last_reader = std::max(last_reader, place_[child.op]);
      }
    }
  }
  if (last_reader >= place) {
    next_check_ = (last_reader / kCheckPlaces + 1) * kCheckPlaces;
    return false;
  }
  return true;
}

// Says whether an op leaves its device behind as it does in the base.
bool IncrementalRun::is_as_in_base(OpId op) const {
  const Record& now = sequence_.record_of(op);
  const Record& then = base_.records[place_[op]];
  return then.op == op && now.ready_us == then.ready_us &&
         now.channel_free_us == then.channel_free_us &&
         times_.known_us[index_of(op)] == base_.known_us[index_of(op)];
}

// Says whether what an op tells its consumers is other than in the base.
bool IncrementalRun::has_new_times(OpId op) const {
  const auto [first, last] = problem_.outputs(op);
  bool is_new = times_.known_us[index_of(op)] != base_.known_us[index_of(op)];
  for (OutputId output = first; output < last; ++output) {
    const auto known = index_of(num_ops_) + index_of(output);
    is_new |= times_.known_us[known] != base_.known_us[known];
  }
  return is_new;
}

// Puts the op at `place` before those that went before it on its device though they are ready
// later, and before all between that depend on these; returns its new place, from which to go on.
std::int32_t IncrementalRun::reorder(std::int32_t place) {
  const OpId late = records_[place].op;
  const double late_us = records_[place].ready_us;
  DeviceTimes& device = devices_[rows_[late].device];
  std::int32_t first = place;
  for (OpId other = device.last; other < num_ops_ && ties_.is_before(late, other);
       other = sequence_.record_of(other).previous) {
    first = place_[other];
  }
  // What is taken back comes behind; the others stay as they are.
  device.is_taken_back = true;
  ++num_reorders_;
  taken_back_.clear();
  std::int32_t next = first;
  for (std::int32_t at = first; at < place; ++at) {
    const Record& record = records_[at];
    if (devices_[rows_[record.op].device].is_taken_back || reads_what_is_taken_back(record.op)) {
      devices_[rows_[record.op].device].is_taken_back = true;
      taken_back_in_[record.op] = num_reorders_;
      taken_back_.push_back({record.op, record.previous});
    } else {
      place_[record.op] = next;
      records_[next++] = record;
    }
  }
  const std::int32_t begin = next;
  place_[late] = next;
  records_[next++] = {.ready_us = late_us, .op = late};
  for (const TakenBack& taken : taken_back_) {
    place_[taken.op] = next;
    records_[next++].op = taken.op;
  }
  for (auto taken = taken_back_.rbegin(); taken != taken_back_.rend(); ++taken) {
    devices_[rows_[taken->op].device].last = taken->previous;
  }
  for (DeviceId at = 0; at < devices_.end_id(); ++at) {
    if (devices_[at].is_taken_back) {
      devices_[at].is_taken_back = false;
      set_device(at, devices_[at].last);
    }
  }
  changed_ = {std::min(changed_.begin, first), std::max(changed_.end, place + 1)};
  return begin;
}

bool IncrementalRun::reads_what_is_taken_back(OpId op) const {
  const Row& row = rows_[op];
  bool reads = false;
  for (std::int32_t input = row.sources; input < row.sources_end; ++input) {
    reads |= taken_back_in_[inputs_[input].producer] == num_reorders_;
  }
  return reads;
}

}  // namespace emplace::placeto_model
