#pragma once

// A device whose ops write a hash of what they are and what they read, so that a test can tell
// whether every op read the right tensors at the right time, whatever the queues' threads did.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/sampling.hpp>

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace emplace::calibrate {

using Hash = std::uint64_t;

/// Mixes what an op is with what it reads.
inline Hash mix(Hash a, Hash b) {
  return (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U))) * 0xff51afd7U;
}

/// Hashes what an op computes, its inputs left out.
inline Hash hash_of(const Op& op) {
  Hash hash = std::hash<std::string>()(op.kind);
  for (const std::int64_t entry : op.shape) {
    hash = mix(hash, static_cast<Hash>(entry));
  }
  return hash;
}

class HashingMemory : public Memory {
 public:
  explicit HashingMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {}
  void* data() const override { return const_cast<std::byte*>(bytes_.data()); }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::vector<std::byte> bytes_;  // zeros
};

class HashingProgram : public OpProgram {
 public:
  explicit HashingProgram(OpSite site) : site_(std::move(site)) {}
  std::int64_t workspace_bytes() const override { return 8; }
  std::string_view library() const override { return "generic"; }

  /// Writes a hash for each output of at least 8 bytes.
  Hash run(const OpBuffers& buffers) const {
    Hash hash = hash_of(site_.op);
    for (std::size_t i = 0; i < buffers.inputs.size(); ++i) {
      Hash input = 0;
      if (site_.inputs[i].bytes >= 8) {
        std::memcpy(&input, buffers.inputs[i], sizeof(input));
      }
      hash = mix(hash, input);
    }
    std::memcpy(buffers.workspace, &hash, sizeof(hash));  // may be written at any time
    for (std::size_t i = 0; i < buffers.outputs.size(); ++i) {
      if (site_.op.outputs[i].bytes >= 8) {
        const Hash output = mix(hash, i);
        std::memcpy(buffers.outputs[i], &output, sizeof(output));
      }
    }
    return hash;
  }

 private:
  OpSite site_;
};

class HashingEvent : public Event {
 public:
  void wait_on_host() const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return happened_; });
  }
  void happen() {
    const std::lock_guard lock(mutex_);
    happened_ = true;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool happened_ = false;
};

/// Hashes of all ops that ran, in any order.
struct HashLog {
  std::mutex mutex;
  std::vector<Hash> hashes;
};

class HashingQueue : public Queue {
 public:
  HashingQueue(HashLog& log, std::function<void()>& before_run)
      : log_(log), before_run_(before_run), worker_([this] { work(); }) {}
  ~HashingQueue() override {
    push({});
    worker_.join();
  }

  void run(OpProgram& program, const OpBuffers& buffers) override {
    push([this, &program, buffers] {
      before_run_();
      const Hash hash = dynamic_cast<HashingProgram&>(program).run(buffers);
      const std::lock_guard lock(log_.mutex);
      log_.hashes.push_back(hash);
    });
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    push([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  std::shared_ptr<Event> record() override {
    auto event = std::make_shared<HashingEvent>();
    push([event] { event->happen(); });
    return event;
  }
  void wait(std::shared_ptr<Event> event) override {
    push([event] { event->wait_on_host(); });
  }
  void finish() override { record()->wait_on_host(); }

 private:
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_one();
  }
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !work_.empty(); });
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      if (!next) {
        return;
      }
      next();
    }
  }

  HashLog& log_;
  std::function<void()>& before_run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::thread worker_;
};

/// Times what a test tells it to.
class HashingDevice : public ComputeDevice {
 public:
  explicit HashingDevice(std::string name, DeviceKind kind = DeviceKind::kCpu) {
    facts_.kind = kind;
    facts_.name = std::move(name);
    facts_.device_class = kind == DeviceKind::kGpu ? "gpu-hashing" : "cpu-hashing";
    facts_.product = "a fake";
    facts_.peak_flops_per_us = 1e6;
    facts_.memory_bytes_per_us = 1e5;
    facts_.memory_bytes = max_bytes;
  }

  const DeviceFacts& facts() const override { return facts_; }
  std::unique_ptr<Memory> allocate(std::int64_t bytes, bool) override {
    if (bytes > max_bytes) {
      throw DeviceFailure(facts_.name + ": out of memory");
    }
    return std::make_unique<HashingMemory>(bytes);
  }
  std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool pinned) override {
    pinned_bytes += pinned ? bytes : 0;
    return allocate(bytes, false);
  }
  std::unique_ptr<OpProgram> compile(const OpSite& site) override {
    return site.op.kind == unsupported ? nullptr : std::make_unique<HashingProgram>(site);
  }
  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<HashingQueue>(log, before_run);
  }
  std::vector<TimedRun> time_runs(OpProgram&, const OpBuffers&, std::int32_t runs) override {
    return timed(runs);
  }
  std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                 std::int32_t runs) override {
    std::vector<std::vector<TimedRun>> times;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      times.push_back(timed(runs));
    }
    return times;
  }
  double launch_us() override { return 0; }

  HashLog log;
  std::string unsupported{};
  std::int64_t max_bytes = std::int64_t{1} << 34;
  /// Counts what was asked for as pinned memory of the host.
  std::int64_t pinned_bytes = 0;
  /// Is called by queues before each run; a test replaces it.
  std::function<void()> before_run = [] {};
  /// Returns the time of the next run; a test replaces it.
  std::function<TimedRun()> next_run = [] { return TimedRun{.us = 1}; };

 private:
  std::vector<TimedRun> timed(std::int32_t runs) const {
    std::vector<TimedRun> times;
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
