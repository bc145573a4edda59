#include "physical_replay.hpp"

#include "instant.hpp"

#include <algorithm>
#include <tuple>

namespace emplace {
namespace {

// How many ops behind one that waits may overtake it.
constexpr std::ptrdiff_t kLookahead = 4;

// What a replay may spend on sorting: each op that an op passes costs one, and taking back turns
// some more.
constexpr std::int64_t kPriceOfSorting = 32;
constexpr std::int64_t kCreditOfOp = 4;
constexpr std::int64_t kLeastCredit = 8 * kPriceOfSorting;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Sorts what is nearly sorted. Takes what it may spend, in exchanges, and returns what is left: if
// it is less than nothing, it did not get to the end.
template <class IsBefore>
std::int64_t sort_nearly(std::vector<OpId>& ops, std::int64_t credit, const IsBefore& is_before) {
  for (std::size_t next = 1; next < ops.size() && credit >= 0; ++next) {
    const OpId op = ops[next];
    std::size_t at = next;
    for (; at > 0 && is_before(op, ops[at - 1]); --at) {
      ops[at] = ops[at - 1];
      --credit;
    }
    ops[at] = op;
  }
  return credit;
}

}  // namespace

bool PhysicalReplay::is_possible(const Problem& problem) {
  if (problem.cluster().transfer_model == TransferModel::kPhysical &&
      problem.cluster().queue_order == QueueOrder::kCriticalPath) {
    return false;
  }
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    if (problem.slots(device) != 1) {
      return false;
    }
  }
  return true;
}

PhysicalReplay::PhysicalReplay(const Problem& problem, Network& network)
    : problem_(problem),
      bytes_of_overhead_(problem.cluster().transfer_model == TransferModel::kGrappler
                             ? problem.cluster().grappler.latency_us *
                                   problem.cluster().grappler.bytes_per_us
                             : 0.0),
      min_bytes_(problem.cluster().transfer_model == TransferModel::kGrappler ? 0.0 : 1.0),
      plan_(problem),
      memory_(problem, plan_),
      start_us_(index(problem.num_ops())),
      known_us_(index(problem.num_ops()) + problem.uses().size() + 1),
      end_us_(std::span(known_us_).first(index(problem.num_ops()))),
      entered_us_(problem.uses().size()),
      network_(network) {
  for (DeviceId from = 0; from < problem.num_devices(); ++from) {
    for (DeviceId to = 0; to < problem.num_devices(); ++to) {
      latency_us_.push_back(problem.topology().latency_us(from, to));
    }
  }
  peak_bytes_.resize(index(problem.num_devices()));
  order_.assign(problem.topological_order().begin(), problem.topological_order().end());
  ending_ = order_;
  topological_rank_.resize(index(problem.num_ops()));
  // Ops that read nothing are ready first, and run in the order of their ids.
  for (std::int32_t rank = 0; const OpId op : problem.topological_order()) {
    topological_rank_[index(op)] = is_root(op) ? op - problem.num_ops() : rank;
    ++rank;
  }
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto [begin, end] = problem.uses_of(op);
    has_control_uses_.push_back(begin < end &&
                                problem.uses()[index(end - 1)].output == Dependency::kControl);
  }
  lined_up_.resize(index(problem.num_ops()));
  queues_.resize(index(problem.num_devices()));
  ready_us_.resize(index(problem.num_ops()));
  blocker_.resize(index(problem.num_ops()));
  rounds_.resize(known_us_.size() - 1);
  network_us_.reserve(2 * problem.uses().size());
  arrival_after_.resize(problem.uses().size());
  ended_.reserve(problem.uses().size());
}

void PhysicalReplay::adopt(const Placement& placement, std::span<const double> start_us,
                           std::span<const double> end_us) {
  plan_.set(placement);
  // Mostly it is a run like the one before that.
  const auto sort = [&](std::vector<OpId>& ops, const auto& is_before) {
    if (sort_nearly(ops, kCreditOfOp * static_cast<std::int64_t>(ops.size()), is_before) < 0) {
      std::sort(ops.begin(), ops.end(), is_before);
    }
  };
  sort(order_, [&](OpId a, OpId b) {
    return std::pair(start_us[index(a)], topological_rank_[index(a)]) <
           std::pair(start_us[index(b)], topological_rank_[index(b)]);
  });
  sort(ending_, [&](OpId a, OpId b) { return end_us[index(a)] < end_us[index(b)]; });
}

