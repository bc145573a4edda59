#include "placeto_replay.hpp"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// What it costs to sort in an op that comes late, in ops gone through, and how often a replay of
// however few ops may do it.
constexpr std::int32_t kPriceOfSorting = 32;
constexpr std::int32_t kLeastCredit = 8 * kPriceOfSorting;

// The orders of PlacetoEngine::Moment, with the place of the producer where that has a count of
// deliveries that took no time. Places count such deliveries on one device; those from elsewhere
// only the events of the instant can put among them.
constexpr std::uint64_t kAtOnceByChannel = std::uint64_t{1} << 62;
constexpr std::uint64_t kAtOnceAsItComes = std::uint64_t{2} << 62;
constexpr std::uint64_t kFromElsewhere = 2;
constexpr std::uint64_t kUnclear = 1;
constexpr int kPlaceBits = 31;

}  // namespace

PlacetoReplay::PlacetoReplay(const Problem& problem, PlacetoTimes& times)
    : problem_(problem), times_(times) {
  const OpId num_ops = problem.num_ops();
  facts_.resize(index(num_ops));
  for (OpId op = 0; op < num_ops; ++op) {
    OpFacts& facts = facts_[index(op)];
    facts.only_output = PlacetoTimes::only_output(problem, op);
    facts.transfer_us = times.transfer_us[index(std::max(facts.only_output, 0))];
    facts.gap_us = problem.gap_us(op);
    facts.sources = facts.sources_end = static_cast<std::int32_t>(inputs_.size());
    const std::size_t blocks =
        std::max<std::size_t>((index(problem.num_parents(op)) + kSources - 1) / kSources, 1);
    inputs_.resize(inputs_.size() + blocks * kSources, {PlacetoTimes::kNone, PlacetoTimes::kNone});
  }
  const auto zero = static_cast<std::int32_t>(times.known_us.size() - 1);
  sources_.resize(inputs_.size(), zero);
  for (OpId op = 0; op < num_ops; ++op) {
    first_reader_.push_back(readers_.size());
    for (const Problem::Child& child : problem.children(op)) {
      std::int32_t& input = facts_[index(child.op)].sources_end;
      inputs_[index(input)] = {op, child.output};
      readers_.push_back(input++);
    }
  }
  num_elsewhere_.resize(index(problem.num_outputs()) + 1);
  device_ranks_.resize(index(problem.num_devices()));
  for (std::uint64_t rank = 0; const DeviceId device : problem.devices_by_name()) {
    device_ranks_[index(device)] = rank++;
  }
  turns_.resize(index(num_ops + problem.num_devices()));
  last_.resize(index(problem.num_devices()));
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    turns_[index(nobody_on(device))] = {-1, 0, 0, PlacetoTimes::kNone, -1};
  }
}

bool PlacetoReplay::is_root(OpId op) const {
  return facts_[index(op)].sources == facts_[index(op)].sources_end;
}

void PlacetoReplay::adopt(const Placement& placement) {
  const Grouping& grouping = problem_.grouping();
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    facts_[index(op)].device = placement[grouping.group_of(op)];
  }
  std::fill(num_elsewhere_.begin(), num_elsewhere_.end(), 0);
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const OpFacts& facts = facts_[index(op)];
    for (std::int32_t input = facts.sources; input < facts.sources_end; ++input) {
      sources_[index(input)] = inputs_[index(input)].producer;
      connect(op, input);
    }
  }
  // Ops that read nothing are ready first, in graph order wherever they are. So let them all come
  // first, and none of them needs to be sorted in when it is moved.
  std::size_t first = times_.turns.size();
  for (std::size_t at = times_.turns.size(); at-- > 0;) {
    if (!is_root(times_.turns[at])) {
      times_.turns[--first] = times_.turns[at];
    }
  }
  std::size_t next = 0;
  for (OpId op = 0; next < first; ++op) {
    if (is_root(op)) {
      times_.turns[next++] = op;
    }
  }
  for (std::int32_t place = 0; place < problem_.num_ops(); ++place) {
    turns_[index(times_.turns[index(place)])].place = place;
  }
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    last_[index(device)] = nobody_on(device);
  }
  first_changed_ = 0;
}

void PlacetoReplay::move(GroupId group, DeviceId device) {
  const auto members = problem_.grouping().members(group);
  for (const OpId op : members) {
    facts_[index(op)].device = device;
    first_changed_ = std::min(first_changed_, turns_[index(op)].place);
  }
  for (const OpId op : members) {
    const OpFacts& facts = facts_[index(op)];
    for (std::int32_t input = facts.sources; input < facts.sources_end; ++input) {
      connect(op, input);
    }
    const std::int32_t* reader = readers_.data() + first_reader_[index(op)];
    for (const Problem::Child& child : problem_.children(op)) {
      connect(child.op, *reader++);
    }
  }
}

