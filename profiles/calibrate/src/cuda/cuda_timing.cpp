#include "cuda_timing.hpp"

#include "cuda_check.hpp"
#include "cuda_facts.hpp"
#include "gpu_monitor.hpp"
#include "memory_kernels.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/calibrate/cuda_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <iterator>
#include <latch>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace emplace::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

// How long a GPU is under load before anything is timed, and before each op or copy.
constexpr double kFirstLoadUs = 1e6;
constexpr double kLoadUs = 2e4;

// How long a GPU that did not hold its clocks is left alone.
constexpr std::chrono::milliseconds kPause(500);

// Runs that are held back at a time: a stream takes some hundred launches before it blocks.
constexpr std::int32_t kHeldRuns = 8;

// How long kernels of a chain spin, and how many launches or messages there are in one.
constexpr std::int64_t kCyclesOfUnit = 20'000;
constexpr std::int32_t kLaunches = 1000;
constexpr std::int32_t kMessages = 100;

// Pauses are the median of so many measurements.
constexpr std::int32_t kChains = 5;

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

cudaPointerAttributes attributes_of(const void* memory) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  return attributes;
}

bool is_pageable(const void* memory) {
  return attributes_of(memory).type == cudaMemoryTypeUnregistered;
}

// The GPU whose memory it is.
std::optional<std::int32_t> gpu_of(const void* memory) {
  const cudaPointerAttributes attributes = attributes_of(memory);
  return attributes.type == cudaMemoryTypeDevice ? std::optional(attributes.device) : std::nullopt;
}

}  // namespace

CudaTimer::CudaTimer(std::shared_ptr<const GpuPart> part,
                     std::shared_ptr<ActivitySource> activities)
    : part_(std::move(part)), activities_(std::move(activities)), queue_(part_), start_(part_) {}

bool CudaTimer::is_profiled() const {
  return activities_ != nullptr && profiler_failure_.empty() && activities_->why_none().empty();
}

void CudaTimer::cool_caches() {
  if (cache_filler_ == nullptr) {
    int cache_bytes = 0;
    check_cuda(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, part_->ordinal()),
               "cudaDeviceGetAttribute");
    cache_filler_ =
        device_memory(queue_, std::max(2 * std::int64_t{cache_bytes}, std::int64_t{16}), true);
  }
  enqueue_read(queue_.stream(), cache_filler_->data(), cache_filler_->bytes());
}

void CudaTimer::enqueue_load(const CudaProgram& program, const OpBuffers& buffers) {
  for (std::int32_t run = 0; run < kHeldRuns; ++run) {
    program.enqueue(queue_, buffers);
    enqueue_spin(queue_.stream(), kCyclesOfUnit);
  }
}

void CudaTimer::ask_for_reasons(const CudaProgram& program, const OpBuffers& buffers) {
  if (GpuMonitor* const monitor = nvml_monitor(); monitor != nullptr) {
    enqueue_load(program, buffers);
    clock_reasons_ |= monitor->clock_reasons(pci_bus_id(part_->ordinal()));
    queue_.finish();
  }
}

void CudaTimer::hold_load(const CudaProgram& program, const OpBuffers& buffers) {
  auto* const stamps = static_cast<ClockStamp*>(stamps_->data());
  const double wanted_us = sustained_mhz_ > 0 ? kLoadUs : kFirstLoadUs;
  const auto begin = Clock::now();
  do {
    enqueue_stamp(queue_.stream(), &stamps[0]);
    enqueue_load(program, buffers);
    enqueue_stamp(queue_.stream(), &stamps[1]);
    queue_.finish();
  } while (us_since(begin) < wanted_us);
  // Of this op: a product draws more power than a copy, and has a lower clock.
  ClockStamp seen[2];
  check_cuda(cudaMemcpy(seen, stamps, sizeof(seen), cudaMemcpyDefault), "cudaMemcpy");
  sustained_mhz_ = mhz_between(seen[0], seen[1]);
}

void CudaTimer::hold_back(const std::function<void()>& enqueue) {
  start_.hold(queue_.stream(), ++num_starts_);
  try {
    enqueue();
  } catch (...) {
    start_.raise(num_starts_);
    throw;
  }
  start_.raise(num_starts_);
  queue_.finish();
}

