#include "../device_figures.hpp"
#include "cpu_program.hpp"
#include "host_facts.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/calibrate/cpu_device.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <new>
#include <optional>
#include <utility>

namespace emplace::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Vectors of 64 bytes are read fastest from whole lines.
constexpr std::align_val_t kAlignment{64};

std::unique_ptr<Memory> host_memory(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* const data = ::operator new(size, kAlignment, std::nothrow);
  if (data == nullptr) {
    throw DeviceFailure(fmt::format("the host has no {} bytes of memory left", bytes));
  }
  return std::make_unique<Memory>(data, bytes,
                                  [](void* own) { ::operator delete(own, kAlignment); });
}

// Fills memory with random numbers; beyond the first 64k they repeat, which no rate depends on.
// Gigabytes take seconds, so it ends early when `is_stopped` says so.
void fill_randomly(void* data, std::int64_t bytes, const std::function<bool()>& is_stopped) {
  constexpr std::int64_t kNumbers = 1 << 16;
  constexpr std::int64_t kBlock = kNumbers * std::int64_t{sizeof(float)};
  RandomStream random(1);
  std::vector<float> numbers(static_cast<std::size_t>(std::min(kNumbers, bytes / 4 + 1)));
  for (float& number : numbers) {
    number = static_cast<float>(2 * random.uniform() - 1);
  }
  for (std::int64_t begin = 0; begin < bytes && !is_stopped(); begin += kBlock) {
    std::memcpy(static_cast<char*>(data) + begin, numbers.data(),
                static_cast<std::size_t>(std::min(kBlock, bytes - begin)));
  }
}

CpuProgram& of_cpu(OpProgram& program) {
  auto* own = dynamic_cast<CpuProgram*>(&program);
  EMPLACE_CHECK(own != nullptr, "a program that a CPU device did not compile");
  return *own;
}

class CpuQueue final : public Queue {
 public:
  CpuQueue(std::span<const int> cores, const std::atomic<bool>* stop) : worker_(cores, stop) {}

  void run(OpProgram& program, const OpBuffers& buffers) override {
    worker_.add(
        [&own = of_cpu(program), buffers](const CoreTeam& team) { own.run(team, buffers); });
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    worker_.add([=](const CoreTeam&) { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void finish() override { worker_.finish(); }

 private:
  Worker worker_;
};

class CpuDevice final : public ComputeDevice {
 public:
  CpuDevice(std::string name, std::span<const int> cores, const std::atomic<bool>* stop)
      : name_(std::move(name)),
        cores_(cores.begin(), cores.end()),
        stop_(stop),
        team_(static_cast<int>(cores.size())),
        memory_bytes_(host_memory_bytes() / std::ssize(usable_cores()) * std::ssize(cores_)) {}

  const DeviceFacts& facts() const override {
    if (!facts_) {
      facts_ = find_facts();
    }
    return *facts_;
  }

  std::unique_ptr<Memory> allocate(std::int64_t bytes, bool random) override {
    if (bytes > memory_bytes_) {
      throw DeviceFailure(
          fmt::format("{} has {} bytes of memory, asked for {}", name_, memory_bytes_, bytes));
    }
    auto memory = host_memory(bytes);
    if (random) {
      fill_randomly(memory->data(), bytes, [this] { return is_stopped(); });
    }
    return memory;
  }

  // All memory of the host is alike to its cores.
  std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool) override {
    return allocate(bytes, true);
  }

  std::unique_ptr<OpProgram> compile(const OpSite& site) override {
    return compile_for_cpu(site, team_);
  }

  std::unique_ptr<Queue> make_queue() override { return std::make_unique<CpuQueue>(cores_, stop_); }

  std::vector<TimedRun> time_runs(OpProgram& program, const OpBuffers& buffers, std::int32_t runs,
                                  Caches caches) override {
    CpuProgram& own = of_cpu(program);
    std::vector<TimedRun> times;
    Worker worker(cores_);
    worker.add([&](const CoreTeam& team) {
      while (std::ssize(times) < runs && !is_stopped()) {
        if (caches == Caches::kCold) {
          own.evict(team, buffers);
        }
        const auto begin = Clock::now();
        own.run(team, buffers);
        times.push_back({.us = us_since(begin)});
      }
    });
    worker.finish();
    return times;
  }

  // Each copy is one thread's, on a core of its own as far as there are so many.
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                 std::int32_t runs) override {
    std::vector<std::vector<TimedRun>> times(copies.size());
    bool is_ended = is_stopped();  // for all copies at once, so that none waits for another
    std::barrier together(std::ssize(copies), [&]() noexcept { is_ended = is_stopped(); });
    // All before the first task, which would wait for ever for one that cannot be started.
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const int core = cores_[i % cores_.size()];
      workers.push_back(std::make_unique<Worker>(std::span(&core, 1)));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      workers[i]->add([&, i](const CoreTeam& team) {
        // Nor does one that fails keep the others waiting.
        const std::unique_ptr<decltype(together), void (*)(decltype(together)*)> leave(
            &together, [](auto* barrier) { barrier->arrive_and_drop(); });
        while (std::ssize(times[i]) < runs && !is_ended) {
          evict(team, copies[i].from, copies[i].bytes);
          evict(team, copies[i].to, copies[i].bytes);
          together.arrive_and_wait();
          const auto begin = Clock::now();
          std::memcpy(copies[i].to, copies[i].from, static_cast<std::size_t>(copies[i].bytes));
          times[i].push_back({.us = us_since(begin)});
          together.arrive_and_wait();
        }
      });
    }
    for (const auto& worker : workers) {
      worker->finish();
    }
    return times;
  }

