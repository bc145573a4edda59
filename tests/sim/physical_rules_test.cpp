// Does the `physical` engine do what the rules in docs/concepts/simulation.md say? Here they are
// once more, to the letter: at every event all rates are found anew by filling all flows at one
// pace, everything is a plain list, and memory is counted from the lists of what lived when.

#include "support/machines.hpp"
#include "support/reused_memory.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/sim/memory_curve.hpp>
#include <emplace/sim/simulator.hpp>

#include <boost/range/iterator_range.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace emplace::physical_rules_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two moments that are closer are one instant (rule 3).
double end_of_instant(double us) { return us + 1e-6 + us * 1e-12; }

class RuleBook {
 public:
  struct Sent {
    OpId producer;
    std::int32_t output;  // among those of its producer
    DeviceId from;
    DeviceId to;
    double start_us;
    double enters_us;  // when its latency is over
    double left;       // bytes
    double rate = 0;
    bool has_entered = false;
    double end_us = -1;
    int end_batch = 0;
  };

  RuleBook(const Problem& problem, const Placement& placement)
      : problem_(problem), placement_(placement), queues_(topology().links().size()) {
    const OpGraph& graph = problem.graph();
    for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
      uses_.insert({static_cast<OpId>(boost::source(*edge, graph)), graph[*edge].output,
                    static_cast<OpId>(boost::target(*edge, graph))});
    }
    start_us.assign(problem.num_ops(), -1);
    end_us.assign(problem.num_ops(), -1);
    start_batch_.assign(problem.num_ops(), 0);
    end_batch_.assign(problem.num_ops(), 0);
    waiting_.resize(problem.num_ops());
    for (const auto& [producer, output, consumer] : uses_) {
      ++waiting_[consumer];
    }
    std::map<std::int32_t, double> threads_us;
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      const DeviceId device = placement[GroupId(op)];
      const Host& host = problem.cluster().host;
      const double us = host.launch_us * static_cast<double>(num_kernels(problem.op(op)));
      if (us > 0 && launches(problem.op(op).kind)) {
        double& thread_us = threads_us[device % host.threads];
        thread_us += us;
        launched_us_[op] = thread_us;
        ++waiting_[op];
      }
      if (waiting_[op] == 0) {
        make_ready(op);
      }
    }
    do {
      start_ops();
      share_links();
    } while (handle_next_instant());
    makespan_us = *std::max_element(end_us.begin(), end_us.end());
    count_memory();
  }

  IdVector<OpId, double> start_us;
  IdVector<OpId, double> end_us;
  std::vector<Sent> sent;
  IdVector<DeviceId, std::int64_t> peak_bytes;
  double makespan_us = 0;

 private:
  const Topology& topology() const { return problem_.cluster().topology; }
  const Link& link(std::int32_t id) const { return topology().links()[id]; }
  std::span<const std::int32_t> route(const Sent& one) const {
    return topology().route(one.from, one.to);
  }

  // The longest path of times from an op to the end of the step.
  double priority_us(OpId op) {
    if (problem_.cluster().queue_order == QueueOrder::kFifo) {
      return 0;
    }
    const auto known = priority_us_.find(op);
    if (known != priority_us_.end()) {
      return known->second;
    }
    double after_us = 0;
    for (const auto& [producer, output, consumer] : uses_) {
      if (producer == op) {
        after_us = std::max(after_us, priority_us(consumer));
      }
    }
    double least_us = kInfinity;
    for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
      least_us = std::min(least_us, problem_.launch_us(op, device) + problem_.cost_us(op, device));
    }
    return priority_us_[op] = least_us + after_us;
  }

  void make_ready(OpId op) {
    const double priority = placement_.has_priorities() ? placement_.priorities()[GroupId(op)] : 0;
    ready_[placement_[GroupId(op)]].insert(
        {-problem_.op(op).priority, -priority, -priority_us(op), now_us_, op});
  }

  // Rule 1.
  void start_ops() {
    for (auto& [device, ready] : ready_) {
      while (!ready.empty() && std::ssize(running_[device]) < problem_.slots(device)) {
        const OpId op = std::get<OpId>(*ready.begin());
        ready.erase(ready.begin());
        running_[device].insert(op);
        start_us[op] = now_us_;
        start_batch_[op] = batch_;
        end_us[op] = now_us_ + (problem_.launch_us(op, device) + problem_.cost_us(op, device));
      }
    }
  }

  bool is_moving(const Sent& one) const {
    if (!one.has_entered || one.end_us >= 0) {
      return false;
    }
    return std::ranges::all_of(route(one), [&](std::int32_t id) {
      return link(id).sharing != LinkSharing::kFifo || queues_[id].front() == number(one);
    });
  }

  std::size_t number(const Sent& one) const { return static_cast<std::size_t>(&one - &sent[0]); }

  // Rule 2: all rates grow at one pace, until a link is full or a limit reached.
  void share_links() {
    std::vector<double> left;
    for (const Link& each : topology().links()) {
      left.push_back(each.bytes_per_us);
    }
    std::vector<Sent*> open;
    for (Sent& one : sent) {
      one.rate = 0;
      if (is_moving(one)) {
        open.push_back(&one);
      }
    }
    while (!open.empty()) {
      std::vector<int> num_open(left.size());
      for (const Sent* one : open) {
        for (const std::int32_t id : route(*one)) {
          ++num_open[id];
        }
      }
      const auto room = [&](const Sent& one, std::int32_t id) {
        return link(id).sharing == LinkSharing::kFatpipe ? link(id).bytes_per_us - one.rate
                                                         : left[id] / num_open[id];
      };
      double step = kInfinity;
      for (const Sent* one : open) {
        for (const std::int32_t id : route(*one)) {
          step = std::min(step, room(*one, id));
        }
      }
      std::vector<Sent*> still_open;
      for (Sent* one : open) {
        const bool is_stopped = std::ranges::any_of(route(*one), [&](std::int32_t id) {
          return room(*one, id) <= step + 1e-9 * link(id).bytes_per_us;
        });
        if (!is_stopped) {
          still_open.push_back(one);
        }
      }
      for (Sent* one : open) {
        one->rate += step;
        for (const std::int32_t id : route(*one)) {
          left[id] -= step;
        }
      }
      open = still_open;
    }
  }

  double next_us(const Sent& one) const {
    return one.end_us >= 0    ? kInfinity
           : !one.has_entered ? one.enters_us
           : one.rate > 0     ? now_us_ + one.left / one.rate
                              : kInfinity;
  }

  // Rule 3; says whether anything happened.
  bool handle_next_instant() {
    double first_us = kInfinity;
    for (const auto& [device, ops] : running_) {
      for (const OpId op : ops) {
        first_us = std::min(first_us, end_us[op]);
      }
    }
    for (const Sent& one : sent) {
      first_us = std::min(first_us, next_us(one));
    }
    for (const auto& [op, us] : launched_us_) {
      first_us = std::min(first_us, us);
    }
    if (first_us == kInfinity) {
      return false;
    }
    ++batch_;
    const double until_us = end_of_instant(first_us);
    double instant_us = first_us;
    std::set<OpId> ended_ops;
    for (const auto& [device, ops] : running_) {
      for (const OpId op : ops) {
        if (end_us[op] <= until_us) {
          ended_ops.insert(op);
          instant_us = std::max(instant_us, end_us[op]);
        }
      }
    }
    std::vector<std::size_t> ended;
    std::vector<std::size_t> entering;
    for (Sent& one : sent) {
      if (const double us = next_us(one); us <= until_us) {
        (one.has_entered ? ended : entering).push_back(number(one));
        instant_us = std::max(instant_us, us);
      }
    }
    for (const auto& [op, us] : launched_us_) {
      instant_us = us <= until_us ? std::max(instant_us, us) : instant_us;
    }
    for (const std::size_t at : ended) {
      sent[at].end_us = next_us(sent[at]);
      sent[at].end_batch = batch_;
    }
    for (Sent& one : sent) {
      one.left -= one.rate * (instant_us - now_us_);
    }
    now_us_ = instant_us;
    for (auto launch = launched_us_.begin(); launch != launched_us_.end();) {
      const auto [op, us] = *launch;
      launch = us <= until_us ? launched_us_.erase(launch) : std::next(launch);
      if (us <= until_us) {
        hand_to(op);
      }
    }
    for (const OpId op : ended_ops) {
      running_[placement_[GroupId(op)]].erase(op);
      end_batch_[op] = batch_;
      send_outputs(op);
    }
    for (const std::size_t at : ended) {
      leave_links(sent[at]);
      arrive(sent[at]);
    }
    for (const std::size_t at : entering) {
      enter_links(sent[at]);
    }
    for (Sent& one : sent) {
      if (!one.has_entered && one.enters_us <= now_us_) {
        enter_links(one);
      }
    }
    return true;
  }

  // Rule 2: one transfer for each output and device that wants it.
  void send_outputs(OpId op) {
    const DeviceId from = placement_[GroupId(op)];
    std::set<std::pair<std::int32_t, DeviceId>> wanted;
    for (const auto& [producer, output, consumer] : uses_) {
      if (producer != op) {
        continue;
      }
      if (output == Dependency::kControl || placement_[GroupId(consumer)] == from) {
        hand_to(consumer);
      } else {
        wanted.emplace(output, placement_[GroupId(consumer)]);
      }
    }
    for (const auto& [output, to] : wanted) {
      const auto bytes = static_cast<double>(problem_.graph()[op].outputs[output].bytes);
      const double latency_us = topology().latency_us(from, to);
      sent.push_back({.producer = op,
                      .output = output,
                      .from = from,
                      .to = to,
                      .start_us = now_us_,
                      .enters_us = now_us_ + latency_us,
                      .left = bytes});
    }
  }

  void enter_links(Sent& one) {
    one.has_entered = true;
    if (one.left < 1) {
      one.end_us = now_us_;
      one.end_batch = batch_;
      arrive(one);
      return;
    }
    for (const std::int32_t id : route(one)) {
      queues_[id].push_back(number(one));
    }
  }

  void leave_links(const Sent& one) {
    for (const std::int32_t id : route(one)) {
      std::erase(queues_[id], number(one));
    }
  }

  void arrive(const Sent& one) {
    for (const auto& [producer, output, consumer] : uses_) {
      if (producer == one.producer && output == one.output &&
          placement_[GroupId(consumer)] == one.to) {
        hand_to(consumer);
      }
    }
  }

  void hand_to(OpId consumer) {
    if (--waiting_[consumer] == 0) {
      make_ready(consumer);
    }
  }

  using Read = std::pair<OpId, std::int32_t>;  // a producer and one of its outputs

  std::int64_t bytes_of(const Read& read) const {
    return problem_.graph()[read.first].outputs[read.second].bytes;
  }

  // What an op reads, in the order of producers and outputs.
  std::vector<Read> reads(OpId op) const {
    std::vector<Read> all;
    for (const auto& [producer, output, consumer] : uses_) {
      if (consumer == op && output != Dependency::kControl) {
        all.emplace_back(producer, output);
      }
    }
    return all;
  }

  // That of which an op's result is a view: its first input, in the graph's order.
  std::optional<Read> viewed(OpId op) const {
    const OpGraph& graph = problem_.graph();
    if (graph[op].kind != "reshape") {
      return std::nullopt;
    }
    for (const auto edge : boost::make_iterator_range(boost::in_edges(op, graph))) {
      if (graph[edge].output != Dependency::kControl) {
        return Read(boost::source(edge, graph), graph[edge].output);
      }
    }
    return std::nullopt;
  }

  // When something happened: ops that take no time end at the time, but not in the batch, of their
  // start.
  struct Moment {
    double us = 0;
    int batch = 0;

    void wait_for(const Moment& other) {
      us = std::max(us, other.us);
      batch = std::max(batch, other.batch);
    }
  };

  // When an op does not need any more what it reads.
  Moment released(OpId op, const Read& read) const {
    if (const auto found = overwritten_.find(op);
        found != overwritten_.end() && found->second == read) {
      return {start_us[op], start_batch_[op]};
    }
    return viewed(op) == read ? freed({op, 0}, placement_[GroupId(op)])
                              : Moment{end_us[op], end_batch_[op]};
  }

  // When an output, or its copy, is freed on a device, as far as others than `except` need it.
  Moment freed(const Read& read, DeviceId device, OpId except = -1) const {
    const bool is_home = placement_[GroupId(read.first)] == device;
    Moment last = is_home ? Moment{end_us[read.first], end_batch_[read.first]} : Moment{};
    for (const auto& [producer, output, consumer] : uses_) {
      if (Read(producer, output) == read && placement_[GroupId(consumer)] == device &&
          consumer != except) {
        last.wait_for(released(consumer, read));
      }
    }
    for (const Sent& one : sent) {
      if (is_home && Read(one.producer, one.output) == read) {
        last.wait_for({one.end_us, one.end_batch});
      }
    }
    return last;
  }

  // Whether at the start of an op nothing but `reader` needs the memory of what that reads: the op
  // itself, or a view that the op reads.
  bool is_only_reader(OpId op, OpId reader, const Read& read) const {
    const DeviceId device = placement_[GroupId(op)];
    if (freed(read, device, reader).batch > start_batch_[op]) {
      return false;
    }
    const auto base = viewed(read.first);
    return !base || placement_[GroupId(read.first)] != device ||
           is_only_reader(op, read.first, *base);
  }

  // Rule 4: an op in place takes over the memory of its first input that it may write over.
  void find_overwritten() {
    std::vector<OpId> in_place;
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      if (problem_.graph()[op].kind == "add" && !problem_.graph()[op].outputs.empty()) {
        in_place.push_back(op);
      }
    }
    std::ranges::stable_sort(in_place, {}, [&](OpId op) { return start_us[op]; });
    for (const OpId op : in_place) {
      for (const Read& read : reads(op)) {
        if (bytes_of(read) > 0 && bytes_of(read) == bytes_of({op, 0}) &&
            is_only_reader(op, op, read)) {
          overwritten_.emplace(op, read);
          break;
        }
      }
    }
  }

  // Rule 4. What ends within an instant ends when the instant does.
  void count_memory() {
    find_overwritten();
    struct Lived {
      DeviceId device;
      double from_us;
      double until_us;
      std::int64_t bytes;
    };
    std::vector<Lived> lived;
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      const Op& facts = problem_.graph()[op];
      const DeviceId device = placement_[GroupId(op)];
      lived.push_back({device, 0, kInfinity, facts.persistent_bytes});
      lived.push_back({device, start_us[op], end_us[op], facts.workspace_bytes});
      for (std::int32_t output = 0; output < std::ssize(facts.outputs) && !viewed(op); ++output) {
        lived.push_back(
            {device, start_us[op], freed({op, output}, device).us, facts.outputs[output].bytes});
      }
    }
    for (const Sent& one : sent) {
      lived.push_back({one.to, one.start_us, freed({one.producer, one.output}, one.to).us,
                       problem_.graph()[one.producer].outputs[one.output].bytes});
    }
    peak_bytes.assign(problem_.num_devices(), 0);
    for (const Lived& moment : lived) {
      std::int64_t sum = 0;
      for (const Lived& each : lived) {
        if (each.device == moment.device && each.from_us <= moment.from_us &&
            end_of_instant(moment.from_us) < each.until_us) {
          sum += each.bytes;
        }
      }
      std::int64_t& peak = peak_bytes[moment.device];
      peak = std::max(peak, sum);
    }
  }

  const Problem& problem_;
  const Placement& placement_;
  std::set<std::tuple<OpId, std::int32_t, OpId>> uses_;
  std::map<OpId, double> launched_us_;  // of launches to come
  std::map<OpId, double> priority_us_;
  std::map<OpId, Read> overwritten_;
  IdVector<OpId, int> waiting_;
  std::map<DeviceId, std::set<std::tuple<std::int32_t, double, double, double, OpId>>> ready_;
  std::map<DeviceId, std::set<OpId>> running_;
  std::vector<std::deque<std::size_t>> queues_;  // by link: transfers in the order of arrival
  double now_us_ = 0;
  int batch_ = 0;  // of events that are handled together
  IdVector<OpId, int> start_batch_;
  IdVector<OpId, int> end_batch_;
};

