#pragma once

// The shapes of results that the library of operators does not infer, as TensorFlow's own shape
// functions define them (https://www.tensorflow.org/api_docs/cc): one rule for each operator, or
// for several that are alike. The table of operators.cpp names it, and says what it needs to know
// of the inputs.

#include "node_call.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace::tensorflow {

/// Shapes of the results; nothing where one is not known.
using Results = std::vector<std::optional<Shape>>;

namespace shapes {

/// Says what a strided slice takes of one dimension: `count` elements from `begin` on.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Returns what StridedSlice takes by the entry `i` of its begins, ends and steps.
Range range_of(const NodeCall& call, std::size_t i, std::int64_t extent);

/// Returns a part of an extent; throws kFormat unless `by` divides it.
std::int64_t quotient(std::int64_t number, std::int64_t by);

// --- Numbers, recurrent cells, layers (shape_rules.cpp) ---

Results same(const NodeCall& call);
Results each_same(const NodeCall& call);
Results second(const NodeCall& call);
Results merge(const NodeCall& call);
Results switch_results(const NodeCall& call);
Results lstm_block_cell(const NodeCall& call);
Results scalar_result(const NodeCall& call);
Results cross_entropy(const NodeCall& call);
Results top_k(const NodeCall& call);
Results first_integers(const NodeCall& call);
Results second_integers(const NodeCall& call);
Results max_pool_with_places(const NodeCall& call);
Results batch_norm(const NodeCall& call);
Results batch_norm_gradient(const NodeCall& call);
Results bias_gradient(const NodeCall& call);
Results resize(const NodeCall& call);
Results crop_and_resize(const NodeCall& call);
Results space_to_depth(const NodeCall& call);
Results depth_to_space(const NodeCall& call);
Results space_to_batch(const NodeCall& call);
Results batch_to_space(const NodeCall& call);

// --- What joins, cuts and reorders (shape_rules_movement.cpp) ---

Results shape_of(const NodeCall& call);
Results shapes_of(const NodeCall& call);
Results reshape(const NodeCall& call);
Results squeeze(const NodeCall& call);
Results expand_dims(const NodeCall& call);
Results pack(const NodeCall& call);
Results unpack(const NodeCall& call);
Results split(const NodeCall& call);
Results split_v(const NodeCall& call);
Results slice(const NodeCall& call);
Results strided_slice(const NodeCall& call);
Results gather(const NodeCall& call);
Results gather_v2(const NodeCall& call);
Results gather_nd(const NodeCall& call);
Results pad(const NodeCall& call);
Results tile(const NodeCall& call);
Results range(const NodeCall& call);
Results one_hot(const NodeCall& call);

}  // namespace shapes

}  // namespace emplace::tensorflow
