// The family cifar10: random networks of ENAS' macro and micro search spaces for images of 32 x 32
// pixels, as Placeto's families are made (Addanki et al. 2019, section 4.3). Ops and inputs are
// drawn evenly; a skip connection is there with probability 0.4, the share to which ENAS'
// controller is held.

#include "enas.hpp"
#include "training_model.hpp"
#include "transforms/batch_division.hpp"

#include <emplace/graphs/graph_family.hpp>

#include <algorithm>
#include <utility>

namespace emplace::cifar10_model {
namespace {

constexpr std::int64_t kMacro = 0;  // the first number of a design
constexpr std::int64_t kMicro = 1;

constexpr std::int64_t kBlocks = 5;  // of a micro cell

std::int64_t below(RandomStream& stream, std::int64_t bound) {
  return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(bound)));
}

void draw_macro(std::int64_t layers, RandomStream& stream, Design& design) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    design.push_back(below(stream, kEnasMacroOps));
    for (std::int64_t before = 0; before < layer; ++before) {
      design.push_back(below(stream, 5) < 2 ? 1 : 0);
    }
  }
}

void draw_micro_cell(RandomStream& stream, Design& design) {
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const auto draw_step = [&] {
      const std::int64_t input = below(stream, block + 2);
      return std::pair(input, below(stream, kEnasMicroOps));
    };
    auto left = draw_step();
    auto right = draw_step();
    // A sum does not change with the order of its terms, so only one order is a design.
    if (right < left) {
      std::swap(left, right);
    }
    design.insert(design.end(), {left.first, left.second, right.first, right.second});
  }
}

Design draw(const Params& params, RandomStream& stream) {
  const auto& space = params.get<std::string>("space");
  const std::int64_t chosen =
      space == "both" ? below(stream, 2) : (space == "macro" ? kMacro : kMicro);
  Design design{chosen};
  if (chosen == kMacro) {
    draw_macro(params.get<std::int64_t>("layers"), stream, design);
  } else {
    draw_micro_cell(stream, design);
    draw_micro_cell(stream, design);
  }
  return design;
}

OpGraph step(const Params& params, const Design& design, std::int64_t batch) {
  const EnasSize size{.batch = batch, .filters = params.get<std::int64_t>("filters")};
  const auto architecture = std::span(design).subspan(1);
  return model_step(design.front() == kMacro
                        ? enas_macro_network(architecture, params.get<std::int64_t>("layers"), size)
                        : enas_micro_network(architecture, params.get<std::int64_t>("cells"), size),
                    params);
}

OpGraph build(const Params& params, const Design& design) {
  return divide_batch(params, params.get<std::int64_t>("batch"),
                      [&](std::int64_t examples) { return step(params, design, examples); });
}

const GraphRegistration kRegistration(
    family_model({.name = "cifar10",
                  .summary = "random convolutional networks of ENAS' search spaces, 32 x 32 pixels",
                  .reference = "Pham et al., ICML 2018, arXiv 1802.03268",
                  .parameters = training_parameters(
                      {{.name = "space",
                        .default_value = std::string("both"),
                        .choices = {"macro", "micro", "both"},
                        .summary = "search space from which the networks are drawn"},
                       whole_number("layers", 12, 3, 96, "layers of a network of the macro space"),
                       whole_number("cells", 2, 1, 32,
                                    "normal cells in each of the three stacks of a network "
                                    "of the micro space"),
                       whole_number("filters", 36, 2, 1024,
                                    "filters before maps are halved for the first time")},
                      128, "images", "momentum"),
                  .draw = draw,
                  .build = build}));

}  // namespace
}  // namespace emplace::cifar10_model
