// A yardstick: the textbook event loop, one binary heap of events and one of ready ops for each
// device, for the rules of the `placeto` model. It counts no memory and knows no rules for ties,
// which do not occur here: its makespan must be the simulator's.

#include "random_problem.hpp"

#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/simulator.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace emplace::micro {
namespace {

class HeapLoop {
 public:
  explicit HeapLoop(const Problem& problem) : problem_(problem) {}

  double run(const Placement& placement) {
    const DeviceId num_devices = problem_.num_devices();
    device_free_us_.assign(num_devices, 0);
    channel_free_us_.assign(num_devices, 0);
    ready_.assign(num_devices, {});
    waiting_.clear();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      waiting_.push_back(problem_.num_parents(op));
      if (waiting_.back() == 0) {
        ready_[device_of(placement, op)].emplace(0, op);
      }
    }
    for (DeviceId device = 0; device < num_devices; ++device) {
      events_.emplace(0, kDeviceIsFree, device);
    }
    double makespan_us = 0;
    while (!events_.empty()) {
      const auto [now_us, kind, id] = events_.top();
      events_.pop();
      if (kind == kOpIsThere) {
        const DeviceId device = device_of(placement, id);
        ready_[device].emplace(now_us, id);
        start_next(device, placement, now_us, makespan_us);
      } else {
        start_next(id, placement, now_us, makespan_us);
      }
    }
    return makespan_us;
  }

 private:
  // At one time an op becomes ready before the device is free.
  static constexpr int kOpIsThere = 0;
  static constexpr int kDeviceIsFree = 1;

  using Ready = std::pair<double, OpId>;
  using Event = std::tuple<double, int, std::int32_t>;

  DeviceId device_of(const Placement& placement, OpId op) const {
    return placement[problem_.grouping().group_of(op)];
  }

  void start_next(DeviceId device, const Placement& placement, double now_us, double& makespan_us) {
    if (device_free_us_[device] > now_us || ready_[device].empty()) {
      return;
    }
    const OpId op = ready_[device].top().second;
    ready_[device].pop();
    const double end_us = now_us + problem_.cost_us(op, device);
    device_free_us_[device] = end_us + problem_.gap_us(op);
    events_.emplace(device_free_us_[device], kDeviceIsFree, device);
    makespan_us = std::max(makespan_us, device_free_us_[device]);
    double sent_us = -1;
    const PlacetoModel& model = problem_.cluster().placeto;
    for (const Problem::Child& child : problem_.children(op)) {
      const DeviceId to = device_of(placement, child.op);
      if (to != device && sent_us < 0) {  // the ops of these problems have one output each
        sent_us = std::max(end_us, channel_free_us_[device]) +
                  static_cast<double>(problem_.output_bytes(child.output)) / model.bytes_per_us;
        channel_free_us_[device] = sent_us + model.gap_after_transfer_us;
        makespan_us = std::max(makespan_us, channel_free_us_[device]);
      }
    }
    for (const Problem::Child& child : problem_.children(op)) {
      known_us_.resize(waiting_.size());
      const double there_us = device_of(placement, child.op) == device ? end_us : sent_us;
      known_us_[child.op] = std::max(
          waiting_[child.op] == problem_.num_parents(child.op) ? 0 : known_us_[child.op], there_us);
      if (--waiting_[child.op] == 0) {
        events_.emplace(known_us_[child.op], kOpIsThere, child.op);
      }
    }
  }

  const Problem& problem_;
  IdVector<DeviceId, double> device_free_us_;
  IdVector<DeviceId, double> channel_free_us_;
  IdVector<DeviceId, std::priority_queue<Ready, std::vector<Ready>, std::greater<>>> ready_;
  IdVector<OpId, std::int32_t> waiting_;
  IdVector<OpId, double> known_us_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

void BM_HeapLoop(benchmark::State& state) {
  const Problem problem = random_problem(static_cast<OpId>(state.range(0)), 4);
  std::vector<Placement> placements;
  for (std::uint64_t seed = 0; seed < kPlacements; ++seed) {
    placements.push_back(random_placement(problem, seed));
  }
  HeapLoop loop(problem);
  Simulator simulator(problem);
  if (loop.run(placements[0]) != simulator.run(placements[0]).makespan_us) {
    state.SkipWithError("the event loop disagrees with the simulator");
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(loop.run(placements[next]));
    next = (next + 1) % placements.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_HeapLoop)->ArgName("ops")->Arg(100)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace emplace::micro
