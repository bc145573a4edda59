// NASNet-A for ImageNet (Zoph, Vasudevan, Shlens, Le: Learning Transferable Architectures for
// Scalable Image Recognition, CVPR 2018, arXiv 1707.07012, figure 4), in the layout of TF-slim's
// nasnet and Keras' NASNetLarge and NASNetMobile. "6 @ 4032" says 6 cells in a stack and 4032
// channels at the end, 24 times the filters of the first stack.

#include "cell_network.hpp"
#include "training_model.hpp"

namespace emplace::nasnet_model {
namespace {

using enum CellOp;

const CellDesign kNormal{.blocks = {{{0, kSeparable5x5}, {1, kSeparable3x3}},
                                    {{1, kSeparable5x5}, {1, kSeparable3x3}},
                                    {{0, kAvgPool3x3}, {1, kIdentity}},
                                    {{1, kAvgPool3x3}, {1, kAvgPool3x3}},
                                    {{0, kSeparable3x3}, {0, kIdentity}}},
                         .results = {1, 2, 3, 4, 5, 6}};

const CellDesign kReduction{.blocks = {{{0, kSeparable5x5}, {1, kSeparable7x7}},
                                       {{0, kMaxPool3x3}, {1, kSeparable7x7}},
                                       {{0, kAvgPool3x3}, {1, kSeparable5x5}},
                                       {{3, kIdentity}, {2, kAvgPool3x3}},
                                       {{2, kSeparable3x3}, {0, kMaxPool3x3}}},
                            .results = {3, 4, 5, 6}};

GraphModel nasnet(std::string name, std::string summary, std::int64_t batch, CellNetwork network) {
  network.name = name;
  network.source = "Zoph et al. 2018, arXiv 1707.07012";
  network.normal = kNormal;
  network.reduction = kReduction;
  return training_model({.name = std::move(name),
                         .summary = std::move(summary),
                         .reference = "Zoph et al., CVPR 2018, arXiv 1707.07012",
                         .batch = batch,
                         .parameters = {{.name = "auxiliary",
                                         .default_value = false,
                                         .summary = "with the auxiliary classifier"}},
                         .forward = [network](const Params& params) {
                           CellNetwork chosen = network;
                           chosen.batch = params.get<std::int64_t>("batch");
                           chosen.auxiliary = params.get<bool>("auxiliary");
                           return cell_network(chosen);
                         }});
}

const GraphRegistration kLarge(nasnet("nasnet-a-large", "NASNet-A 6 @ 4032, 331 x 331 pixels", 8,
                                      {.pixels = 331,
                                       .stem_filters = 96,
                                       .filters = 4032 / 24,
                                       .cells = 6,
                                       .skips_reduction_input = true}));

const GraphRegistration kMobile(
    nasnet("nasnet-a-mobile", "NASNet-A 4 @ 1056, 224 x 224 pixels", 64,
           {.pixels = 224, .stem_filters = 32, .filters = 1056 / 24, .cells = 4}));

}  // namespace
}  // namespace emplace::nasnet_model
