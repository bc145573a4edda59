#include "cuda_timing.hpp"

#include "cuda_check.hpp"
#include "memory_kernels.hpp"

#include <emplace/base/quantiles.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <iterator>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>

namespace emplace::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kWarmUps = 2;

// Runs that are held back at a time: a stream takes some hundred launches before it blocks.
constexpr std::int32_t kHeldRuns = 8;

// Launches in a chain; so many that the first and the last do not count.
constexpr std::int32_t kChain = 1000;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double us_between(const CudaEvent& before, const CudaEvent& after) {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, before.get(), after.get()), "cudaEventElapsedTime");
  return 1000.0 * static_cast<double>(ms);
}

// An id for each run or copy that is timed, unique in the process.
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

bool is_pageable(const void* memory) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeUnregistered;
}

class EmptyProgram final : public CudaProgram {
 public:
  std::int64_t workspace_bytes() const override { return 0; }
  std::string_view library() const override { return "generic"; }
  void enqueue(CudaQueue& queue, const OpBuffers&) const override {
    enqueue_nothing(queue.stream());
  }
};

}  // namespace

CudaTimer::CudaTimer(std::shared_ptr<const GpuPart> part,
                     std::shared_ptr<ActivitySource> activities)
    : part_(std::move(part)), activities_(std::move(activities)), queue_(part_), start_(part_) {}

bool CudaTimer::is_profiled() const {
  return activities_ != nullptr && activities_->why_none().empty();
}

void CudaTimer::flush() {
  if (cache_filler_ == nullptr) {
    int cache_bytes = 0;
    check_cuda(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, part_->ordinal()),
               "cudaDeviceGetAttribute");
    cache_filler_ =
        device_memory(queue_, std::max(2 * std::int64_t{cache_bytes}, std::int64_t{4}), false);
  }
  enqueue_random_fill(queue_.stream(), cache_filler_->data(), cache_filler_->bytes());
}

std::vector<TimedRun> CudaTimer::profiled(std::span<const std::uint64_t> ids) {
  const auto times = times_of_runs(activities_->take(), ids);
  std::vector<TimedRun> runs;
  for (const std::uint64_t id : ids) {
    const DeviceTime& time = times.at(id);
    runs.push_back(
        time.records == 0 || time.lost > 0
            ? TimedRun{.quality = RunQuality::kLost}
            : TimedRun{.us = time.busy_us,
                       .quality = time.throttled ? RunQuality::kThrottled : RunQuality::kGood});
  }
  return runs;
}

std::vector<TimedRun> CudaTimer::time_runs(const CudaProgram& program, const OpBuffers& buffers,
                                           std::int32_t runs) {
  part_->activate();
  for (std::int32_t run = 0; run < kWarmUps; ++run) {
    flush();
    program.enqueue(queue_, buffers);
  }
  queue_.finish();
  std::vector<TimedRun> timed;
  if (is_profiled()) {
    std::vector<std::uint64_t> ids;
    for (std::int32_t run = 0; run < runs; ++run) {
      flush();
      const ExternalId id(*activities_, ids.emplace_back(next_id()));
      program.enqueue(queue_, buffers);
    }
    queue_.finish();
    return profiled(ids);
  }
  for (std::int32_t first = 0; first < runs; first += kHeldRuns) {
    const std::int32_t count = std::min(kHeldRuns, runs - first);
    std::deque<CudaEvent> befores;
    std::deque<CudaEvent> afters;
    for (std::int32_t run = 0; run < count; ++run) {
      befores.emplace_back(part_, true);
      afters.emplace_back(part_, true);
    }
    start_.hold(queue_.stream(), ++num_starts_);
    try {
      for (std::size_t run = 0; run < befores.size(); ++run) {
        flush();
        befores[run].record(queue_.stream());
        program.enqueue(queue_, buffers);
        afters[run].record(queue_.stream());
      }
    } catch (...) {
      start_.raise(num_starts_);
      throw;
    }
    start_.raise(num_starts_);
    queue_.finish();
    for (std::size_t run = 0; run < befores.size(); ++run) {
      timed.push_back({.us = us_between(befores[run], afters[run])});
    }
  }
  return timed;
}

// A stream of its own for each copy, with what tells its times.
struct CudaTimer::Lane {
  explicit Lane(const std::shared_ptr<const GpuPart>& part)
      : queue(part), before(part, true), after(part, true) {}

  CudaQueue queue;
  CudaEvent before;
  CudaEvent after;
  std::uint64_t id = 0;
};

