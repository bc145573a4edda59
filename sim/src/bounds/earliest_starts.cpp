#include "earliest_starts.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace emplace::bounds {
namespace {

constexpr double kUnrelated = -kInfinity;  // no path leads from one to the other

// Returns all ops in the topological order in which they must start at the latest for the longest
// path not to grow: neighbours in time are neighbours in this order.
std::vector<OpId> order_by_latest_start(const Precedence& ops) {
  const IdVector<OpId, double> after_us = longest_paths(ops.reversed());
  using Entry = std::pair<double, OpId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  IdVector<OpId, std::size_t> waiting_for(index_of(ops.num_ops()));
  const auto push = [&](OpId op) { ready.push({-(after_us[op] + ops.busy_us(op)), op}); };
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    waiting_for[op] = ops.before(op).size();
    if (waiting_for[op] == 0) {
      push(op);
    }
  }
  std::vector<OpId> order;
  order.reserve(waiting_for.size());
  while (!ready.empty()) {
    order.push_back(ready.top().second);
    ready.pop();
    for (const Precedence::Edge& edge : ops.after(order.back())) {
      if (--waiting_for[edge.op] == 0) {
        push(edge.op);
      }
    }
  }
  return order;
}

// Describes an op between two others, u and v: how much later than u it can start, with u or apart
// from u, and how much later than its own end v can.
struct Between {
  double busy_us;
  double from_same_us;
  double from_apart_us;
  double to_same_us;
  double to_apart_us;

  double elsewhere_us() const { return from_apart_us + busy_us + to_apart_us; }
};

// Devices that can do no work at the ends of a span of time, for `lost_us` together.
struct Share {
  double lost_us;
  double capacity;
};

// Returns the least span of time in which the devices of `shares` do `work_us`.
double least_span(double work_us, std::span<const Share> sorted_by_loss) {
  double capacity = 0;
  double lost_us = 0;
  double span_us = kInfinity;
  for (const Share& share : sorted_by_loss) {
    if (span_us <= share.lost_us || share.lost_us == kInfinity) {
      break;
    }
    capacity += share.capacity;
    lost_us += share.capacity * share.lost_us;
    span_us = capacity > 0 ? (work_us + lost_us) / capacity : kInfinity;
  }
  return span_us;
}

// What some ops between u and v have in common.
class Together {
 public:
  void add(const Between& op) {
    work_us_ += op.busy_us;
    from_same_us_ = std::min(from_same_us_, op.from_same_us);
    from_apart_us_ = std::min(from_apart_us_, op.from_apart_us);
    to_same_us_ = std::min(to_same_us_, op.to_same_us);
    to_apart_us_ = std::min(to_apart_us_, op.to_apart_us);
  }

  // Returns how much later than u op v can start if all of them run in between: on the device of
  // u and v and on `elsewhere` others.
  double span_if_same(double slots, double elsewhere) const {
    std::array shares{Share{from_same_us_ + to_same_us_, slots},
                      Share{from_apart_us_ + to_apart_us_, slots * elsewhere}};
    if (shares[1].lost_us < shares[0].lost_us && elsewhere > 0) {
      std::swap(shares[0], shares[1]);
    }
    return least_span(work_us_, shares);
  }

  // Returns the same for u and v on different devices.
  double span_if_apart(double slots, double elsewhere) const {
    std::array shares{Share{from_same_us_ + to_apart_us_, slots},
                      Share{from_apart_us_ + to_same_us_, slots},
                      Share{from_apart_us_ + to_apart_us_, slots * elsewhere}};
    std::ranges::sort(shares, {}, &Share::lost_us);
    return least_span(work_us_, shares);
  }

 private:
  double work_us_ = 0;
  double from_same_us_ = kInfinity;
  double from_apart_us_ = kInfinity;
  double to_same_us_ = kInfinity;
  double to_apart_us_ = kInfinity;
};

