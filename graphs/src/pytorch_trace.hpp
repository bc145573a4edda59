#pragma once

// What PyTorch records of a run: the ExecutionTraceObserver's JSON (operators with their tensors)
// and the times in a Kineto trace of the same run.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::pytorch {

/// A tensor as an operator sees it.
struct TensorUse {
  std::int64_t id = 0;
  std::int64_t storage = 0;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> shape{};
};

/// One operator that ran.
struct Node {
  std::int64_t id = 0;      ///< in the order in which operators began
  std::int64_t parent = 0;  ///< the operator or scope that called it
  std::int64_t rf_id = 0;   ///< "Record function id" of Kineto
  std::string name{};
  std::vector<TensorUse> inputs{};
  std::vector<TensorUse> outputs{};
  std::vector<std::vector<std::int64_t>>
      settings{};  ///< lists of integers among its inputs, in order
};

/// Reads an execution trace, schema 1.0 or 1.1; nodes sorted by id. Throws kFormat.
std::vector<Node> read_execution_trace(std::string_view text, const std::string& source);

/// Holds times in microseconds by "Record function id".
struct Times {
  std::map<std::int64_t, double> cpu_us{};  ///< from begin to end
  std::map<std::int64_t, double>
      kernel_us{};  ///< sum over the kernels and copies it launched itself
};

/// Reads a Kineto trace. Throws kFormat; also where no event has a "Record function id".
Times read_kineto(std::string_view text, const std::string& source);

}  // namespace emplace::pytorch
