#pragma once

// The traces of PyTorch's profiler (Kineto), as torch.profiler exports them for Chrome: operators
// with their times, the kernels that they launched and, where recorded, the shapes of their inputs.
// Read are those of PyTorch 1.8 to 2.x, whose names of categories and members changed, and the bare
// list of events that builds without Kineto export.
//
// A kernel belongs to the operator with its "External id". Else its launch tells, the event of the
// runtime with the same "correlation": by its own "External id", or by its thread and time.

#include "pytorch_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::pytorch {

/// One operator or annotation in a trace of times; or a kernel that no operator launched, as those
/// of CUDA graphs, which is a call on a thread of its stream.
struct TimedCall {
  std::int64_t external = 0;  ///< "External id"; 0: none
  std::int64_t rf_id = 0;     ///< "Record function id"; 0: none
  std::size_t thread = 0;     ///< by first appearance
  bool is_annotation = false;
  double begin_us = 0;     ///< since any moment
  double duration_us = 0;  ///< on its thread
  double kernel_us = 0;    ///< sum over the kernels and copies that it launched itself
  std::vector<std::pair<double, std::size_t>> launches{};  ///< of kernels: begin, stream
  std::optional<std::size_t> parent{};                     ///< the call around it, by position
};

/// The bytes of an element whose type is not known.
inline constexpr std::int64_t kUnknownTypeBytes = 4;

/// Holds a trace of times.
struct KinetoTrace {
  /// In the order in which they began; calls before what they call. `nodes[i]` is `calls[i]` with
  /// its name and what is known of its inputs; its id is i + 1.
  std::vector<TracedNode> nodes{};
  std::vector<TimedCall> calls{};
  bool has_kernels = false;                    ///< some kernel is in the trace
  std::map<std::string, int> unknown_types{};  ///< how many inputs have each type that is not known
};

/// Reads a Kineto trace. Throws kFormat.
KinetoTrace read_kineto(std::string_view text, const std::string& source);

/// Returns for each node of an execution trace the position of its call in a Kineto trace of the
/// same run, or nothing. They are matched by "Record function id"; in traces that lack it by
/// "External id", if it is the name of the same operator; else by the sequence of their names.
/// Throws kFormat if none of these matches; `source` is the name of the Kineto trace.
std::vector<std::optional<std::size_t>> link_calls(std::span<const TracedNode> nodes,
                                                   const KinetoTrace& trace,
                                                   const std::string& source);

}  // namespace emplace::pytorch