class EarliestStarts {
 public:
  EarliestStarts(const Precedence& ops, Machines machines, std::size_t window)
      : ops_(ops),
        machines_(machines),
        window_(std::bit_ceil(std::min(window, index_of(ops.num_ops())))),
        order_(order_by_latest_start(ops)),
        place_(index_of(ops.num_ops())),
        starts_us_(index_of(ops.num_ops()), 0.0),
        consumers_(index_of(ops.num_ops())),
        same_us_(window_ * window_, kUnrelated),
        apart_us_(window_ * window_, kUnrelated),
        same_from_us_(same_us_),
        apart_from_us_(same_us_) {}

  IdVector<OpId, double> compute() && {
    for (std::size_t place = 0; place < order_.size(); ++place) {
      place_[order_[place]] = place;
    }
    for (std::size_t place = 0; place < order_.size(); ++place) {
      follow_producers(place);
      if (ops_.before(order_[place]).size() > 1) {
        for (std::size_t from = place; from-- > first_in_window(place);) {
          if (is_related(place, from)) {
            const bool is_fork = follow_consumers(place, from);
            if (is_fork && is_join(place, from)) {
              lengthen(from, place);
            }
          }
        }
        start_after_all_before(place);
      }
      propagate(place);
    }
    return std::move(starts_us_);
  }

 private:
  // An op that waits for another, by its place.
  struct Consumer {
    std::size_t place;
    double extra_us;
  };

  // Returns the cell of a distance to `to` from `from`; distances of one `to` lie side by side.
  std::size_t cell(std::size_t to, std::size_t from) const {
    return (to & (window_ - 1)) * window_ + (from & (window_ - 1));
  }

  std::size_t first_in_window(std::size_t place) const {
    return place < window_ ? 0 : place - window_ + 1;
  }

  // Says whether a path leads from one op to the other. Requires: both are in one window.
  bool is_related(std::size_t to, std::size_t from) const {
    return same_us_[cell(to, from)] != kUnrelated;
  }

  // Raises the distances to `to` from `from` by a way over an op between them.
  void compose(std::size_t to, std::size_t from, double from_same_us, double from_apart_us,
               double to_same_us, double to_apart_us) {
    const std::size_t at = cell(to, from);
    // With three devices the op may be on another one than both.
    const double elsewhere_us = machines_.count > 2 ? from_apart_us + to_apart_us : kInfinity;
    same_us_[at] =
        std::max(same_us_[at], std::min(from_same_us + to_same_us, from_apart_us + to_apart_us));
    apart_us_[at] =
        std::max(apart_us_[at],
                 std::min({from_same_us + to_apart_us, from_apart_us + to_same_us, elsewhere_us}));
  }

  // Composes the distances to an op from those to its producers.
  void follow_producers(std::size_t to) {
    const OpId op = order_[to];
    const std::size_t first = first_in_window(to);
    const std::size_t row = cell(to, 0);
    std::fill_n(same_us_.begin() + static_cast<std::ptrdiff_t>(row), window_, kUnrelated);
    std::fill_n(apart_us_.begin() + static_cast<std::ptrdiff_t>(row), window_, kUnrelated);
    for (const Precedence::Edge& edge : ops_.before(op)) {
      const double stay_us = ops_.busy_us(edge.op);
      const double leave_us = stay_us + edge.extra_us;
      starts_us_[op] = std::max(starts_us_[op], starts_us_[edge.op] + std::min(stay_us, leave_us));
      const std::size_t via = place_[edge.op];
      consumers_[via].push_back({to, edge.extra_us});
      for (std::size_t from = first; from < via; ++from) {
        if (is_related(via, from)) {
          compose(to, from, same_us_[cell(via, from)], apart_us_[cell(via, from)], stay_us,
                  leave_us);
        }
      }
      if (via >= first) {
        double& to_same_us = same_us_[cell(to, via)];
        double& to_apart_us = apart_us_[cell(to, via)];
        to_same_us = std::max(to_same_us, stay_us);
        to_apart_us = std::max(to_apart_us, leave_us);
      }
    }
    for (std::size_t from = first; from < to; ++from) {
      if (machines_.count == 1 || ops_.group_of(order_[from]) == ops_.group_of(op)) {
        apart_us_[cell(to, from)] = kInfinity;
      }
    }
  }