bool PhysicalReplay::run() {
  plan_.update();
  network_.reset();
  network_at_ = {-1, 0};
  network_us_.clear();
  memory_.reset();
  std::fill(known_us_.begin(), known_us_.end() - 1, kUnknown);
  line_up();
  credit_ = kCreditOfOp * problem_.num_ops() + kLeastCredit;
  for (;;) {
    const auto queue = std::ranges::find_if(queues_, &Queue::may_go_on);
    if (queue != queues_.end()) {
      queue->may_go_on = false;
      if (!take_turns(*queue)) {
        return false;
      }
    } else if (next_of_network_us() == kUnknown) {
      break;
    } else if (!step()) {
      return false;
    }
  }
  if (std::ranges::any_of(queues_, [](const Queue& queue) { return queue.next != queue.end; })) {
    return false;
  }
  if (!are_instants_clear()) {
    return false;
  }
  memory_.sort_by_device();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    const Queue& queue = queues_[index(device)];
    peak_bytes_[index(device)] =
        memory_.peak(device, std::span(queue.begin, queue.end), start_us_, end_us_);
  }
  keep_order();
  return true;
}

// Sorts the ops by their ends, which are nearly in the order of the last run. Returns false if ends
// that are not equal, of ops or in the network, are within one instant (rule 3): then the engine
// would handle them at one time.
bool PhysicalReplay::are_instants_clear() {
  credit_ = sort_nearly(ending_, credit_,
                        [this](OpId a, OpId b) { return end_us_[index(a)] < end_us_[index(b)]; });
  if (credit_ < 0) {
    return false;
  }
  double last_us = 0;
  const auto is_clear = [&last_us](const Span& span) {
    const bool is_near = span.first_us != last_us && span.first_us <= end_of_instant(last_us);
    last_us = span.last_us;
    return !is_near;
  };
  auto event = network_us_.begin();
  for (const OpId op : ending_) {
    const double end_us = end_us_[index(op)];
    for (; event != network_us_.end() && event->first_us <= end_us; ++event) {
      if (!is_clear(*event)) {
        return false;
      }
    }
    if (!is_clear({end_us, end_us})) {
      return false;
    }
  }
  return std::all_of(event, network_us_.end(), is_clear);
}

// Lists the ops of each device in the order of the last run.
void PhysicalReplay::line_up() {
  OpId* begin = lined_up_.data();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    queues_[index(device)] = {.begin = begin, .next = begin, .end = begin};
    begin += plan_.num_ops_on(device);
  }
  for (const OpId op : order_) {
    *queues_[index(plan_.op(op).device)].end++ = op;
  }
  std::fill(blocker_.begin(), blocker_.end(), known_from_the_start());
}

// Keeps the order on each device for the next run, in the places of its ops.
void PhysicalReplay::keep_order() {
  for (Queue& queue : queues_) {
    queue.next = queue.begin;
  }
  for (OpId& op : order_) {
    op = *queues_[index(plan_.op(op).device)].next++;
  }
}

// Lets ops of a device take their turns until one has to wait. Returns false where the replay must
// give up.
bool PhysicalReplay::take_turns(Queue& queue) {
  while (queue.next != queue.end) {
    if (!is_ready(*queue.next) && !let_overtake(queue)) {
      return true;
    }
    const OpId op = *queue.next;
    const TransferPlan::OpPlan& plan = plan_.op(op);
    double free_us = 0;
    if (queue.next != queue.begin) {
      const OpId previous = queue.next[-1];
      free_us = end_us_[index(previous)];
      if (ready_us_[index(op)] <= ready_us_[index(previous)]) [[unlikely]] {
        OpId* const place = place_of_next(queue);
        if (place != queue.next) {
          if (!sort_in(queue, place)) {
            return false;
          }
          continue;
        }
      }
    }
    const double start_us = std::max(ready_us_[index(op)], free_us);
    const double end_us = start_us + plan.busy_us;
    start_us_[index(op)] = start_us;
    end_us_[index(op)] = end_us;
    rounds_[index(op)] = 0;
    if (end_us == start_us) {
      rounds_[index(op)] = start(queue.begin, queue.next).round + 1;
    }
    if (plan.num_sent > 0 && !send(op)) {
      return false;
    }
    if (has_control_uses_[index(op)]) {
      for (Queue& other : queues_) {
        other.may_go_on = true;
      }
    }
    ++queue.next;
  }
  return true;
}

