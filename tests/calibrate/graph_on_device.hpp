#pragma once

// A graph whose ops are run one after another on a device that computes in the host's memory, with
// numbers that a test sets and reads.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// Holds the tensors and programs of a graph.
class GraphOnDevice {
 public:
  /// Compiles all ops; fails the test, naming the op, where one can't be.
  GraphOnDevice(OpGraph graph, ComputeDevice& device);

  const OpGraph& graph() const { return graph_; }

  /// Returns the numbers of a float32 tensor.
  std::span<float> floats(Tensor tensor);

  /// Returns the numbers of an int32 tensor.
  std::span<std::int32_t> integers(Tensor tensor);

  /// Returns all bytes of a tensor.
  std::span<std::byte> bytes(Tensor tensor);

  /// Returns the float32 numbers of an op's state.
  std::span<float> state(OpId op);

  /// Runs each op once.
  void run();

 private:
  struct Step {
    std::unique_ptr<OpProgram> program;
    OpBuffers buffers;
  };

  OpGraph graph_;
  std::vector<std::vector<std::shared_ptr<Memory>>> tensors_;  // by op and output
  std::vector<std::shared_ptr<Memory>> states_;                // by op
  std::vector<std::unique_ptr<Memory>> workspaces_;
  std::vector<Step> steps_;
  std::unique_ptr<Queue> queue_;  // last: ends before what its work uses
};

}  // namespace emplace::calibrate
