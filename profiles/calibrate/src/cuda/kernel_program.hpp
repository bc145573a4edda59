#pragma once

// Programs of our own kernels, alone or between products of cuBLAS.

#include "cuda_queue.hpp"

#include <emplace/calibrate/op_site.hpp>

#include <memory>

namespace emplace::calibrate {

/// Returns the program of `site`; null if no kernel of ours runs it.
std::unique_ptr<CudaProgram> kernel_program(const OpSite& site);

/// Returns the program of an lstm_cell or lstm_cell_backward; null if it is none, or does not fit.
std::unique_ptr<CudaProgram> lstm_program(const OpSite& site, bool tf32);

}  // namespace emplace::calibrate
