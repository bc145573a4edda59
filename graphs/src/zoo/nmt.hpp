#pragma once

// The translation network, for the models and families that have it in different sizes.

#include "unrolled.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>

namespace emplace {

/// Builds the forward graph of a network with `layers` layers in the encoder and as many in the
/// decoder.
OpGraph nmt_forward(std::int64_t layers, const UnrolledSizes& sizes, std::int64_t batch);

}  // namespace emplace
