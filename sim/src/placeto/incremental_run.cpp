#include "incremental_run.hpp"

#include <algorithm>
#include <utility>

namespace emplace::placeto {
namespace {

// What it costs to reorder for an op that comes too late, in ops gone through, and how often a run
// of however few ops may do it.
constexpr std::int32_t kReorderCost = 32;
constexpr std::int32_t kLeastAllowance = 8 * kReorderCost;

// The orders of EventLoop::EventKey, with the place of the producer where those have a count of
// deliveries that took no time. Places count such deliveries on one device; only the events of that
// time can put those from elsewhere among them.
constexpr std::uint64_t kAtOnceByChannel = std::uint64_t{1} << 62;
constexpr std::uint64_t kAtOnceAsItComes = std::uint64_t{2} << 62;
constexpr std::uint64_t kFromElsewhere = 2;
constexpr std::uint64_t kUnclear = 1;
constexpr int kPlaceBits = 31;

}  // namespace

IncrementalRun::IncrementalRun(const Problem& problem, StepTimes& times)
    : problem_(problem), times_(times) {
  const OpId num_ops = problem.num_ops();
  rows_.resize(num_ops);
  for (OpId op = 0; op < num_ops; ++op) {
    Row& row = rows_[op];
    row.only_output = StepTimes::only_output(problem, op);
    row.transfer_us = times.transfer_us[std::max(row.only_output, 0)];
    row.gap_us = problem.gap_us(op);
    row.sources = row.sources_end = static_cast<std::int32_t>(inputs_.size());
    const std::size_t blocks =
        std::max<std::size_t>((problem.num_parents(op) + kBlock - 1) / kBlock, 1);
    inputs_.resize(inputs_.size() + blocks * kBlock, {StepTimes::kNone, StepTimes::kNone});
  }
  const auto zero = static_cast<std::int32_t>(times.known_us.size() - 1);
  sources_.resize(inputs_.size(), zero);
  for (OpId op = 0; op < num_ops; ++op) {
    first_reader_.push_back(readers_.size());
    for (const Problem::Child& child : problem.children(op)) {
      std::int32_t& input = rows_[child.op].sources_end;
      inputs_[input] = {op, child.output};
      readers_.push_back(input++);
    }
  }
  num_elsewhere_.resize(problem.num_outputs() + 1);
  device_ranks_.resize(problem.num_devices());
  for (std::uint64_t rank = 0; const DeviceId device : problem.devices_by_name()) {
    device_ranks_[device] = rank++;
  }
  dispatches_.resize(num_ops + problem.num_devices());
  last_.resize(problem.num_devices());
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    dispatches_[sentinel_of(device)] = {-1, 0, 0, StepTimes::kNone, -1};
  }
}

bool IncrementalRun::is_root(OpId op) const { return rows_[op].sources == rows_[op].sources_end; }

void IncrementalRun::start_from(const Placement& placement) {
  const Grouping& grouping = problem_.grouping();
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    rows_[op].device = placement[grouping.group_of(op)];
  }
  std::fill(num_elsewhere_.begin(), num_elsewhere_.end(), 0);
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const Row& row = rows_[op];
    for (std::int32_t input = row.sources; input < row.sources_end; ++input) {
      sources_[input] = inputs_[input].producer;
      connect(op, input);
    }
  }
  // Ops that read nothing are ready first, in graph order wherever they are. So let them all come
  // first, and none of them needs to be sorted in when it is moved.
  std::size_t first = times_.dispatch_order.size();
  for (std::size_t at = times_.dispatch_order.size(); at-- > 0;) {
    if (!is_root(times_.dispatch_order[at])) {
      times_.dispatch_order[--first] = times_.dispatch_order[at];
    }
  }
  std::size_t next = 0;
  for (OpId op = 0; next < first; ++op) {
    if (is_root(op)) {
      times_.dispatch_order[next++] = op;
    }
  }
  for (std::int32_t place = 0; place < problem_.num_ops(); ++place) {
    dispatches_[times_.dispatch_order[place]].place = place;
  }
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    last_[device] = sentinel_of(device);
  }
  first_changed_ = 0;
}

