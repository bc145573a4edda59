#include "../cpu/near_cores.hpp"
#include "gpu_device.hpp"
#include "gpu_monitor.hpp"
#include "memory_kernels.hpp"

#include <emplace/base/quantiles.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <future>
#include <limits>
#include <optional>
#include <stdexcept>
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

// Says whether the host copies it itself.
bool is_pageable(const void* memory) {
  return attributes_of(memory).type == cudaMemoryTypeUnregistered;
}

// The GPU whose memory it is.
std::optional<std::int32_t> gpu_of(const void* memory) {
  const cudaPointerAttributes attributes = attributes_of(memory);
  return attributes.type == cudaMemoryTypeDevice ? std::optional(attributes.device) : std::nullopt;
}

// Copies of pageable memory, each made and timed by a thread of its own.
std::vector<std::vector<TimedRun>> time_copies_of_host(std::span<const Copy> copies,
                                                       std::deque<CudaQueue>& queues,
                                                       std::int32_t runs) {
  std::barrier together(std::ssize(copies));
  const auto copy_runs = [&](std::size_t i) {
    // One that fails does not keep the others waiting.
    const std::unique_ptr<decltype(together), void (*)(decltype(together)*)> leave(
        &together, [](auto* barrier) { barrier->arrive_and_drop(); });
    std::vector<TimedRun> timed;
    for (std::int32_t run = 0; run < runs; ++run) {
      together.arrive_and_wait();
      const auto begin = Clock::now();
      queues[i].copy(copies[i].to, copies[i].from, copies[i].bytes);
      queues[i].finish();
      timed.push_back({.us = us_since(begin)});
    }
    return timed;
  };
  std::vector<std::future<std::vector<TimedRun>>> threads;
  try {
    while (threads.size() < copies.size()) {
      threads.push_back(std::async(std::launch::async, copy_runs, threads.size()));
    }
  } catch (const std::system_error& error) {
    for (std::size_t missing = threads.size(); missing < copies.size(); ++missing) {
      together.arrive_and_drop();
    }
    throw DeviceFailure(fmt::format("the system allows {} of {} threads that copies need: {}",
                                    threads.size(), copies.size(), error.code().message()));
  }
  std::vector<std::vector<TimedRun>> timed;
  timed.reserve(threads.size());
  for (auto& thread : threads) {
    timed.push_back(thread.get());
  }
  return timed;
}

}  // namespace

// Marks where work begins and ends in a stream, and names it.
struct CudaDevice::Mark {
  explicit Mark(const std::shared_ptr<const GpuPart>& part)
      : before(part, true), after(part, true) {}

  CudaEvent before;
  CudaEvent after;
  std::uint64_t id = next_id();
};

void CudaDevice::cool_caches() {
  if (cache_filler_ == nullptr) {
    const std::int64_t cache_bytes = part_->attribute(cudaDevAttrL2CacheSize);
    cache_filler_ = device_memory(queue_, std::max(2 * cache_bytes, std::int64_t{16}), true);
  }
  enqueue_read(queue_.stream(), cache_filler_->data(), cache_filler_->bytes());
}

void CudaDevice::enqueue_load(const CudaProgram& program, const OpBuffers& buffers) {
  for (std::int32_t run = 0; run < kHeldRuns; ++run) {
    program.enqueue(queue_, buffers);
    enqueue_spin(queue_.stream(), kCyclesOfUnit);
  }
}

void CudaDevice::ask_for_reasons(const CudaProgram& program, const OpBuffers& buffers) {
  if (GpuMonitor* const monitor = nvml_monitor(); monitor != nullptr) {
    enqueue_load(program, buffers);
    clock_reasons_ |= monitor->clock_reasons(facts_.pci_bus_id);
    queue_.finish();
  }
}

