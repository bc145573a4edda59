#pragma once

// A device that runs nothing and takes the times that a test tells it.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/sampling.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::calibrate {

class FakeProgram : public OpProgram {
 public:
  std::int64_t workspace_bytes() const override { return 8; }
  std::string_view library() const override { return "generic"; }
};

class FakeQueue : public Queue {
 public:
  void run(OpProgram&, const OpBuffers&) override {}
  void copy(void*, const void*, std::int64_t) override {}
  void finish() override {}
};

/// Times what a test tells it to.
class FakeDevice : public ComputeDevice {
 public:
  explicit FakeDevice(std::string name, DeviceKind kind = DeviceKind::kCpu) {
    facts_.kind = kind;
    facts_.name = std::move(name);
    facts_.device_class = kind == DeviceKind::kGpu ? "gpu-fake" : "cpu-fake";
    facts_.product = "a fake";
    facts_.peak_flops_per_us = 1e6;
    facts_.memory_bytes_per_us = 1e5;
    facts_.memory_bytes = max_bytes;
  }

  const DeviceFacts& facts() const override { return facts_; }
  void set_pci_bus_id(std::string id) { facts_.pci_bus_id = std::move(id); }
  std::unique_ptr<Memory> allocate(std::int64_t bytes, bool) override {
    if (bytes > max_bytes) {
      throw DeviceFailure(facts_.name + ": out of memory");
    }
    return std::make_unique<Memory>(nullptr, bytes, [](void*) {});
  }
  std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool) override {
    return allocate(bytes, false);
  }
  std::unique_ptr<OpProgram> compile(const OpSite& site) override {
    return site.op.kind == unsupported ? nullptr : std::make_unique<FakeProgram>();
  }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<FakeQueue>(); }
  std::vector<TimedRun> time_runs(OpProgram&, const OpBuffers&, std::int32_t runs,
                                  Caches caches) override {
    return caches == Caches::kWarm ? std::vector<TimedRun>(static_cast<std::size_t>(runs), warm_run)
                                   : timed(runs);
  }
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                 std::int32_t runs) override {
    std::vector<std::vector<TimedRun>> times;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      times.push_back(timed(runs));
    }
    return times;
  }
  Launch launches() override { return {}; }
  std::optional<double> message_us(ComputeDevice&) override { return message; }
  std::string throttled_by() const override { return reasons; }

  std::string unsupported{};
  std::int64_t max_bytes = std::int64_t{1} << 34;
  /// What a message takes; none if it cannot wait for another device.
  std::optional<double> message{};
  /// Why runs were throttled.
  std::string reasons{};
  /// What each run with warm caches takes.
  TimedRun warm_run{.us = 1};
  /// Returns the time of the next run with cold ones; a test replaces it.
  std::function<TimedRun()> next_run = [] { return TimedRun{.us = 1}; };

 private:
  std::vector<TimedRun> timed(std::int32_t runs) const {
    std::vector<TimedRun> times;
    times.reserve(static_cast<std::size_t>(runs));
    for (std::int32_t i = 0; i < runs; ++i) {
      times.push_back(next_run());
    }
    return times;
  }

  DeviceFacts facts_;
};

/// Ignores what calibration says of its progress.
inline const Progress kSilent = [](const ProgressNote&) {};

}  // namespace emplace::calibrate
