#pragma once

// Memory of GPUs and memory of the host that GPUs copy.

#include "cuda_queue.hpp"

#include <memory>

namespace emplace::calibrate {

/// Returns memory of the queue's GPU, filled with random numbers if `random`; throws DeviceFailure.
std::unique_ptr<Memory> device_memory(CudaQueue& queue, std::int64_t bytes, bool random);

/// Returns memory of the host that stays where it is, which all GPUs reach; throws DeviceFailure.
std::unique_ptr<Memory> pinned_memory(std::int64_t bytes);

/// Returns memory of the host as programs usually have it, all of its pages present;
/// throws DeviceFailure.
std::unique_ptr<Memory> pageable_memory(std::int64_t bytes);

}  // namespace emplace::calibrate
