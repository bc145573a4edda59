#pragma once

// What PyTorch's ExecutionTraceObserver records of a run: operators with their tensors.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::pytorch {

/// A tensor as an operator sees it. Tensors of one storage share memory.
struct TensorUse {
  std::int64_t id = 0;
  std::int64_t storage = 0;
  std::int64_t offset = 0;  ///< of its first element within the storage, in elements
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> shape{};
  std::size_t argument = 0;  ///< of the operator; those of a list share one
};

/// One operator that ran, or a scope.
struct TracedNode {
  std::int64_t id = 0;      ///< in the order in which operators began
  std::int64_t parent = 0;  ///< the operator or scope that called it
  std::int64_t rf_id = 0;   ///< "Record function id" of Kineto
  std::string name{};
  bool is_operator = false;  ///< and not a scope or a function of autograd
  std::vector<TensorUse> inputs{};
  std::vector<TensorUse> outputs{};
  std::vector<std::vector<std::int64_t>>
      settings{};                ///< lists of integers among its inputs, in order
  std::vector<bool> switches{};  ///< truth values among its inputs, in order
};

/// Says whether `name` is that of an operator ("aten::add"), and not of a function of autograd.
bool is_operator_name(std::string_view name);

/// Says whether the operator writes to the input `tensor`, as its name tells: "aten::add_" to its
/// first argument, "aten::_fused_adam_" to all but the gradients.
bool writes_input(const TracedNode& node, const TensorUse& tensor);

/// Reads an execution trace, schema 1.0 or 1.1; nodes sorted by id. Operators on lists in place
/// tell no outputs; they get those that they write. Throws kFormat.
std::vector<TracedNode> read_execution_trace(std::string_view text, const std::string& source);

}  // namespace emplace::pytorch