// Lets a consumer read at the producer's device or at the end of the transfer.
void PlacetoReplay::connect(OpId consumer, std::int32_t input) {
  const auto [producer, output] = inputs_[index(input)];
  std::int32_t& source = sources_[index(input)];
  const OpFacts& facts = facts_[index(producer)];
  const bool is_elsewhere = facts.device != facts_[index(consumer)].device;
  if (is_elsewhere == (source != producer)) {
    return;
  }
  std::int32_t& num_elsewhere = num_elsewhere_[index(output)];
  source = is_elsewhere ? problem_.num_ops() + output : producer;
  num_elsewhere += is_elsewhere ? 1 : -1;
  // Whether an output is sent makes a difference to its channel, and so does the order of several.
  if (num_elsewhere == (is_elsewhere ? 1 : 0) || facts.only_output == PlacetoTimes::kNone) {
    first_changed_ = std::min(first_changed_, turns_[index(producer)].place);
  }
}

bool PlacetoReplay::run() {
  if (cost_revision_ != problem_.cost_revision()) {
    cost_revision_ = problem_.cost_revision();
    first_changed_ = 0;
  }
  unwind(first_changed_);
  const std::int32_t num_ops = problem_.num_ops();
  std::int32_t credit = num_ops + kLeastCredit;  // for going through ops again
  for (std::int32_t place = first_changed_; place < num_ops; ++place) {
    const OpId op = times_.turns[index(place)];
    const OpFacts& facts = facts_[index(op)];
    const OpId previous = last_[index(facts.device)];
    turns_[index(op)].ready_us = ready_us(facts);
    if (turns_[index(op)].ready_us <= turns_[index(previous)].ready_us) [[unlikely]] {
      const Order order = order_of(previous, op);
      if (order == Order::kUnknown) {
        return false;
      }
      if (order == Order::kWrong) {
        const std::int32_t first = sort_in(place);
        credit -= kPriceOfSorting + place - first;
        if (credit < 0) {
          return false;
        }
        place = first - 1;
        continue;
      }
    }
    take_turn(op, facts, previous);
  }
  first_changed_ = num_ops;
  return true;
}

// Returns when an op has all that it reads.
inline double PlacetoReplay::ready_us(const OpFacts& facts) const {
  static_assert(kSources == 2);
  const double* const known_us = times_.known_us.data();
  const std::int32_t* source = sources_.data() + facts.sources;
  double ready_us = std::max(known_us[source[0]], known_us[source[1]]);
  for (std::int32_t left = facts.sources_end - facts.sources - 2; left > 0; left -= 2) {
    source += 2;
    ready_us = std::max(ready_us, std::max(known_us[source[0]], known_us[source[1]]));
  }
  return ready_us;
}

// Runs an op and sends what other devices want of it (rules 7 to 9).
inline void PlacetoReplay::take_turn(OpId op, const OpFacts& facts, OpId previous) {
  const Turn& before = turns_[index(previous)];
  Turn& turn = turns_[index(op)];
  const double cost_us = problem_.cost_us(op, facts.device);
  const double start_us = std::max(turn.ready_us, before.device_free_us);
  const double end_us = start_us + cost_us;
  times_.start_us[index(op)] = start_us;
  times_.end_us[index(op)] = end_us;
  times_.last_uses_us[index(op)] = PlacetoTimes::last_use_us(start_us, cost_us);
  turn.device_free_us = end_us + facts.gap_us;
  turn.previous = previous;
  last_[index(facts.device)] = op;
  if (facts.only_output != PlacetoTimes::kNone) [[likely]] {
    const double sent_us = std::max(before.channel_free_us, end_us);
    const double arrives_us = sent_us + facts.transfer_us;
    const bool is_sent = num_elsewhere_[index(facts.only_output)] > 0;
    const double start_if[] = {PlacetoTimes::kNotSent, sent_us};
    const double arrives_if[] = {PlacetoTimes::kNotSent, arrives_us};
    const double free_if[] = {before.channel_free_us, arrives_us + times_.gap_after_transfer_us};
    times_.transfer_start_us[index(facts.only_output)] = start_if[is_sent];
    times_.transfer_end_us[index(facts.only_output)] = arrives_if[is_sent];
    turn.channel_free_us = free_if[is_sent];
  } else {
    turn.channel_free_us = times_.send(problem_, op, before.channel_free_us, [&](OpId consumer) {
      return facts_[index(consumer)].device != facts.device;
    });
  }
}

double PlacetoReplay::makespan_us() const {
  double makespan_us = 0;
  for (const OpId last : last_) {
    const Turn& turn = turns_[index(last)];
    makespan_us = std::max({makespan_us, turn.device_free_us, turn.channel_free_us});
  }
  return makespan_us;
}

// Takes back all turns from `place` on.
void PlacetoReplay::unwind(std::int32_t place) {
  auto left = std::count_if(last_.begin(), last_.end(),
                            [&](OpId last) { return turns_[index(last)].place >= place; });
  for (std::int32_t next = place; left > 0; ++next) {
    const OpId previous = turns_[index(times_.turns[index(next)])].previous;
    if (turns_[index(previous)].place < place) {  // so that was the first on its device
      const DeviceId device = previous < problem_.num_ops() ? facts_[index(previous)].device
                                                            : previous - problem_.num_ops();
      last_[index(device)] = previous;
      --left;
    }
  }
}

