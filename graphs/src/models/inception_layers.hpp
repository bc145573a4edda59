#pragma once

// What the Inception models have in common: parallel branches between concatenations, each
// convolution followed by batch_norm and relu. A branch is numbered by its role, also where another
// is missing: 0 the 1x1 convolution, 1 the short branch of larger windows, 2 the long one, 3 the
// pool. The human expert's rules read these scopes.

#include <emplace/graphs/model_builder.hpp>

#include <array>
#include <cstdint>

namespace emplace {

/// Adds the layers of Inception models to a graph.
class InceptionLayers {
 public:
  /// Adds to `net`, which must outlive this.
  explicit InceptionLayers(ModelBuilder& net) : net_(net) {}

  /// Enters the scope of the branch with this role.
  [[nodiscard]] ModelBuilder::Scope branch(int role);

  /// Convolves, normalizes, applies relu.
  Tensor conv(Tensor x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
              std::int64_t stride = 1, Padding padding = Padding::kSame);

  /// Halves a map by a 3x3 convolution.
  Tensor reduce(Tensor x, std::int64_t filters);

  /// Halves a map by a 3x3 max_pool.
  Tensor max_pool(Tensor x);

  /// Adds branch 0: a 1x1 convolution.
  Tensor one_by_one(Tensor x, std::int64_t filters);

  /// Adds branch 3 of a block that keeps its size: a 3x3 avg_pool and a 1x1 convolution.
  Tensor smoothed(Tensor x, std::int64_t filters);

  /// Adds branch 3 of a block that halves its map.
  Tensor max_pooled(Tensor x);

  /// Applies a 1x3 and a 3x1 convolution side by side and concatenates.
  Tensor fan_out(Tensor x, std::int64_t filters);

 private:
  ModelBuilder& net_;
};

}  // namespace emplace