std::vector<TimedRun> CudaTimer::profiled(std::span<const std::uint64_t> ids) {
  try {
    const auto times = times_of_runs(activities_->take(), ids);
    std::vector<TimedRun> runs;
    for (const std::uint64_t id : ids) {
      const DeviceTime& time = times.at(id);
      runs.push_back(time.records == 0 || time.lost > 0 ? TimedRun{.quality = RunQuality::kLost}
                                                        : TimedRun{.us = time.busy_us});
    }
    return runs;
  } catch (const DeviceFailure& failure) {
    profiler_failure_ = failure.what();
  } catch (const Error& error) {  // records that nobody understands
    profiler_failure_ = error.what();
  }
  return std::vector<TimedRun>(ids.size(), {.quality = RunQuality::kLost});
}

std::vector<TimedRun> CudaTimer::time_some(const CudaProgram& program, const OpBuffers& buffers,
                                           std::int32_t runs, Caches caches) {
  auto* const stamps = static_cast<ClockStamp*>(stamps_->data());
  const bool by_profiler = is_profiled();
  std::deque<CudaEvent> befores;
  std::deque<CudaEvent> afters;
  std::vector<std::uint64_t> ids;
  for (std::int32_t run = 0; run < runs; ++run) {
    befores.emplace_back(part_, true);
    afters.emplace_back(part_, true);
    ids.push_back(next_id());
  }
  hold_back([&] {
    for (std::size_t run = 0; run < ids.size(); ++run) {
      enqueue_stamp(queue_.stream(), &stamps[2 * run]);
      if (caches == Caches::kCold) {
        cool_caches();
      }
      befores[run].record(queue_.stream());
      if (by_profiler) {
        const ExternalId id(*activities_, ids[run]);
        program.enqueue(queue_, buffers);
      } else {
        program.enqueue(queue_, buffers);
      }
      afters[run].record(queue_.stream());
      enqueue_stamp(queue_.stream(), &stamps[2 * run + 1]);
    }
  });
  std::vector<TimedRun> timed;
  if (by_profiler) {
    timed = profiled(ids);
  }
  if (!by_profiler || !profiler_failure_.empty()) {  // events have seen the same runs
    timed.clear();
    for (std::size_t run = 0; run < ids.size(); ++run) {
      timed.push_back({.us = us_between(befores[run], afters[run])});
    }
  }
  std::vector<ClockStamp> seen(2 * ids.size());
  check_cuda(cudaMemcpy(seen.data(), stamps, seen.size() * sizeof(ClockStamp), cudaMemcpyDefault),
             "cudaMemcpy");
  for (std::size_t run = 0; run < timed.size(); ++run) {
    timed[run].mhz = mhz_between(seen[2 * run], seen[2 * run + 1]);
    if (timed[run].quality == RunQuality::kGood) {
      timed[run].quality = quality_at(timed[run].mhz, sustained_mhz_);
    }
  }
  return timed;
}

std::vector<TimedRun> CudaTimer::time_runs(const CudaProgram& program, const OpBuffers& buffers,
                                           std::int32_t runs, Caches caches) {
  part_->activate();
  if (stamps_ == nullptr) {
    stamps_ = device_memory(queue_, std::int64_t{sizeof(ClockStamp)} * 2 * kHeldRuns, false);
    cool_caches();
  }
  hold_load(program, buffers);
  std::vector<TimedRun> timed;
  for (std::int32_t first = 0; first < runs; first += kHeldRuns) {
    const std::vector<TimedRun> some =
        time_some(program, buffers, std::min(kHeldRuns, runs - first), caches);
    timed.insert(timed.end(), some.begin(), some.end());
    const auto throttled = std::ranges::count(some, RunQuality::kThrottled, &TimedRun::quality);
    if (throttled > 0) {
      ask_for_reasons(program, buffers);
    }
    if (2 * throttled > std::ssize(some)) {
      std::this_thread::sleep_for(kPause);
      hold_load(program, buffers);
    }
  }
  return timed;
}

// A stream of its own for each copy, with what tells its times.
struct CudaTimer::Lane {
  explicit Lane(const std::shared_ptr<const GpuPart>& gpu)
      : part(gpu), queue(gpu), before(gpu, true), after(gpu, true) {}

  std::shared_ptr<const GpuPart> part;
  CudaQueue queue;
  CudaEvent before;
  CudaEvent after;
  std::uint64_t id = 0;
};