// Says whether an op has all that it reads, and if so, finds out since when.
inline bool PhysicalReplay::is_ready(OpId op) {
  const double* const known_us = known_us_.data();
  if (known_us[blocker_[index(op)]] == kUnknown) {
    return false;
  }
  const TransferPlan::OpPlan& plan = plan_.op(op);
  double ready_us = 0;
  for (std::int32_t at = plan.first_source; at < plan.last_source; ++at) {
    ready_us = std::max(ready_us, known_us[plan_.sources()[at]]);
  }
  if (ready_us == kUnknown) {
    std::int32_t at = plan.first_source;
    while (known_us[plan_.sources()[at]] != kUnknown) {
      ++at;
    }
    blocker_[index(op)] = plan_.sources()[at];
    return false;
  }
  ready_us_[index(op)] = ready_us;
  return true;
}

// Puts an op first in its queue that is ready before the network, for which the first one waits,
// does anything. Returns whether there is one.
bool PhysicalReplay::let_overtake(Queue& queue) {
  const auto most = std::min<std::ptrdiff_t>(kLookahead, queue.end - queue.next - 1);
  for (OpId* other = queue.next + 1; other <= queue.next + most; ++other) {
    if (!is_ready(*other)) {
      continue;
    }
    if (ready_us_[index(*other)] <= next_of_network_us()) {
      std::rotate(queue.next, other, other + 1);
      return true;
    }
    queue.waits_for_network = true;
  }
  return false;
}

double PhysicalReplay::makespan_us() const { return end_us_[index(ending_.back())]; }

// Returns the moment at which an op gets the last of what it reads.
PhysicalReplay::Moment PhysicalReplay::wake(OpId op) const {
  const TransferPlan::OpPlan& plan = plan_.op(op);
  Moment last{ready_us_[index(op)], 0};
  for (std::int32_t at = plan.first_source; at < plan.last_source; ++at) {
    const std::size_t source = index(plan_.sources()[at]);
    if (known_us_[source] == last.at_us) {
      last.round = std::max(last.round, rounds_[source]);
    }
  }
  return last;
}

// Returns the moment at which a device is free for the op at a place in its queue.
PhysicalReplay::Moment PhysicalReplay::free(const OpId* first, const OpId* place) const {
  return place == first ? Moment{0, 0}
                        : Moment{end_us_[index(place[-1])], rounds_[index(place[-1])]};
}

PhysicalReplay::Moment PhysicalReplay::start(const OpId* first, const OpId* place) const {
  return std::max(wake(*place), free(first, place));
}

// Returns where the next op should have been among those that took their turns, though it was ready
// no later than the last of them. A device that is free takes the op that was ready first, then the
// one with the least id, of those that are there at that moment.
OpId* PhysicalReplay::place_of_next(const Queue& queue) const {
  const OpId op = *queue.next;
  const Moment woken = wake(op);
  OpId* place = queue.next;
  for (OpId* other = queue.next; other-- != queue.begin;) {
    if (is_root(op) && is_root(*other) && *other < op) {
      break;
    }
    const Moment other_woken = wake(*other);
    if (other_woken.at_us < woken.at_us) {
      break;
    }
    if (other_woken.at_us > woken.at_us) {
      place = other;
      continue;
    }
    const bool is_free_too_soon = std::max(free(queue.begin, other), woken) < other_woken;
    if (op < *other ? woken <= start(queue.begin, other) : is_free_too_soon) {
      place = other;
    } else if (woken.round == 0 && other_woken.round == 0) {
      break;  // for those before are in the right order
    }
  }
  return place;
}

// Moves the next op to an earlier place, and takes back the turns since. Returns false if it is too
// late for that.
bool PhysicalReplay::sort_in(Queue& queue, OpId* place) {
  credit_ -= kPriceOfSorting + (queue.next - place);
  if (credit_ < 0) {
    return false;
  }
  for (const OpId* op = place; op != queue.next; ++op) {
    if (!take_back(*op)) {
      return false;
    }
  }
  std::rotate(place, queue.next, queue.next + 1);
  queue.next = place;
  return true;
}

// Takes back a turn. Returns false if another device or the network knows of it.
bool PhysicalReplay::take_back(OpId op) {
  const DeviceId device = plan_.op(op).device;
  auto [use, end] = problem_.uses_of(op);
  for (; use < end; ++use) {
    const OpId consumer = problem_.uses()[index(use)].consumer;
    if (plan_.op(consumer).device == device) {
      continue;
    }
    if (end_us_[index(consumer)] != kUnknown) {
      return false;
    }
    if (plan_.is_made(use)) {
      if (entered_us_[index(use)] <= network_at_.at_us) {
        return false;
      }
      leave(queues_[index(device)], use);
    }
  }
  end_us_[index(op)] = kUnknown;
  return true;
}

}  // namespace emplace
