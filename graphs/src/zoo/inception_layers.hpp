#pragma once

// What the Inception models have in common: parallel branches between concatenations, each
// convolution followed by batch_norm and relu. A branch is numbered by its role, also where another
// is missing: 0 the 1x1 convolution, 1 the short branch of larger windows, 2 the long one, 3 the
// pool. The human expert's rules read these scopes.

#include <emplace/graphs/model_builder.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>

namespace emplace {

/// Returns the attributes of a 3x3 convolution that halves a map.
inline Conv2d halving(std::int64_t filters) {
  return {.filters = filters, .kernel = {3, 3}, .stride = 2, .padding = Padding::kValid};
}

/// Adds the layers of Inception models to a graph.
class InceptionLayers {
 public:
  /// Adds to `net`, which must outlive this.
  explicit InceptionLayers(ModelBuilder& net) : net_(net) {}

  /// Convolves, normalizes, applies relu.
  Tensor conv(Tensor x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
              std::int64_t stride = 1, Padding padding = Padding::kSame);

  /// Adds the branch of a role: convolutions one after the other.
  Tensor branch(int role, Tensor x, std::initializer_list<Conv2d> convolutions);

  /// Adds a branch that ends in a 1x3 and a 3x1 convolution of `filters` side by side.
  Tensor fanning_branch(int role, Tensor x, std::initializer_list<Conv2d> convolutions,
                        std::int64_t filters);

  /// Halves a map by a 3x3 max_pool.
  Tensor max_pool(Tensor x);

  /// Adds branch 0: a 1x1 convolution.
  Tensor one_by_one(Tensor x, std::int64_t filters);

  /// Adds branch 3 of a block that keeps its size: a 3x3 avg_pool and a 1x1 convolution.
  Tensor smoothed(Tensor x, std::int64_t filters);

  /// Adds branch 3 of a block that halves its map.
  Tensor max_pooled(Tensor x);

 private:
  [[nodiscard]] ModelBuilder::Scope scope_of(int role);

  ModelBuilder& net_;
};

}  // namespace emplace