std::vector<std::vector<TimedRun>> CudaTimer::time_copies(std::span<const Copy> copies,
                                                          std::int32_t runs) {
  part_->activate();
  std::vector<std::unique_ptr<Lane>> lanes;
  bool is_by_host = false;
  for (const Copy& copy : copies) {
    lanes.push_back(std::make_unique<Lane>(part_));
    lanes.back()->queue.copy(copy.to, copy.from, copy.bytes);  // the first copy sets things up
    is_by_host = is_by_host || is_pageable(copy.to) || is_pageable(copy.from);
  }
  for (const auto& lane : lanes) {
    lane->queue.finish();
  }
  std::vector<std::vector<TimedRun>> timed(copies.size());
  if (is_by_host) {
    std::barrier start(std::ssize(copies));
    std::vector<std::exception_ptr> failures(copies.size());
    // Nobody waits for a thread that cannot be started.
    std::latch begun(1);
    bool all_are_there = false;
    std::vector<std::jthread> threads;
    const auto copy_runs = [&](std::size_t i) {
      begun.wait();
      if (all_are_there) {
        for (std::int32_t run = 0; run < runs; ++run) {
          start.arrive_and_wait();
          const auto begin = Clock::now();
          try {
            lanes[i]->queue.copy(copies[i].to, copies[i].from, copies[i].bytes);
            lanes[i]->queue.finish();
          } catch (...) {
            failures[i] = std::current_exception();
          }
          timed[i].push_back({.us = us_since(begin)});
        }
      }
    };
    try {
      while (threads.size() < copies.size()) {
        threads.emplace_back(copy_runs, threads.size());
      }
      all_are_there = true;
    } catch (const std::system_error& error) {
      begun.count_down();
      throw DeviceFailure(fmt::format("the system allows {} of {} threads that copies need: {}",
                                      threads.size(), copies.size(), error.code().message()));
    }
    begun.count_down();
    threads.clear();
    for (const std::exception_ptr& failure : failures) {
      if (failure != nullptr) {
        std::rethrow_exception(failure);
      }
    }
    return timed;
  }
  for (std::int32_t run = 0; run < runs; ++run) {
    // Held back until all copies are enqueued, so that they begin together.
    ++num_starts_;
    try {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        Lane& lane = *lanes[i];
        lane.id = next_id();
        start_.hold(lane.queue.stream(), num_starts_);
        lane.before.record(lane.queue.stream());
        if (is_profiled()) {
          const ExternalId id(*activities_, lane.id);
          lane.queue.copy(copies[i].to, copies[i].from, copies[i].bytes);
        } else {
          lane.queue.copy(copies[i].to, copies[i].from, copies[i].bytes);
        }
        lane.after.record(lane.queue.stream());
      }
    } catch (...) {
      start_.raise(num_starts_);
      throw;
    }
    start_.raise(num_starts_);
    for (const auto& lane : lanes) {
      lane->queue.finish();
    }
    std::vector<TimedRun> of_copies;
    if (is_profiled()) {
      std::vector<std::uint64_t> ids;
      std::ranges::transform(lanes, std::back_inserter(ids),
                             [](const auto& lane) { return lane->id; });
      of_copies = profiled(ids);
    } else {
      std::ranges::transform(lanes, std::back_inserter(of_copies), [](const auto& lane) {
        return TimedRun{.us = us_between(lane->before, lane->after)};
      });
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      timed[i].push_back(of_copies[i]);
    }
  }
  return timed;
}

double CudaTimer::empty_kernel_us() {
  std::vector<TimedRun> runs = time_runs(EmptyProgram(), {}, 21);
  std::erase_if(runs, [](const TimedRun& run) { return run.quality != RunQuality::kGood; });
  if (runs.empty()) {
    throw DeviceFailure("the profiler lost all runs of an empty kernel");
  }
  std::vector<double> times_us;
  std::ranges::transform(runs, std::back_inserter(times_us), &TimedRun::us);
  return upper_median(std::move(times_us));
}

double CudaTimer::launch_us() {
  const double kernel_us = empty_kernel_us();
  const auto begin = Clock::now();
  for (std::int32_t i = 0; i < kChain; ++i) {
    enqueue_nothing(queue_.stream());
  }
  queue_.finish();
  return std::max(0.0, us_since(begin) / kChain - kernel_us);
}

double CudaTimer::replayed_launch_us() {
  const double kernel_us = empty_kernel_us();
  const std::array<Queue*, 1> queues = {&queue_};
  Recording recording(queues);
  for (std::int32_t i = 0; i < kChain; ++i) {
    enqueue_nothing(queue_.stream());
  }
  const std::unique_ptr<Recorded> chain = recording.end();
  chain->replay();  // the first uploads the graph
  queue_.finish();
  const auto begin = Clock::now();
  chain->replay();
  queue_.finish();
  return std::max(0.0, us_since(begin) / kChain - kernel_us);
}

}  // namespace emplace::calibrate
