#pragma once

// What a traced run holds in memory from one step to the next: parameters, and the state of
// normalizations and optimizers. A trace names neither, but it shows how they are used. A tensor
// that no operator made before it was first read came from outside of the trace.
//
// - It is a parameter if the forward pass reads it and an optimizer writes to it. Without an
//   optimizer it is one if an operator of the forward pass reads it where its weights are: the
//   second and third argument of aten::conv2d, say.
// - It is state if anything of the update or the backward pass writes to it (moments, gradients
// that
//   are kept), if it counts steps or holds the statistics of a normalization, or if it is a weight
//   that the trace's optimizer does not train.
// - Else it is an input.
//
// Parameters may share one storage, as those of cuDNN's LSTM do, each at its own offset.

#include "pytorch_trace.hpp"

#include <emplace/graphs/op.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace emplace::pytorch {

/// Says what a tensor from outside of the trace is.
enum class Origin : std::uint8_t { kInput, kState, kParameter };

/// A part of a storage: the storage and the offset of its first element.
using Place = std::pair<std::int64_t, std::int64_t>;

/// Holds the tensors that came from outside of a trace.
class TraceState {
 public:
  /// Holds none.
  TraceState() = default;

  /// Finds them in `nodes`, of which `phase` says the parts of the step. O(tensors log tensors).
  TraceState(std::span<const TracedNode> nodes, std::span<const Phase> phase);

  /// Returns the part of its storage where the tensor begins: that of one tensor from outside, or
  /// else all of the storage.
  Place place_of(const TensorUse& tensor) const;

  /// Returns what the tensor from outside that begins at `place` is; kInput if there is none.
  Origin origin_of(Place place) const;

 private:
  struct Held {
    std::int64_t end = 0;  // offset behind its last element
    bool forward_reads = false;
    bool update_writes = false;
    bool step_writes = false;
    bool is_weight = false;
    bool is_statistic = false;
  };

  void add(const TensorUse& tensor, bool is_view);
  Held* find(const TensorUse& tensor);

  std::map<std::int64_t, std::map<std::int64_t, Held>> held_;  // by storage, by offset
  bool is_trained_ = false;
};

}  // namespace emplace::pytorch