  Launch launches() override {
    constexpr int kLaunches = 2000;
    Worker worker(cores_);
    std::latch all_are_there(1);
    Clock::time_point begin;
    Clock::time_point end;
    worker.add([&](const CoreTeam&) {
      all_are_there.wait();
      begin = Clock::now();
    });
    for (int i = 0; i < kLaunches; ++i) {
      worker.add([&](const CoreTeam&) { end = Clock::now(); });
    }
    all_are_there.count_down();
    worker.finish();
    return {.gap_us = std::chrono::duration<double, std::micro>(end - begin).count() / kLaunches};
  }

  // Its copies are timed with all that they need.
  std::optional<double> message_us(ComputeDevice&) override { return std::nullopt; }

 private:
  DeviceFacts find_facts() const {
    DeviceFacts facts{.kind = DeviceKind::kCpu, .name = name_, .product = processor_name()};
    facts.device_class = device_class_of("cpu", facts.product);
    facts.memory_bytes = memory_bytes_;
    facts.compute_units = static_cast<std::int32_t>(cores_.size());
    const std::string library = onednn_version();
    facts.software =
        fmt::format("{}, float32", library.empty() ? "plain loops without oneDNN" : library);
    Worker worker(cores_);
    worker.add([&](const CoreTeam& team) {
      facts.peak_flops_per_us = measure_flops_per_us(team);
      facts.memory_bytes_per_us = measure_memory_bytes_per_us(team);
    });
    worker.finish();
    return facts;
  }

  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  std::string name_;
  std::vector<int> cores_;
  const std::atomic<bool>* stop_;
  CoreTeam team_;
  std::int64_t memory_bytes_;
  mutable std::optional<DeviceFacts> facts_;
};

}  // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw DeviceFailure("sched_getaffinity: the system does not report which cores may be used");
  }
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) {
      cores.push_back(static_cast<int>(core));
    }
  }
  return cores;
}

std::unique_ptr<ComputeDevice> make_cpu_device(std::string name, std::span<const int> cores,
                                               const std::atomic<bool>* stop) {
  EMPLACE_CHECK(!cores.empty(), "device {} has no cores", name);
  const std::vector<int> usable = usable_cores();
  for (const int core : cores) {
    if (!std::ranges::binary_search(usable, core)) {
      throw DeviceFailure(fmt::format("{}: core {} may not be used by this process", name, core));
    }
  }
  return std::make_unique<CpuDevice>(std::move(name), cores, stop);
}

}  // namespace emplace::calibrate
