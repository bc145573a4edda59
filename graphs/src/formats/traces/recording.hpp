#pragma once

// What profilers of GPUs record of a run, and what follows from it: which operator or annotated
// range launched each kernel, and what streams and threads waited for. The readers of each format
// (kineto_trace.cpp, nsight_format.cpp) make a Recording; link_kernels() makes a KinetoTrace of it.
//
// A kernel belongs to the operator around its launch, the call of the runtime with the same
// correlation, on the launch's thread. An "External id" decides only where rounded times leave two
// operators, or where the launch is missing: in many traces of 2023 it is the number of the launch
// and not that of an operator.

#include "pytorch_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::pytorch {

/// A kernel or copy, as the order of streams needs it.
struct LaunchedKernel {
  double begin_us = 0;
  double launch_us = 0;                 ///< on the launch's thread; its begin where none is known
  std::optional<std::size_t> thread{};  ///< of the launch
  std::size_t stream = 0;               ///< by first appearance, among threads
  std::size_t device = 0;
};

/// One operator or annotation in a trace of times; or a kernel that no operator launched, as those
/// of CUDA graphs, which is a call on a thread of its stream, within the annotation around its
/// launch.
struct TimedCall {
  std::int64_t external = 0;  ///< "External id"; 0: none
  std::int64_t rf_id = 0;     ///< "Record function id"; 0: none
  std::size_t thread = 0;     ///< by first appearance
  bool is_annotation = false;
  bool is_kernel = false;
  bool lacks_kernels = false;  ///< it launched some that the trace does not have
  double begin_us = 0;         ///< since any moment
  double duration_us = 0;      ///< on its thread
  double kernel_us = 0;        ///< sum over the kernels and copies that it launched itself
  std::vector<LaunchedKernel> kernels{};
  std::optional<std::size_t> parent{};  ///< the call around it, by position
};

/// A wait for what had been launched on streams before a moment: of what was launched on a stream
/// after another moment, or by a thread.
struct StreamWait {
  std::optional<std::size_t> awaited{};  ///< stream; nothing: all of the device
  std::size_t device = 0;
  double recorded_us = 0;               ///< what was launched before is waited for
  std::optional<std::size_t> stream{};  ///< that waits; nothing: a thread does
  std::optional<std::size_t> thread{};  ///< that waits; nothing: all of them
  double waits_us = 0;                  ///< what is launched after waits
};

/// A kernel, copy or memset as it was recorded. Ids are 0 where there is none.
struct RecordedKernel {
  std::string name{};
  std::int64_t external = 0;
  std::int64_t correlation = 0;
  double begin_us = 0;
  double duration_us = 0;
  std::size_t stream = 0;
  std::size_t device = 0;
  std::int64_t bytes_read = 0;  ///< of copies, where they are known
  std::int64_t bytes_written = 0;
};

/// A call of the runtime or the driver.
struct Launch {
  std::int64_t external = 0;
  std::size_t thread = 0;
  double begin_us = 0;
  bool has_kernel = false;  ///< it is one that launches a kernel
};

/// What waits, and for what.
enum class WaitKind : std::uint8_t {
  kStreamForEvent,
  kThreadForEvent,
  kThreadForStream,
  kThreadForDevice
};

/// A synchronization as it was recorded.
struct RecordedWait {
  WaitKind kind = WaitKind::kThreadForDevice;
  std::int64_t correlation = 0;  ///< of the call that waits
  std::int64_t recorded = 0;     ///< of the record of the event that is waited for
  double begin_us = 0;
  double end_us = 0;
  std::size_t device = 0;   ///< whose streams are waited for
  std::size_t stream = 0;   ///< that waits, or that a thread waits for
  std::size_t awaited = 0;  ///< stream of the event
};

/// What a profiler recorded, in any order.
struct Recording {
  std::vector<TracedNode> nodes{};  ///< `nodes[i]` is `calls[i]` with its name and its inputs
  std::vector<TimedCall> calls{};
  std::vector<RecordedKernel> kernels{};
  std::vector<RecordedWait> waits{};
  std::map<std::pair<std::int64_t, double>, Launch> launches{};  ///< by correlation and begin
  std::map<std::string, int> unknown_types{};

  /// Returns the call of the runtime with that correlation, or null; of several the last that began
  /// before `begin_us`.
  const Launch* launch_of(std::int64_t correlation, double begin_us) const;
};

/// Numbers threads, streams and devices by first appearance.
template <class Key>
class Numbers {
 public:
  std::size_t of(const Key& key) {
    return numbers_.try_emplace(key, numbers_.size()).first->second;
  }

 private:
  std::map<Key, std::size_t> numbers_;
};

/// Holds a trace of times.
struct KinetoTrace {
  /// In the order in which they began; calls before what they call. `nodes[i]` is `calls[i]` with
  /// its name and what is known of its inputs; its id is i + 1.
  std::vector<TracedNode> nodes{};
  std::vector<TimedCall> calls{};
  std::vector<StreamWait> waits{};
  bool has_kernels = false;                    ///< some kernel is in the trace
  std::map<std::string, int> unknown_types{};  ///< how many inputs have each type that is not known
};

/// Finds who launched what. O((calls + kernels) log).
KinetoTrace link_kernels(Recording recording);

}  // namespace emplace::pytorch
