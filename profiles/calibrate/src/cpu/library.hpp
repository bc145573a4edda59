#pragma once

// Convolutions and matrix products on the CPU, by oneDNN where emplace was built with it and it
// knows the type and shape, else by plain loops.

#include "../convolution_site.hpp"
#include "../gemm_site.hpp"
#include "core_team.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace emplace::calibrate {

/// Computes a result of two tensors.
class BinaryOp {
 public:
  virtual ~BinaryOp() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  virtual std::string_view library() const = 0;
  virtual void run(const CoreTeam& team, const void* first, const void* second, void* result,
                   void* workspace) = 0;
};

/// Makes a convolution of its inputs as ConvolutionPass names them.
std::unique_ptr<BinaryOp> make_convolution(const ConvolutionSite& site, const CoreTeam& team);

/// Makes a product of its left and right side.
std::unique_ptr<BinaryOp> make_gemm(const GemmSite& site, const CoreTeam& team);

/// The same by plain loops, for float32 and bfloat16.
std::unique_ptr<BinaryOp> make_reference_convolution(const ConvolutionSite& site);
std::unique_ptr<BinaryOp> make_reference_gemm(const GemmSite& site);

/// The same by oneDNN; null if it can't, or emplace was built without it. Throws DeviceFailure
/// (compute_device.hpp) if it fails.
std::unique_ptr<BinaryOp> make_onednn_convolution(const ConvolutionSite& site,
                                                  const CoreTeam& team);
std::unique_ptr<BinaryOp> make_onednn_gemm(const GemmSite& site, const CoreTeam& team);

/// Returns oneDNN's name and version; empty if emplace was built without it.
std::string onednn_version();

}  // namespace emplace::calibrate