  // Composes the distances to an op from one before it with those from that one's consumers, which
  // know what lies between them and `to`. Says whether two of them lead there.
  bool follow_consumers(std::size_t to, std::size_t from) {
    int num_ways = 0;
    const double stay_us = ops_.busy_us(order_[from]);
    for (const Consumer& consumer : consumers_[from]) {
      if (consumer.place == to) {
        ++num_ways;
      } else if (is_related(to, consumer.place)) {
        ++num_ways;
        compose(to, from, stay_us, stay_us + consumer.extra_us, same_us_[cell(to, consumer.place)],
                apart_us_[cell(to, consumer.place)]);
      }
    }
    return num_ways > 1;
  }

  // Says whether two producers of `to` come after `from` or are it.
  bool is_join(std::size_t to, std::size_t from) const {
    int num_ways = 0;
    for (const Precedence::Edge& edge : ops_.before(order_[to])) {
      const std::size_t via = place_[edge.op];
      num_ways += via == from || (via > from && is_related(via, from));
    }
    return num_ways > 1;
  }

  // Lists the ops between two.
  void find_between(std::size_t from, std::size_t to) {
    between_.clear();
    for (std::size_t at = from + 1; at < to; ++at) {
      const double to_same_us = same_us_[cell(to, at)];
      const double from_same_us = same_from_us_[cell(from, at)];
      if (to_same_us != kUnrelated && from_same_us != kUnrelated) {
        const double busy_us = ops_.busy_us(order_[at]);
        between_.push_back({.busy_us = busy_us,
                            .from_same_us = from_same_us,
                            .from_apart_us = apart_from_us_[cell(from, at)],
                            .to_same_us = to_same_us - busy_us,
                            .to_apart_us = apart_us_[cell(to, at)] - busy_us});
      }
    }
  }

  // Raises the distances between a fork and a join by what lies between them.
  void lengthen(std::size_t from, std::size_t to) {
    double& same_us = same_us_[cell(to, from)];
    double& apart_us = apart_us_[cell(to, from)];
    find_between(from, to);
    double work_us = 0;
    double first_us = kInfinity;
    for (const Between& each : between_) {
      work_us += each.busy_us;
      first_us = std::min(first_us, each.from_same_us);
    }
    if (between_.size() < 2 ||
        first_us + work_us / machines_.slots <= std::min(same_us, apart_us)) {
      return;
    }
    const double slots = machines_.slots;
    const auto others = static_cast<double>(machines_.count);
    const auto if_same = [&](const Together& ops, bool near) {
      return ops.span_if_same(slots, near ? 0 : others - 1);
    };
    const auto if_apart = [&](const Together& ops, bool near) {
      return ops.span_if_apart(slots, near ? 0 : std::max(0.0, others - 2));
    };
    same_us = std::max(same_us, stay_or_leave(if_same, machines_.count > 1));
    if (machines_.count > 1) {
      apart_us = std::max(apart_us, stay_or_leave(if_apart, machines_.count > 2));
    }
  }

