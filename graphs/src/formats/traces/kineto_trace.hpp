#pragma once

// The traces of PyTorch's profiler (Kineto), as torch.profiler exports them for Chrome: operators
// with their times, the kernels that they launched and, where recorded, the shapes of their inputs.
// Read are those of PyTorch 1.8 to 2.x, whose names of categories and members changed, and the bare
// list of events that builds without Kineto export.
//
// A kernel belongs to the operator around its launch, the event of the runtime with the same
// "correlation", on the launch's thread. An "External id" decides only where rounded times leave
// two operators, or where the launch is missing: in many traces of 2023 it is the number of the
// launch and not that of an operator.

#include "pytorch_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
/// of CUDA graphs, which is a call on a thread of its stream.
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

/// Reads a Kineto trace. Throws kFormat.
KinetoTrace read_kineto(std::string_view text, const std::string& source);

}  // namespace emplace::pytorch
