#include <emplace/profiles/roofline.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace emplace {
namespace {

// What a multiprocessor computes at a time, and how deep a product must be to be cut along its
// depth. Libraries have more shapes of tiles; these span them.
constexpr std::array<double, 3> kTiles = {128, 64, 32};
constexpr double kCutDepth = 256;

double tiles_us(const Roofline& roofline, const Gemm& product, const DeviceRates& rates) {
  const auto rows = static_cast<double>(product.rows);
  const auto columns = static_cast<double>(product.columns);
  const auto depth = static_cast<double>(product.depth);
  const double least_rounds = std::min(1.0, kCutDepth / depth);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < kTiles.size(); ++at) {
    const double side = kTiles[at];
    const double efficiency = at == 0 ? 1 : roofline.tile_efficiencies[at - 1];
    const double rounds = std::ceil(rows / side) * std::ceil(columns / side) *
                          static_cast<double>(product.batches) / rates.multiprocessors;
    const double tile_flops = 2 * side * side * depth * rates.multiprocessors;
    least = std::min(
        least, std::sqrt(rounds * rounds + least_rounds * least_rounds) * tile_flops / efficiency);
  }
  return least / (roofline.compute_efficiency * rates.flops_per_us);
}

}  // namespace

OpWork op_work(std::string_view kind, std::span<const std::int64_t> shape, double flops,
               double bytes) {
  OpWork work{.flops = flops, .bytes = bytes};
  if (kind == "matmul" && shape.size() == 3) {
    work.product = {.batches = 1, .rows = shape[0], .columns = shape[1], .depth = shape[2]};
  } else if (kind == "batch_matmul" && shape.size() == 4) {
    work.product = {.batches = shape[0], .rows = shape[1], .columns = shape[2], .depth = shape[3]};
  } else if (kind == "lstm_cell" && shape.size() == 3) {
    // The gates: N x (I + H) times (I + H) x 4 H.
    work.product = {
        .batches = 1, .rows = shape[0], .columns = 4 * shape[2], .depth = shape[1] + shape[2]};
  }
  const Gemm& product = work.product;
  if (product.rows <= 0 || product.columns <= 0 || product.depth <= 0) {
    work.product.batches = 0;
  }
  return work;
}

OpWork op_work(const Op& op) {
  return op_work(op.kind, op.shape, static_cast<double>(op.flops),
                 static_cast<double>(op.bytes_read) + static_cast<double>(op.bytes_written));
}

double roofline_us(const Roofline& roofline, const OpWork& work, const DeviceRates& rates) {
  const double memory_us = work.bytes / (roofline.memory_efficiency * rates.bytes_per_us);
  double compute_us = work.flops / (roofline.compute_efficiency * rates.flops_per_us);
  if (roofline.form == CostForm::kMaximum) {
    return roofline.fixed_us + std::max(compute_us, memory_us);
  }
  if (roofline.form == CostForm::kTiles && work.product.batches > 0 && rates.multiprocessors > 0) {
    compute_us = tiles_us(roofline, work.product, rates);
  }
  return roofline.fixed_us + std::sqrt(compute_us * compute_us + memory_us * memory_us);
}

}  // namespace emplace