void CudaDevice::hold_load(const CudaProgram& program, const OpBuffers& buffers) {
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

void CudaDevice::begin_together(const std::function<void()>& enqueue) {
  const std::unique_ptr<StreamGate, void (*)(StreamGate*)> open(
      &gate_, [](StreamGate* gate) { gate->open(); });
  enqueue();
}

void CudaDevice::hold_back(const std::function<void()>& enqueue) {
  begin_together([&] {
    gate_.hold(queue_.stream());
    enqueue();
  });
  queue_.finish();
}

void CudaDevice::enqueue_marked(Mark& mark, CudaQueue& queue,
                                const std::function<void()>& enqueue) {
  mark.before.record(queue.stream());
  if (activities_ != nullptr) {
    const ExternalId id(*activities_, mark.id);
    enqueue();
  } else {
    enqueue();
  }
  mark.after.record(queue.stream());
}

std::vector<TimedRun> CudaDevice::times_of(const std::deque<Mark>& marks) {
  std::vector<TimedRun> runs;
  if (activities_ != nullptr) {
    std::vector<std::uint64_t> ids;
    ids.reserve(marks.size());
    for (const Mark& mark : marks) {
      ids.push_back(mark.id);
    }
    try {
      const auto times = times_of_runs(activities_->take(), ids);
      for (const std::uint64_t id : ids) {
        const DeviceTime& time = times.at(id);
        const bool is_lost = time.records == 0 || time.lost > 0;
        runs.push_back(is_lost ? TimedRun{.quality = RunQuality::kLost}
                               : TimedRun{.us = time.busy_us});
      }
      return runs;
    } catch (const std::runtime_error& failure) {  // or records that nobody understands
      facts_.software += fmt::format("; CUPTI failed, then CUDA events timed: {}", failure.what());
      activities_ = nullptr;
      runs.clear();
    }
  }
  for (const Mark& mark : marks) {  // events have seen the same runs
    runs.push_back({.us = mark.after.us_since(mark.before)});
  }
  return runs;
}

std::vector<TimedRun> CudaDevice::time_some(const CudaProgram& program, const OpBuffers& buffers,
                                            std::int32_t runs, Caches caches) {
  auto* const stamps = static_cast<ClockStamp*>(stamps_->data());
  std::deque<Mark> marks;
  for (std::int32_t run = 0; run < runs; ++run) {
    marks.emplace_back(part_);
  }
  hold_back([&] {
    for (std::size_t run = 0; run < marks.size(); ++run) {
      enqueue_stamp(queue_.stream(), &stamps[2 * run]);
      if (caches == Caches::kCold) {
        cool_caches();
      }
      enqueue_marked(marks[run], queue_, [&] { program.enqueue(queue_, buffers); });
      enqueue_stamp(queue_.stream(), &stamps[2 * run + 1]);
    }
  });
  std::vector<TimedRun> timed = times_of(marks);
  std::vector<ClockStamp> seen(2 * marks.size());
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

std::vector<TimedRun> CudaDevice::time_runs(OpProgram& any, const OpBuffers& buffers,
                                            std::int32_t runs, Caches caches) {
  const auto& program = static_cast<const CudaProgram&>(any);
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

std::vector<std::vector<TimedRun>> CudaDevice::time_copies(std::span<const Copy> copies,
                                                           std::int32_t runs) {
  const NearCores near(facts_.pci_bus_id);
  std::deque<CudaQueue> queues;  // one for each copy
  bool is_by_host = false;
  for (const Copy& copy : copies) {
    const std::optional<std::int32_t> from = gpu_of(copy.from);
    const std::int32_t gpu = from ? *from : gpu_of(copy.to).value_or(part_->ordinal());
    queues.emplace_back(gpu == part_->ordinal() ? part_ : part_->whole_gpu(gpu));
    queues.back().copy(copy.to, copy.from, copy.bytes);  // the first copy sets things up
    is_by_host = is_by_host || is_pageable(copy.to) || is_pageable(copy.from);
  }
  for (CudaQueue& queue : queues) {
    queue.finish();
  }
  if (is_by_host) {
    return time_copies_of_host(copies, queues, runs);
  }
  std::vector<std::vector<TimedRun>> timed(copies.size());
  for (std::int32_t run = 0; run < runs; ++run) {
    std::deque<Mark> marks;
    for (const CudaQueue& queue : queues) {
      marks.emplace_back(queue.shared_part());
    }
    begin_together([&] {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        queues[i].part().activate();
        gate_.hold(queues[i].stream());
        enqueue_marked(marks[i], queues[i],
                       [&] { queues[i].copy(copies[i].to, copies[i].from, copies[i].bytes); });
      }
    });
    for (CudaQueue& queue : queues) {
      queue.finish();
    }
    const std::vector<TimedRun> of_copies = times_of(marks);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      timed[i].push_back(of_copies[i]);
    }
  }
  return timed;
}

double CudaDevice::trial_us(const CudaProgram& program, const OpBuffers& buffers) {
  constexpr int kTrialRuns = 3;
  CudaEvent before(part_, true);
  CudaEvent after(part_, true);
  double best = std::numeric_limits<double>::infinity();
  try {
    for (int run = 0; run <= kTrialRuns; ++run) {
      before.record(queue_.stream());
      program.enqueue(queue_, buffers);
      after.record(queue_.stream());
      queue_.finish();
      if (run > 0) {  // the first loads the kernel
        best = std::min(best, after.us_since(before));
      }
    }
  } catch (const DeviceFailure&) {
    queue_.finish();  // throws if the GPU itself is lost
  }
  return best;
}

double CudaDevice::chain_us(int kernels, int units) {
  CudaEvent before(part_, true);
  CudaEvent after(part_, true);
  hold_back([&] {
    before.record(queue_.stream());
    for (int i = 0; i < kernels; ++i) {
      enqueue_spin(queue_.stream(), units * kCyclesOfUnit);
    }
    after.record(queue_.stream());
  });
  return after.us_since(before);
}

Launch CudaDevice::launches() {
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

std::optional<double> CudaDevice::message_us(ComputeDevice& any) {
  auto* const gpu = dynamic_cast<CudaDevice*>(&any);
  if (gpu == nullptr) {
    return std::nullopt;
  }
  CudaDevice& other = *gpu;
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
  return after.us_since(before) / (2 * kMessages);
}

}  // namespace emplace::calibrate
