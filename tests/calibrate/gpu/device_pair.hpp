#pragma once

// A GPU and the CPU that checks it, with memory of each for one op at a time.

#include <emplace/base/random.hpp>
#include <emplace/calibrate/cuda_device.hpp>
#include <emplace/calibrate/op_site.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns CUPTI, opened before all else in this program.
std::shared_ptr<ActivitySource> cupti();

/// Opens the GPUs of this machine; if there are none, why is in `missing`.
CudaDevices gpus(CudaOptions options = {});

/// Returns the CPU, all of it.
ComputeDevice& cpu();

/// Holds what a program reads and writes on one device, and how it got there.
class Tensors {
 public:
  /// Allocates the tensors of `site`, the outputs filled with ones in all bits: NaN, or -1.
  Tensors(ComputeDevice& device, const OpSite& site, const OpProgram& program);

  const OpBuffers& buffers() const { return buffers_; }

  /// Copies inputs and state from `bytes`, one after another, on `queue`.
  void fill(Queue& queue, const std::vector<std::vector<std::byte>>& bytes);
  /// Returns outputs and state.
  std::vector<std::vector<std::byte>> results(Queue& queue) const;

 private:
  struct Tensor {
    std::unique_ptr<Memory> memory;
    std::int64_t bytes;
  };
  Tensor add(ComputeDevice& device, std::int64_t bytes);

  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  Tensor state_;
  Tensor workspace_;
  OpBuffers buffers_;
};

/// Returns random inputs and state of `site`: float32 in [-1, 1), of bfloat16 as many; integers of
/// any size, which ops fold.
std::vector<std::vector<std::byte>> random_inputs(const OpSite& site);

/// Runs `site` once on `device` with these inputs; returns its outputs and state.
std::vector<std::vector<std::byte>> run_once(ComputeDevice& device, const OpSite& site,
                                             const std::vector<std::vector<std::byte>>& inputs);

/// Returns ||a - b|| / ||b|| of the numbers of two tensors; infinity where one is NaN.
double relative_error(DataType type, const std::vector<std::byte>& a,
                      const std::vector<std::byte>& b);

}  // namespace emplace::calibrate
