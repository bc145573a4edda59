#pragma once

// A GPU of this machine, or a part of one: where streams are made.

#include "cuda_libraries.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Makes the streams of a GPU or of a part of one. A stream of a part runs kernels on the part's
/// multiprocessors. cuDNN's plans are made for the whole GPU.
class GpuPart {
 public:
  /// Takes the whole of GPU `ordinal`.
  GpuPart(std::shared_ptr<const CudaLibraries> libraries, std::int32_t ordinal);
  ~GpuPart();
  GpuPart(const GpuPart&) = delete;
  GpuPart& operator=(const GpuPart&) = delete;

  /// Cuts GPU `ordinal` into `count` parts of one size; throws DeviceFailure if it can't be.
  static std::vector<std::shared_ptr<const GpuPart>> split(
      const std::shared_ptr<const CudaLibraries>& libraries, std::int32_t ordinal,
      std::int32_t count);

  const CudaLibraries& libraries() const { return *libraries_; }
  std::int32_t ordinal() const { return ordinal_; }
  std::int32_t multiprocessors() const { return multiprocessors_; }
  bool is_whole() const { return context_ == nullptr; }
  /// Returns an attribute of the whole GPU.
  std::int32_t attribute(cudaDeviceAttr name) const;
  /// Returns the GPU's address on the PCI bus, as Linux names it: "0000:3b:00.0".
  std::string pci_bus_id() const;

  /// Makes this that which this thread's calls mean: streams and events are of it.
  void activate() const;
  /// Returns all of GPU `ordinal`, with the same libraries.
  std::shared_ptr<const GpuPart> whole_gpu(std::int32_t ordinal) const {
    return std::make_shared<const GpuPart>(libraries_, ordinal);
  }
  /// Returns a new stream, which does not wait for any other.
  cudaStream_t make_stream() const;

 private:
  std::shared_ptr<const CudaLibraries> libraries_;
  std::int32_t ordinal_ = 0;
  std::int32_t multiprocessors_ = 0;
  CUgreenCtx context_ = nullptr;  // null: the whole GPU
  CUcontext current_ = nullptr;   // the same, as one that can be made current
};

}  // namespace emplace::calibrate