  // Starts an op after all that leads to it, as if a source of no time came before everything.
  void start_after_all_before(std::size_t to) {
    double& start_us = starts_us_[order_[to]];
    between_.clear();
    double work_us = 0;
    double first_us = kInfinity;
    for (std::size_t at = first_in_window(to); at < to; ++at) {
      const double to_same_us = same_us_[cell(to, at)];
      if (to_same_us != kUnrelated) {
        const double busy_us = ops_.busy_us(order_[at]);
        const double from_us = starts_us_[order_[at]];
        between_.push_back({.busy_us = busy_us,
                            .from_same_us = from_us,
                            .from_apart_us = from_us,
                            .to_same_us = to_same_us - busy_us,
                            .to_apart_us = apart_us_[cell(to, at)] - busy_us});
        work_us += busy_us;
        first_us = std::min(first_us, from_us);
      }
    }
    if (first_us + work_us / machines_.slots <= start_us) {
      return;
    }
    const auto span = [&](const Together& ops, bool near) {
      return ops.span_if_same(machines_.slots, near ? 0 : static_cast<double>(machines_.count - 1));
    };
    start_us = std::max(start_us, stay_or_leave(span, machines_.count > 1));
  }

  // Returns the least distance that lets all ops of between_ run: `span` tells the least for some
  // of them, on all devices or on the near ones only.
  template <typename Span>
  double stay_or_leave(const Span& span, bool can_leave) {
    // The more can leave within a distance, the fewer stay: find where both sides meet.
    std::ranges::sort(between_, std::greater<>{}, &Between::elsewhere_us);
    double least_us = kInfinity;
    double stay_us = 0;
    Together staying;
    for (const Between& each : between_) {
      const double leave_us = can_leave ? each.elsewhere_us() : kInfinity;
      least_us = std::min(least_us, std::max(stay_us, leave_us));
      if (leave_us <= stay_us) {
        break;
      }
      staying.add(each);
      stay_us = std::max(stay_us, span(staying, true));
    }
    least_us = std::min(least_us, stay_us);
    // All devices together, by the times from which or until which there is something to do.
    for (const auto late : {&Between::from_same_us, &Between::to_same_us}) {
      std::ranges::sort(between_, std::greater<>{}, late);
      Together latest;
      for (const Between& each : between_) {
        latest.add(each);
        least_us = std::max(least_us, span(latest, false));
      }
    }
    return least_us;
  }

  // Takes over what is known of an op: when it starts, and its distances by their other end.
  void propagate(std::size_t to) {
    double& start_us = starts_us_[order_[to]];
    for (std::size_t from = first_in_window(to); from < to; ++from) {
      const double same_us = same_us_[cell(to, from)];
      const double apart_us = apart_us_[cell(to, from)];
      same_from_us_[cell(from, to)] = same_us;
      apart_from_us_[cell(from, to)] = apart_us;
      if (same_us != kUnrelated) {
        start_us = std::max(start_us, starts_us_[order_[from]] + std::min(same_us, apart_us));
      }
    }
  }

  const Precedence& ops_;
  Machines machines_;
  std::size_t window_;  // a power of two
  std::vector<OpId> order_;
  IdVector<OpId, std::size_t> place_;
  IdVector<OpId, double> starts_us_;
  std::vector<std::vector<Consumer>> consumers_;  // by place; those at places looked at so far
  // Distances, by the place of the later op and then of the earlier one, and the other way round.
  std::vector<double> same_us_;
  std::vector<double> apart_us_;
  std::vector<double> same_from_us_;
  std::vector<double> apart_from_us_;
  std::vector<Between> between_;
};

}  // namespace

IdVector<OpId, double> longest_paths(const Precedence& ops) {
  IdVector<OpId, double> starts_us(index_of(ops.num_ops()), 0.0);
  for (const OpId op : ops.order()) {
    for (const Precedence::Edge& edge : ops.before(op)) {
      starts_us[op] = std::max(
          starts_us[op], starts_us[edge.op] + ops.busy_us(edge.op) + std::min(0.0, edge.extra_us));
    }
  }
  return starts_us;
}

IdVector<OpId, double> earliest_starts(const Precedence& ops, Machines machines,
                                       std::size_t window) {
  return EarliestStarts(ops, machines, window).compute();
}

}  // namespace emplace::bounds