std::vector<std::vector<TimedRun>> CudaTimer::time_copies_of_host(
    std::span<const Copy> copies, std::span<const std::unique_ptr<Lane>> lanes, std::int32_t runs) {
  std::vector<std::vector<TimedRun>> timed(copies.size());
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

std::vector<std::vector<TimedRun>> CudaTimer::time_copies(std::span<const Copy> copies,
                                                          std::int32_t runs) {
  std::vector<std::unique_ptr<Lane>> lanes;
  bool is_by_host = false;
  for (const Copy& copy : copies) {
    auto gpu = gpu_of(copy.from);
    gpu = gpu ? gpu : gpu_of(copy.to);
    lanes.push_back(
        std::make_unique<Lane>(!gpu || *gpu == part_->ordinal() ? part_ : part_->whole_gpu(*gpu)));
    lanes.back()->queue.copy(copy.to, copy.from, copy.bytes);  // the first copy sets things up
    is_by_host = is_by_host || is_pageable(copy.to) || is_pageable(copy.from);
  }
  for (const auto& lane : lanes) {
    lane->queue.finish();
  }
  if (is_by_host) {
    return time_copies_of_host(copies, lanes, runs);
  }
  std::vector<std::vector<TimedRun>> timed(copies.size());
  for (std::int32_t run = 0; run < runs; ++run) {
    // Held back until all copies are enqueued, so that they begin together.
    ++num_starts_;
    try {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        Lane& lane = *lanes[i];
        lane.id = next_id();
        lane.part->activate();
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
    const bool by_profiler = is_profiled();
    if (by_profiler) {
      std::vector<std::uint64_t> ids;
      std::ranges::transform(lanes, std::back_inserter(ids),
                             [](const auto& lane) { return lane->id; });
      of_copies = profiled(ids);
    }
    if (!by_profiler || !profiler_failure_.empty()) {
      of_copies.clear();
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

double CudaTimer::chain_us(int kernels, int units) {
  CudaEvent before(part_, true);
  CudaEvent after(part_, true);
  hold_back([&] {
    before.record(queue_.stream());
    for (int i = 0; i < kernels; ++i) {
      enqueue_spin(queue_.stream(), units * kCyclesOfUnit);
    }
    after.record(queue_.stream());
  });
  return us_between(before, after);
}

Launch CudaTimer::launches() {
  part_->activate();
  chain_us(kLaunches / 4, 4);  // to have the clocks of a load
  std::vector<double> gaps_us;
  gaps_us.reserve(kChains);
  for (std::int32_t i = 0; i < kChains; ++i) {
    gaps_us.push_back(
        launch_gap_us([&](int kernels, int units) { return chain_us(kernels, units); }));
  }
  // Spinning for a cycle each, kernels end before the host has launched the next.
  const auto begin = Clock::now();
  for (std::int32_t i = 0; i < kLaunches; ++i) {
    enqueue_spin(queue_.stream(), 1);
  }
  queue_.finish();
  return {.gap_us = upper_median(std::move(gaps_us)), .host_us = us_since(begin) / kLaunches};
}

double CudaTimer::message_us(CudaTimer& other) {
  constexpr std::int64_t kBytes = 4;
  part_->activate();
  const std::unique_ptr<Memory> here = device_memory(queue_, kBytes, false);
  other.part_->activate();
  const std::unique_ptr<Memory> there = device_memory(other.queue_, kBytes, false);
  std::deque<CudaEvent> sent;
  std::deque<CudaEvent> answered;
  for (std::int32_t i = 0; i < kMessages; ++i) {
    sent.emplace_back(part_, false);
    answered.emplace_back(other.part_, false);
  }
  part_->activate();
  CudaEvent before(part_, true);
  CudaEvent after(part_, true);
  const auto wait = [](cudaStream_t stream, const CudaEvent& event) {
    check_cuda(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
  };
  hold_back([&] {
    before.record(queue_.stream());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      queue_.copy(there->data(), here->data(), kBytes);
      sent[i].record(queue_.stream());
      other.part_->activate();
      wait(other.queue_.stream(), sent[i]);
      other.queue_.copy(here->data(), there->data(), kBytes);
      answered[i].record(other.queue_.stream());
      part_->activate();
      wait(queue_.stream(), answered[i]);
    }
    after.record(queue_.stream());
  });
  other.queue_.finish();
  return us_between(before, after) / (2 * kMessages);
}

}  // namespace emplace::calibrate
