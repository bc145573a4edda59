// Translation networks that differ in the number of steps and in the batch, as the third family of
// Addanki et al. 2019 (section 4.3; they give no ranges). Ours: up to `steps` steps and at least a
// quarter of them, up to `batch` pairs of sentences in sixteenths, and at least four of these.

#include "nmt.hpp"
#include "training_model.hpp"
#include "transforms/batch_division.hpp"

#include <emplace/graphs/graph_family.hpp>

#include <cstdint>
#include <utility>

namespace emplace::nmt_family {
namespace {

constexpr std::int64_t kBatchParts = 16;

// An integer from `low` to `high`.
std::int64_t between(RandomStream& stream, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(high - low + 1)));
}

Design draw(const Params& params, RandomStream& stream) {
  const auto steps = params.get<std::int64_t>("steps");
  const auto batch = params.get<std::int64_t>("batch");
  const auto parts = between(stream, kBatchParts / 4, kBatchParts);
  return {between(stream, (steps + 3) / 4, steps), (batch * parts + kBatchParts - 1) / kBatchParts};
}

OpGraph step(const Params& params, const Design& design, std::int64_t batch) {
  UnrolledSizes sizes = unrolled_sizes(params);
  sizes.steps = design[0];
  return model_step(nmt_forward(params.get<std::int64_t>("layers"), sizes, batch), params);
}

OpGraph build(const Params& params, const Design& design) {
  return divide_batch(params, design[1],
                      [&](std::int64_t examples) { return step(params, design, examples); });
}

const GraphRegistration kRegistration(family_model({
    .name = "nmt-family",
    .summary = "translation networks of nmt with fewer steps and smaller batches",
    .reference = "Addanki et al. 2019, arXiv 1906.08879",
    .parameters = training_parameters(
        unrolled_parameters(layers_parameter(2),
                            {.hidden = 1024, .vocabulary = 50'000, .steps = 40}),
        128, "largest number of pairs of sentences", "adam"),
    .draw = draw,
    .build = build,
}));

}  // namespace
}  // namespace emplace::nmt_family