void IncrementalRun::move(GroupId group, DeviceId device) {
  const auto members = problem_.grouping().members(group);
  for (const OpId op : members) {
    rows_[op].device = device;
    first_changed_ = std::min(first_changed_, dispatches_[op].place);
  }
  for (const OpId op : members) {
    const Row& row = rows_[op];
    for (std::int32_t input = row.sources; input < row.sources_end; ++input) {
      connect(op, input);
    }
    const std::int32_t* reader = readers_.data() + first_reader_[op];
    for (const Problem::Child& child : problem_.children(op)) {
      connect(child.op, *reader++);
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
  source = is_elsewhere ? problem_.num_ops() + output : producer;
  num_elsewhere += is_elsewhere ? 1 : -1;
  // Whether an output is sent makes a difference to its channel, and so does the order of several.
  if (num_elsewhere == (is_elsewhere ? 1 : 0) || row.only_output == StepTimes::kNone) {
    first_changed_ = std::min(first_changed_, dispatches_[producer].place);
  }
}

bool IncrementalRun::run() {
  if (cost_revision_ != problem_.cost_revision()) {
    cost_revision_ = problem_.cost_revision();
    first_changed_ = 0;
  }
  roll_back(first_changed_);
  const std::int32_t num_ops = problem_.num_ops();
  std::int32_t allowance = num_ops + kLeastAllowance;  // for going through ops again
  for (std::int32_t place = first_changed_; place < num_ops; ++place) {
    const OpId op = times_.dispatch_order[place];
    const Row& row = rows_[op];
    const OpId previous = last_[row.device];
    dispatches_[op].ready_us = ready_us(row);
    if (dispatches_[op].ready_us <= dispatches_[previous].ready_us) [[unlikely]] {
      const Order order = order_of(previous, op);
      if (order == Order::kUnknown) {
        return false;
      }
      if (order == Order::kWrong) {
        const std::int32_t first = reorder(place);
        allowance -= kReorderCost + place - first;
        if (allowance < 0) {
          return false;
        }
        place = first - 1;
        continue;
      }
    }
    dispatch(op, row, previous);
  }
  first_changed_ = num_ops;
  return true;
}

// Returns when an op has all that it reads.
inline double IncrementalRun::ready_us(const Row& row) const {
  static_assert(kBlock == 2);
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
inline void IncrementalRun::dispatch(OpId op, const Row& row, OpId previous) {
  const Dispatch& before = dispatches_[previous];
  Dispatch& done = dispatches_[op];
  const double cost_us = problem_.cost_us(op, row.device);
  const double start_us = std::max(done.ready_us, before.device_free_us);
  const double end_us = start_us + cost_us;
  times_.start_us[op] = start_us;
  times_.end_us[op] = end_us;
  times_.last_uses_us[op] = StepTimes::last_use_us(start_us, cost_us);
  done.device_free_us = end_us + row.gap_us;
  done.previous = previous;
  last_[row.device] = op;
  if (row.only_output != StepTimes::kNone) [[likely]] {
    const double sent_us = std::max(before.channel_free_us, end_us);
    const double arrives_us = sent_us + row.transfer_us;
    const bool is_sent = num_elsewhere_[row.only_output] > 0;
    const double start_if[] = {StepTimes::kNotSent, sent_us};
    const double arrives_if[] = {StepTimes::kNotSent, arrives_us};
    const double free_if[] = {before.channel_free_us, arrives_us + times_.gap_after_transfer_us};
    times_.transfer_start_us[row.only_output] = start_if[is_sent];
    times_.transfer_end_us[row.only_output] = arrives_if[is_sent];
    done.channel_free_us = free_if[is_sent];
  } else {
    done.channel_free_us = times_.send(problem_, op, before.channel_free_us, [&](OpId consumer) {
      return rows_[consumer].device != row.device;
    });
  }
}

double IncrementalRun::makespan_us() const {
  double makespan_us = 0;
  for (const OpId last : last_) {
    const Dispatch& done = dispatches_[last];
    makespan_us = std::max({makespan_us, done.device_free_us, done.channel_free_us});
  }
  return makespan_us;
}

// Takes back all dispatches from `place` on.
void IncrementalRun::roll_back(std::int32_t place) {
  auto left = std::count_if(last_.begin(), last_.end(),
                            [&](OpId last) { return dispatches_[last].place >= place; });
  for (std::int32_t next = place; left > 0; ++next) {
    const OpId previous = dispatches_[times_.dispatch_order[next]].previous;
    if (dispatches_[previous].place < place) {  // so that was the first on its device
      const DeviceId device =
          previous < problem_.num_ops() ? rows_[previous].device : previous - problem_.num_ops();
      last_[device] = previous;
      --left;
    }
  }
}

// Says whether it is right that `first` goes before `second` on their device.
IncrementalRun::Order IncrementalRun::order_of(OpId first, OpId second) const {
  const auto right_if = [](bool holds) { return holds ? Order::kRight : Order::kWrong; };
  if (dispatches_[first].ready_us != dispatches_[second].ready_us) {
    return right_if(dispatches_[first].ready_us < dispatches_[second].ready_us);
  }
  // The two that are common: both from the start, or both by the same delivery.
  if (is_root(first) && is_root(second)) {
    return right_if(first < second);
  }
  const std::int32_t source = only_source(first);
  if (source != StepTimes::kNone && source == only_source(second)) {
    return right_if(problem_.name_rank(first) < problem_.name_rank(second));
  }
  const std::uint64_t one = tie_order(first);
  const std::uint64_t other = tie_order(second);
  if (std::min(one, other) >= kAtOnceAsItComes) {
    const std::uint64_t unknown_if = one == other ? kUnclear : kUnclear | kFromElsewhere;
    if (((one | other) & unknown_if) != 0) {
      return Order::kUnknown;
    }
  }
  return right_if(is_before(first, second));
}

// Compares two ops, of one device or not, by when they are ready, and as far as it is known, by
// what the rules say about one time. An op always comes after those that it reads.
bool IncrementalRun::is_before(OpId first, OpId second) const {
  const double first_us = dispatches_[first].ready_us;
  const double second_us = dispatches_[second].ready_us;
  if (first_us != second_us) {
    return first_us < second_us;
  }
  return std::pair(tie_order(first), problem_.name_rank(first)) <
         std::pair(tie_order(second), problem_.name_rank(second));
}

// Returns the source by which an op is ready, StepTimes::kNone if there are several or it would
// take a search.
std::int32_t IncrementalRun::only_source(OpId op) const {
  const Row& row = rows_[op];
  if (row.sources_end - row.sources > static_cast<std::int32_t>(kBlock)) {
    return StepTimes::kNone;
  }
  const double ready_us = dispatches_[op].ready_us;
  const std::int32_t one = sources_[row.sources];
  const std::int32_t other = sources_[row.sources + 1];
  const bool is_one = times_.known_us[one] == ready_us;
  const bool is_other = times_.known_us[other] == ready_us;
  const std::int32_t by_which[] = {StepTimes::kNone, one, other, StepTimes::kNone};
  return by_which[is_one + 2 * is_other];
}

// Returns the order of the last delivery to an op (EventLoop::EventKey).
std::uint64_t IncrementalRun::tie_order(OpId op) const {
  if (is_root(op)) {
    return static_cast<std::uint64_t>(op);
  }
  const Row& row = rows_[op];
  const double ready_us = dispatches_[op].ready_us;
  std::uint64_t last = 0;
  for (std::int32_t at = row.sources; at < row.sources_end; ++at) {
    const std::int32_t source = sources_[at];
    if (times_.known_us[source] == ready_us) {
      const Input& input = inputs_[at];
      const std::uint64_t order = delivery_order(input, source != input.producer, ready_us);
      const bool is_unclear = std::min(last, order) >= kAtOnceAsItComes &&
                              ((last | order) & (kFromElsewhere | kUnclear)) != 0;
      last = std::max(last, order) | (is_unclear ? kUnclear : 0);
    }
  }
  return last;
}

std::uint64_t IncrementalRun::delivery_order(const Input& input, bool is_elsewhere,
                                             double at_us) const {
  const double now_us = times_.start_us[input.producer];
  const double begin_us = is_elsewhere ? times_.transfer_start_us[input.output] : now_us;
  if (at_us != begin_us) {
    return static_cast<std::uint64_t>(problem_.name_rank(input.producer));
  }
  const auto place = static_cast<std::uint64_t>(dispatches_[input.producer].place);
  if (begin_us > now_us) {
    const DeviceId device = rows_[input.producer].device;
    return kAtOnceByChannel | device_ranks_[device] << kPlaceBits | place;
  }
  return kAtOnceAsItComes | place << 2 | (is_elsewhere ? kFromElsewhere : 0);
}

// Sorts the op at `place` and those that went before it on its device, though they are ready later,
// and all between, by when they are ready; returns where the first one stood.
std::int32_t IncrementalRun::reorder(std::int32_t place) {
  std::vector<OpId>& order = times_.dispatch_order;
  const OpId late = order[place];
  std::int32_t first = place;
  for (OpId other = last_[rows_[late].device];
       dispatches_[other].place >= 0 && is_before(late, other);
       other = dispatches_[other].previous) {
    first = dispatches_[other].place;
  }
  roll_back(first);
  for (std::int32_t next = first + 1; next <= place; ++next) {
    const OpId op = order[next];
    std::int32_t to = next;
    for (; to > first && is_before(op, order[to - 1]); --to) {
      order[to] = order[to - 1];
    }
    order[to] = op;
  }
  for (std::int32_t at = first; at <= place; ++at) {
    dispatches_[order[at]].place = at;
  }
  return first;
}

}  // namespace emplace::placeto
