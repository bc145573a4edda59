#pragma once

// A device that really runs ops, behind one interface: some cores of the CPU, a GPU, or a part of a
// GPU. It runs OpPrograms, each made once for an op and then enqueued any number of times. Queues
// are in order, like CUDA streams.
//
// Nothing here is thread-safe, except that queues of one device may be used by different threads.
// A failure of the hardware or a library throws DeviceFailure; the caller drops the sample or ends.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::calibrate {

/// Reports what a device or one of its libraries could not do: which call, on what, and why.
class DeviceFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports a failure after which the device runs nothing any more in this process, such as an
/// illegal address: measuring ends, and keeps what it has.
class DeviceLost : public DeviceFailure {
 public:
  using DeviceFailure::DeviceFailure;
};

/// Distinguishes a GPU, which has its own memory, from CPU cores, which use the host's.
enum class DeviceKind : std::uint8_t { kCpu, kGpu };

/// Describes a device, as its makers and drivers specify it.
struct DeviceFacts {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name{};               ///< in clusters: "gpu:0", "cpu:0"
  std::string device_class{};       ///< as in DeviceProfile: "gpu-nvidia-h200"
  std::string product{};            ///< "NVIDIA H200"
  double peak_flops_per_us = 0;     ///< in float32
  double tf32_flops_per_us = 0;     ///< if convolutions and products of float32 use TF32; else 0
  double float16_flops_per_us = 0;  ///< in float16 and bfloat16, if faster than float32; else 0
  double memory_bytes_per_us = 0;   ///< of the device's own memory
  std::int64_t memory_bytes = 0;    ///< that a program may use, with its context
  std::int64_t context_bytes = 0;   ///< of these, what was in use when the context had started
  std::int32_t compute_units = 1;   ///< multiprocessors or cores
  std::string pci_bus_id{};         ///< of a GPU, as Linux names it: "0000:3b:00.0"
  /// Driver, libraries and their versions, precision, for provenance: "driver 580.159,
  /// cuDNN 9.13".
  std::string software{};
};

/// Owns memory of a device (or pinned or pageable memory of the host) and gives it back.
class Memory {
 public:
  /// Takes `bytes` bytes, which `free` gives back.
  Memory(void* data, std::int64_t bytes, void (*free)(void*)) : data_(data, free), bytes_(bytes) {}
  void* data() const { return data_.get(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
  std::int64_t bytes_;
};

/// What a program reads and writes: addresses in the device's memory.
struct OpBuffers {
  std::vector<const void*> inputs{};  ///< as OpSite::inputs
  std::vector<void*> outputs{};       ///< as Op::outputs
  void* state = nullptr;              ///< Op::persistent_bytes of an op that is no variable (slots)
  void* workspace = nullptr;          ///< OpProgram::workspace_bytes()
};

/// An op made ready to run on one device.
class OpProgram {
 public:
  virtual ~OpProgram() = default;
  /// Returns the scratch memory that a run needs.
  virtual std::int64_t workspace_bytes() const = 0;
  /// Returns what computes it: "cudnn", "cublas", "onednn", "reference" for plain loops that
  /// are not optimized, or "generic" for what only moves as much memory as the op does.
  virtual std::string_view library() const = 0;
};

/// Runs work in order, asynchronously.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Enqueues a run of `program`, which this queue's device compiled; it and the memory must
  /// outlive the run.
  virtual void run(OpProgram& program, const OpBuffers& buffers) = 0;
  /// Enqueues a copy between any two places that this machine's devices allocated.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Blocks until all work has ended; throws DeviceFailure if some of it failed.
  virtual void finish() = 0;
};

/// Whether a timed run counts.
enum class RunQuality : std::uint8_t {
  kGood,
  kThrottled,  ///< the device ran below the clock that it holds under load
  kLost,       ///< the profiler dropped its records
};

/// The time for which one run occupied the device.
struct TimedRun {
  double us = 0;
  RunQuality quality = RunQuality::kGood;
  double mhz = 0;  ///< at which the device ran meanwhile; 0: unknown
};

/// Where the data of a run is when it begins.
enum class Caches : std::uint8_t {
  kCold,  ///< in memory: the caches hold other data, which need not be written back
  kWarm,  ///< where the run before left it
};

/// What launching kernels one after the other takes in addition to the kernels.
struct Launch {
  double gap_us = 0;   ///< the device pauses between two kernels
  double host_us = 0;  ///< the host is busy with each; 0: it runs them itself
};

/// What is copied from where to where.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
};

/// A device that runs ops.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// Returns memory of the device, filled with random numbers in [-1, 1) read as float32 if
  /// `random`, because speeds depend on the numbers; throws DeviceFailure if there is not enough.
  virtual std::unique_ptr<Memory> allocate(std::int64_t bytes, bool random) = 0;
  /// Returns host memory for copies from and to this device: pinned for it, or pageable.
  virtual std::unique_ptr<Memory> allocate_on_host(std::int64_t bytes, bool pinned) = 0;
  /// Returns a program for `site`, or null if nothing here runs ops of its kind or type.
  virtual std::unique_ptr<OpProgram> compile(const OpSite& site) = 0;
  virtual std::unique_ptr<Queue> make_queue() = 0;
  /// Runs `program` `runs` times, and returns how long each run occupied the device, without the
  /// launch. A device that was told when to stop may return fewer.
  virtual std::vector<TimedRun> time_runs(OpProgram& program, const OpBuffers& buffers,
                                          std::int32_t runs, Caches caches) = 0;
  /// Runs `copies`, which all start or end at this device, at the same time, `runs` times, and
  /// returns for each copy how long its runs took, without the launch if the device can separate
  /// it. May stop as time_runs() does.
  virtual std::vector<std::vector<TimedRun>> time_copies(std::span<const Copy> copies,
                                                         std::int32_t runs) = 0;
  /// Returns what a launch takes when launches follow one another.
  virtual Launch launches() = 0;
  /// Returns how long a message of four bytes takes to `other`, which waits for it, on average over
  /// many there and back: microseconds. None if the two cannot wait for each other.
  virtual std::optional<double> message_us(ComputeDevice& other) = 0;
  /// Returns why runs were throttled so far: "power cap"; empty if nobody knows, or none was.
  virtual std::string throttled_by() const { return ""; }
};

/// Says whether a device is a GPU, or a part of one.
inline bool is_gpu(const ComputeDevice* device) { return device->facts().kind == DeviceKind::kGpu; }

}  // namespace emplace::calibrate
