#include "library.hpp"

namespace emplace::calibrate {

std::unique_ptr<BinaryOp> make_convolution(const ConvolutionSite& site, const CoreTeam& team) {
  auto made = make_onednn_convolution(site, team);
  return made != nullptr ? std::move(made) : make_reference_convolution(site);
}

std::unique_ptr<BinaryOp> make_gemm(const GemmSite& site, const CoreTeam& team) {
  auto made = make_onednn_gemm(site, team);
  return made != nullptr ? std::move(made) : make_reference_gemm(site);
}

#ifndef EMPLACE_WITH_ONEDNN
std::unique_ptr<BinaryOp> make_onednn_convolution(const ConvolutionSite&, const CoreTeam&) {
  return nullptr;
}

std::unique_ptr<BinaryOp> make_onednn_gemm(const GemmSite&, const CoreTeam&) { return nullptr; }

std::string onednn_version() { return ""; }
#endif

}  // namespace emplace::calibrate
