// AmoebaNet-A and -D for ImageNet (Real, Aggarwal, Huang, Le: Regularized Evolution for Image
// Classifier Architecture Search, AAAI 2019, arXiv 1802.01548), in the layout of the authors' model
// for TPUs. GPipe (Huang et al. 2019, arXiv 1811.06965) trains AmoebaNet-D at 224 x 224 pixels: its
// "(18, 208)" is 18 normal cells in all, so cells=6, and 208 filters.

#include "cell_network.hpp"
#include "training_model.hpp"

namespace emplace::amoebanet_model {
namespace {

using enum CellOp;

const CellDesign kNormalA{.blocks = {{{0, kAvgPool3x3}, {0, kMaxPool3x3}},
                                     {{1, kSeparable3x3}, {1, kIdentity}},
                                     {{0, kIdentity}, {1, kAvgPool3x3}},
                                     {{0, kSeparable3x3}, {2, kSeparable5x5}},
                                     {{5, kAvgPool3x3}, {0, kSeparable3x3}}},
                          .results = {1, 3, 4, 6}};

const CellDesign kReductionA{.blocks = {{{1, kSeparable3x3}, {0, kAvgPool3x3}},
                                        {{0, kMaxPool3x3}, {2, kSeparable7x7}},
                                        {{1, kMaxPool3x3}, {0, kMaxPool3x3}},
                                        {{4, kSeparable3x3}, {0, kConv1x7And7x1}},
                                        {{1, kAvgPool3x3}, {0, kSeparable7x7}}},
                             .results = {2, 3, 4, 5, 6}};

const CellDesign kNormalD{.blocks = {{{1, kConv1x1}, {1, kMaxPool3x3}},
                                     {{1, kIdentity}, {0, kConv1x7And7x1}},
                                     {{0, kConv1x1}, {0, kConv1x7And7x1}},
                                     {{2, kMaxPool3x3}, {2, kIdentity}},
                                     {{1, kAvgPool3x3}, {5, kConv1x1}}},
                          .results = {0, 3, 4, 6}};

const CellDesign kReductionD{.blocks = {{{0, kMaxPool2x2}, {0, kMaxPool3x3}},
                                        {{2, kIdentity}, {1, kConv3x3}},
                                        {{2, kConv1x7And7x1}, {2, kMaxPool3x3}},
                                        {{3, kIdentity}, {1, kMaxPool2x2}},
                                        {{2, kAvgPool3x3}, {3, kConv1x1}}},
                             .results = {4, 5, 6}};

OpGraph forward(const Params& params) {
  const bool is_a = params.get<std::string>("variant") == "a";
  return cell_network({.name = "amoebanet",
                       .source = "Real et al. 2018, arXiv 1802.01548",
                       .normal = is_a ? kNormalA : kNormalD,
                       .reduction = is_a ? kReductionA : kReductionD,
                       .batch = params.get<std::int64_t>("batch"),
                       .pixels = params.get<std::int64_t>("pixels"),
                       .stem_filters = 32,
                       .filters = params.get<std::int64_t>("filters"),
                       .cells = params.get<std::int64_t>("cells")});
}

const GraphRegistration kRegistration(training_model(
    {.name = "amoebanet",
     .summary = "image classifier of evolved cells, 331 x 331 pixels unless told otherwise",
     .reference = "Real et al., AAAI 2019, arXiv 1802.01548",
     .batch = 8,
     .parameters = {{.name = "variant",
                     .default_value = std::string("a"),
                     .choices = {"a", "d"},
                     .summary = "which of the published pairs of cells to use"},
                    whole_number("cells", 6, 1, 64, "normal cells in each of the three stacks (N)"),
                    whole_number("filters", 190, 4, 4096,
                                 "filters of the cells in the first stack (F)"),
                    whole_number("pixels", 331, 32, 1024, "height and width of an image")},
     .forward = forward}));

}  // namespace
}  // namespace emplace::amoebanet_model
