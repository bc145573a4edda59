#include "../host_launches.hpp"
#include "parts.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace emplace {
namespace {

constexpr std::int32_t kNone = StepFacts::kNone;
constexpr double kNever = std::numeric_limits<double>::infinity();

class PathWalk {
 public:
  explicit PathWalk(const StepFacts& facts)
      : facts_(facts),
        launches_(facts.problem()),
        queues_(facts.links().size()),
        carried_(facts.links().size()) {
    if (launches_.exist()) {
      launches_.set(facts.record().placement);
    }
    for (std::int32_t id = 0; id < num_transfers(); ++id) {
      if (facts_.occupies_links(facts_.transfer(id))) {
        for (const std::int32_t link : facts_.route(facts_.transfer(id))) {
          add_to_link(link, id);
        }
      }
    }
    for (std::vector<std::int32_t>& queue : queues_) {
      std::sort(queue.begin(), queue.end(), [&](std::int32_t a, std::int32_t b) {
        return place_in_queue(a) < place_in_queue(b);
      });
    }
    for (std::vector<Carried>& changes : carried_) {
      add_up(changes);
    }
  }

  std::vector<PathSegment> walk() {
    Cause cause = last_event();
    while (cause.op != kNone || cause.transfer != kNone) {
      cause = cause.op != kNone ? pass_op(cause) : pass_transfer(cause);
    }
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  // What the path comes from, an op or a transfer; and since when what comes after it on the path
  // was ready and queued for the same device or link.
  struct Cause {
    OpId op = kNone;
    std::int32_t transfer = kNone;
    double queued_since_us = kNever;
  };

  // How fast a link carried bytes from a moment on, and how many it had carried by then.
  struct Carried {
    double at_us;
    double bytes_per_us;
    double bytes = 0;
  };

  std::int32_t num_transfers() const {
    return static_cast<std::int32_t>(facts_.record().transfers.size());
  }

  std::tuple<double, double, std::int32_t> place_in_queue(std::int32_t id) const {
    const Transfer& transfer = facts_.transfer(id);
    return {transfer.end_us, transfer.start_us, id};
  }

  void add_to_link(std::int32_t link, std::int32_t id) {
    const LinkSharing sharing = facts_.link(link).sharing;
    const Transfer& transfer = facts_.transfer(id);
    if (sharing == LinkSharing::kFifo) {
      queues_[link].push_back(id);
    }
    const double since_us = facts_.asks_us(transfer);
    if (sharing != LinkSharing::kFatpipe && transfer.end_us > since_us) {
      const double speed = static_cast<double>(facts_.problem().output_bytes(transfer.output)) /
                           (transfer.end_us - since_us);
      carried_[link].push_back({since_us, speed});
      carried_[link].push_back({transfer.end_us, -speed});
    }
  }

  // Turns changes of speed into speeds, and adds up what was carried.
  static void add_up(std::vector<Carried>& changes) {
    std::sort(changes.begin(), changes.end(), [](const Carried& a, const Carried& b) {
      return std::tie(a.at_us, a.bytes_per_us) < std::tie(b.at_us, b.bytes_per_us);
    });
    for (std::size_t at = 1; at < changes.size(); ++at) {
      const Carried& before = changes[at - 1];
      changes[at].bytes = before.bytes + before.bytes_per_us * (changes[at].at_us - before.at_us);
      changes[at].bytes_per_us += before.bytes_per_us;
    }
  }

  double carried_until(std::int32_t link, double us) const {
    const std::vector<Carried>& changes = carried_[link];
    const auto after =
        std::upper_bound(changes.begin(), changes.end(), us,
                         [](double at_us, const Carried& change) { return at_us < change.at_us; });
    return after == changes.begin()
               ? 0
               : after[-1].bytes + after[-1].bytes_per_us * (us - after[-1].at_us);
  }

  // The link of the route that was most in use while the transfer moved: each transfer taken to
  // have moved evenly, since a record does not hold the speeds.
  std::int32_t most_loaded_link(const Transfer& transfer, double from_us) const {
    std::int32_t most = facts_.slowest_link(transfer);
    double most_load = 0;
    for (const std::int32_t link : facts_.route(transfer)) {
      const double bytes = carried_until(link, transfer.end_us) - carried_until(link, from_us);
      const double load = bytes / facts_.link(link).bytes_per_us;
      if (load > most_load) {
        most = link;
        most_load = load;
      }
    }
    return most;
  }

  Cause last_event() {
    const StepRecord& record = facts_.record();
    cursor_us_ = record.makespan_us;
    Cause last;
    double last_us = -1;
    for (OpId op = 0; op < facts_.problem().num_ops(); ++op) {
      if (facts_.free_us(op) > last_us) {
        last_us = facts_.free_us(op);
        last.op = op;
      }
    }
    // In the `placeto` model a channel's rest may end a step; in the others an op always does.
    for (std::int32_t id = 0; id < num_transfers(); ++id) {
      const double free_us = facts_.transfer(id).end_us + facts_.gap_after_transfer_us();
      if (free_us > last_us && facts_.gap_after_transfer_us() > 0) {
        last_us = free_us;
        last = {.transfer = id};
      }
    }
    return last;
  }

  // Adds what happened from `from_us` to where the path has come to, in two segments if what
  // follows became ready meanwhile.
  void add(PathSegment segment, PathKind kind, double from_us, double queued_since_us) {
    segment.kind = kind;
    for (const bool is_queued : {true, false}) {
      segment.is_queued = is_queued;
      segment.from_us = is_queued ? std::max(from_us, queued_since_us) : from_us;
      segment.to_us = cursor_us_;
      if (segment.from_us < segment.to_us) {
        path_.push_back(segment);
        cursor_us_ = segment.from_us;
      }
    }
  }

  Cause pass_op(const Cause& cause) {
    const OpId op = cause.op;
    const DeviceId device = facts_.device_of(op);
    const double start_us = facts_.start_us(op);
    const PathSegment segment{.op = op, .device = device};
    if (facts_.problem().gap_us(op) > 0) {
      add(segment, PathKind::kGap, facts_.record().end_us[op], cause.queued_since_us);
    }
    const double launched_us = start_us + facts_.problem().launch_us(op, device);
    add(segment, PathKind::kCompute, launched_us, cause.queued_since_us);
    add(segment, PathKind::kLaunch, start_us, cause.queued_since_us);

    const StepFacts::Arrival last = facts_.last_arrival(op);
    const double ready_us = std::max(last.at_us, launches_.at_us(op));
    if (start_us - ready_us > rounding_us(start_us)) {
      return {.op = op_before(device, start_us), .queued_since_us = ready_us};
    }
    if (ready_us - last.at_us > rounding_us(ready_us)) {  // the host was busy all the time before
      add(segment, PathKind::kHost, 0, kNever);
      return {};
    }
    return last.transfer != kNone ? Cause{.transfer = last.transfer} : Cause{.op = last.producer};
  }

  // The op whose end let another start: the last to leave the device by then, except for those
  // that took no time.
  OpId op_before(DeviceId device, double start_us) const {
    const std::vector<OpId>& ops = facts_.ops_by_end()[device];
    auto at = std::upper_bound(ops.begin(), ops.end(), start_us,
                               [&](double us, OpId op) { return us < facts_.free_us(op); });
    while (at != ops.begin() && facts_.start_us(at[-1]) >= start_us) {
      --at;
    }
    EMPLACE_CHECK(at != ops.begin(), "an op waited for device {}, which was idle", device);
    return at[-1];
  }

  Cause pass_transfer(const Cause& cause) {
    const Transfer& transfer = facts_.transfer(cause.transfer);
    PathSegment segment{
        .op = transfer.producer, .link = facts_.slowest_link(transfer), .transfer = cause.transfer};
    const double since_us = cause.queued_since_us;
    if (facts_.gap_after_transfer_us() > 0) {
      add(segment, PathKind::kGap, transfer.end_us, since_us);
    }
    const double asks_us = facts_.asks_us(transfer);
    const std::int32_t before = transfer_before(cause.transfer);
    const double admitted_us =
        before == kNone ? asks_us : facts_.transfer(before).end_us + facts_.gap_after_transfer_us();
    const double latency_us = facts_.has_latency_on_link() ? facts_.latency_us(transfer) : 0;
    const double moves_us = admitted_us + latency_us;
    const double at_full_speed_us = transfer.end_us - facts_.moving_us(transfer);
    if (at_full_speed_us - moves_us > rounding_us(transfer.end_us)) {
      add(segment, PathKind::kTransfer, at_full_speed_us, since_us);
      PathSegment wait = segment;
      wait.link = most_loaded_link(transfer, moves_us);
      add(wait, PathKind::kLinkWait, moves_us, since_us);
    } else {
      add(segment, PathKind::kTransfer, moves_us, since_us);
    }
    add(segment, PathKind::kLatency, before == kNone ? transfer.wanted_us : admitted_us, since_us);
    return before == kNone ? Cause{.op = transfer.producer}
                           : Cause{.transfer = before, .queued_since_us = asks_us};
  }

  // The transfer that a `fifo` link of the route served until it admitted this one; kNone if it did
  // not keep it waiting. On such a link what ends before others do, came before them.
  std::int32_t transfer_before(std::int32_t id) const {
    const Transfer& transfer = facts_.transfer(id);
    std::int32_t last = kNone;
    for (const std::int32_t link : facts_.route(transfer)) {
      const std::vector<std::int32_t>& queue = queues_[link];
      const auto at = std::lower_bound(
          queue.begin(), queue.end(), id,
          [&](std::int32_t a, std::int32_t b) { return place_in_queue(a) < place_in_queue(b); });
      if (at != queue.begin() && at != queue.end() && *at == id &&
          (last == kNone || place_in_queue(last) < place_in_queue(at[-1]))) {
        last = at[-1];
      }
    }
    const double asks_us = facts_.asks_us(transfer);
    return last != kNone && facts_.transfer(last).end_us + facts_.gap_after_transfer_us() >
                                asks_us + rounding_us(asks_us)
               ? last
               : kNone;
  }

  const StepFacts& facts_;
  HostLaunches launches_;
  IdVector<std::int32_t, std::vector<std::int32_t>>
      queues_;                                            // of each `fifo` link: transfers by end
  IdVector<std::int32_t, std::vector<Carried>> carried_;  // by each link
  double cursor_us_ = 0;                                  // how far back the path has come
  std::vector<PathSegment> path_;                         // latest first
};

}  // namespace

std::vector<PathSegment> critical_path(const StepFacts& facts) { return PathWalk(facts).walk(); }

std::vector<PathSegment> critical_path(const Problem& problem, const StepRecord& record) {
  return critical_path(StepFacts(problem, record));
}

}  // namespace emplace
