#pragma once

// Ways to run a convolution on cuDNN. Maps, filters and results lie in memory as graphs say:
// [N, C, H, W] and [K, C, R, S], row by row, because all other ops expect them so. Tensor cores
// work along channels; engines that use them transpose maps on their way, which costs time beside
// networks that keep channels innermost everywhere. Products are summed in float32.
//
// cuDNN's heuristics list engines, the likely fastest first. Left out are engines that round
// float32 more than asked for, that must be compiled first (seconds each), or that need too
// much workspace. The list needs a description of the GPU, not the GPU.

#include "../library_site.hpp"
#include "cuda_libraries.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate {

/// Owns a descriptor of cuDNN, of whatever kind.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : library_(other.library_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  /// Sets an attribute to `count` values; throws DeviceFailure.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values,
           std::int64_t count = 1);
  /// Sets an attribute to another descriptor.
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  /// Reads at most `most` values of an attribute; returns how many there are. Throws DeviceFailure.
  std::int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    void* values, std::size_t most = 1) const;
  /// Completes it; throws DeviceFailure.
  void finalize();
  /// Completes it, or says that cuDNN refuses.
  bool try_finalize();

 private:
  const CudnnLibrary* library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

/// Describes GPU `device` of this machine to cuDNN.
CudnnDescriptor describe_gpu(const CudnnLibrary& library, std::int32_t device);

/// Describes a GPU to cuDNN that need not be there, by the JSON that cuDNN writes of one that is.
CudnnDescriptor describe_gpu(const CudnnLibrary& library, const std::string& json);

/// Says what a plan is for.
struct ConvolutionRequest {
  ConvolutionSite site{};            ///< of float32, float16 or bfloat16
  bool tf32 = true;                  ///< lets float32 be rounded to TF32
  std::int64_t workspace_limit = 0;  ///< bytes
  std::int32_t multiprocessors = 0;  ///< of which a part has so many; 0: all
};

/// Holds a way to run a convolution.
struct ConvolutionPlan {
  CudnnDescriptor plan;
  std::int64_t workspace_bytes = 0;
};

/// Returns at most `count` plans for `request`, the likely fastest first; none if cuDNN has no
/// engine for it.
std::vector<ConvolutionPlan> convolution_plans(const CudnnLibrary& library,
                                               const CudnnDescriptor& gpu,
                                               const ConvolutionRequest& request,
                                               std::size_t count);

/// Enqueues `plan` on the stream of `handle`. Tensors are x, w and y, whichever of them is the
/// result.
void run_convolution(const CudnnLibrary& library, cudnnHandle_t handle, const ConvolutionPlan& plan,
                     const std::array<void*, 3>& tensors, void* workspace);

}  // namespace emplace::calibrate