void expect_near(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 1e-6 + 1e-9 * expected);
}

class PhysicalRules : public ::testing::TestWithParam<test::Coincidences> {};

TEST_P(PhysicalRules, AreFollowed) {
  RandomStream random(7);
  for (int round = 0; round < 6000 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    test::RandomStep step =
        test::draw_step([&](std::uint64_t bound) { return random.below(bound); }, GetParam(),
                        round % 2 == 0 ? 8 : 60);
    if (round % 3 == 0) {
      test::reuse_memory(step.graph, [&](std::uint64_t bound) { return random.below(bound); });
    }
    if (round % 7 == 5) {
      auto cluster = std::make_shared<Cluster>(*step.cluster);
      cluster->host = {.launch_us = 0.5 + static_cast<double>(random.below(20)),
                       .threads = 1 + static_cast<std::int32_t>(random.below(3))};
      step.cluster = cluster;
    }
    if (round % 5 == 2) {
      for (std::size_t op = 0; op < boost::num_vertices(step.graph); ++op) {
        step.graph[op].priority = static_cast<std::int32_t>(random.below(4));
      }
    }
    const Problem problem = test::make_problem(std::move(step.graph), step.cluster);
    if (round % 4 == 3) {
      IdVector<GroupId, Priority> priorities;
      for (GroupId group = 0; group < problem.num_groups(); ++group) {
        priorities.push_back(static_cast<Priority>(random.below(6)) - 3);
      }
      step.placement.set_priorities(std::move(priorities));
    }
    const RuleBook expected(problem, step.placement);
    const StepRecord record = Simulator(problem).record(step.placement);
    expect_near(record.makespan_us, expected.makespan_us);
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      SCOPED_TRACE(op);
      expect_near(record.start_us[op], expected.start_us[op]);
      expect_near(record.end_us[op], expected.end_us[op]);
    }
    ASSERT_EQ(record.transfers.size(), expected.sent.size());
    for (std::size_t at = 0; at < record.transfers.size(); ++at) {
      SCOPED_TRACE(at);
      const Transfer& actual = record.transfers[at];
      const RuleBook::Sent& sent = expected.sent[at];
      EXPECT_EQ(actual.producer, sent.producer);
      EXPECT_EQ(actual.output - problem.outputs(actual.producer).first, sent.output);
      EXPECT_EQ(actual.from, sent.from);
      EXPECT_EQ(actual.to, sent.to);
      expect_near(actual.start_us, sent.start_us);
      expect_near(actual.end_us, sent.end_us);
    }
    EXPECT_EQ(record.peak_bytes, expected.peak_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(WithManyCoincidencesAndWithNone, PhysicalRules,
                         ::testing::Values(test::Coincidences::kMany, test::Coincidences::kNone));

}  // namespace
}  // namespace emplace::physical_rules_test