// Says whether it is right that `first` goes before `second` on their device.
PlacetoReplay::Order PlacetoReplay::order_of(OpId first, OpId second) const {
  const auto right_if = [](bool holds) { return holds ? Order::kRight : Order::kWrong; };
  if (turns_[index(first)].ready_us != turns_[index(second)].ready_us) {
    return right_if(turns_[index(first)].ready_us < turns_[index(second)].ready_us);
  }
  // The two that are common: both from the start, or both by the same delivery.
  if (is_root(first) && is_root(second)) {
    return right_if(first < second);
  }
  const std::int32_t source = only_source(first);
  if (source != PlacetoTimes::kNone && source == only_source(second)) {
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
// what the rules say at one instant. An op always comes after those that it reads.
bool PlacetoReplay::is_before(OpId first, OpId second) const {
  const double first_us = turns_[index(first)].ready_us;
  const double second_us = turns_[index(second)].ready_us;
  if (first_us != second_us) {
    return first_us < second_us;
  }
  return std::pair(tie_order(first), problem_.name_rank(first)) <
         std::pair(tie_order(second), problem_.name_rank(second));
}

// Returns the source by which an op is ready, PlacetoTimes::kNone if there are several or it would
// take a search.
std::int32_t PlacetoReplay::only_source(OpId op) const {
  const OpFacts& facts = facts_[index(op)];
  if (facts.sources_end - facts.sources > static_cast<std::int32_t>(kSources)) {
    return PlacetoTimes::kNone;
  }
  const double ready_us = turns_[index(op)].ready_us;
  const std::int32_t one = sources_[index(facts.sources)];
  const std::int32_t other = sources_[index(facts.sources + 1)];
  const bool is_one = times_.known_us[index(one)] == ready_us;
  const bool is_other = times_.known_us[index(other)] == ready_us;
  const std::int32_t by_which[] = {PlacetoTimes::kNone, one, other, PlacetoTimes::kNone};
  return by_which[is_one + 2 * is_other];
}

// Returns the order of the last delivery to an op (PlacetoEngine::Moment).
std::uint64_t PlacetoReplay::tie_order(OpId op) const {
  if (is_root(op)) {
    return static_cast<std::uint64_t>(op);
  }
  const OpFacts& facts = facts_[index(op)];
  const double ready_us = turns_[index(op)].ready_us;
  std::uint64_t last = 0;
  for (std::int32_t at = facts.sources; at < facts.sources_end; ++at) {
    const std::int32_t source = sources_[index(at)];
    if (times_.known_us[index(source)] == ready_us) {
      const Input& input = inputs_[index(at)];
      const std::uint64_t order = delivery_order(input, source != input.producer, ready_us);
      const bool is_unclear = std::min(last, order) >= kAtOnceAsItComes &&
                              ((last | order) & (kFromElsewhere | kUnclear)) != 0;
      last = std::max(last, order) | (is_unclear ? kUnclear : 0);
    }
  }
  return last;
}

std::uint64_t PlacetoReplay::delivery_order(const Input& input, bool is_elsewhere,
                                            double at_us) const {
  const double now_us = times_.start_us[index(input.producer)];
  const double begin_us = is_elsewhere ? times_.transfer_start_us[index(input.output)] : now_us;
  if (at_us != begin_us) {
    return static_cast<std::uint64_t>(problem_.name_rank(input.producer));
  }
  const auto place = static_cast<std::uint64_t>(turns_[index(input.producer)].place);
  if (begin_us > now_us) {
    const DeviceId device = facts_[index(input.producer)].device;
    return kAtOnceByChannel | device_ranks_[index(device)] << kPlaceBits | place;
  }
  return kAtOnceAsItComes | place << 2 | (is_elsewhere ? kFromElsewhere : 0);
}

// Sorts the op at `place` and those that went before it on its device, though they are ready later,
// and all between, by when they are ready; returns where the first one stood.
std::int32_t PlacetoReplay::sort_in(std::int32_t place) {
  std::vector<OpId>& order = times_.turns;
  const OpId late = order[index(place)];
  std::int32_t first = place;
  for (OpId other = last_[index(facts_[index(late)].device)];
       turns_[index(other)].place >= 0 && is_before(late, other);
       other = turns_[index(other)].previous) {
    first = turns_[index(other)].place;
  }
  unwind(first);
  for (std::int32_t next = first + 1; next <= place; ++next) {
    const OpId op = order[index(next)];
    std::int32_t to = next;
    for (; to > first && is_before(op, order[index(to - 1)]); --to) {
      order[index(to)] = order[index(to - 1)];
    }
    order[index(to)] = op;
  }
  for (std::int32_t at = first; at <= place; ++at) {
    turns_[index(order[index(at)])].place = at;
  }
  return first;
}

}  // namespace emplace
