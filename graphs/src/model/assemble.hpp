#pragma once

// Puts ops together for the builder and for the gradient rules, so that both count bytes alike.

#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace emplace {

/// Returns the product of `factors` (1 if there are none); throws kUsage if it does not fit 64
/// bits.
std::int64_t product(std::span<const std::int64_t> factors);
std::int64_t product(std::initializer_list<std::int64_t> factors);

/// Returns the sum of `terms`; throws kUsage if it does not fit 64 bits.
std::int64_t sum(std::initializer_list<std::int64_t> terms);

/// Returns an output of this shape with its bytes.
Output make_output(std::vector<std::int64_t> shape, DataType type);

/// Adds `op`, which reads `inputs` in this order, and returns its id. An op that launches nothing
/// moves no bytes. To any other, each input adds its bytes to `bytes_read` and each output to
/// `bytes_written`; what the two hold before is traffic beyond touching every tensor once.
OpId append_op(OpGraph& graph, Op op, std::span<const Tensor> inputs);
OpId append_op(OpGraph& graph, Op op, std::initializer_list<Tensor> inputs);

/// Returns the graph and leaves it empty: graphs of Boost can be swapped, but not moved.
OpGraph take(OpGraph& graph);

/// Returns what the tensor is: shape, type and bytes.
const Output& value_of(const OpGraph& graph, Tensor tensor);

/// Returns what several tensors are.
std::vector<Output> values_of(const OpGraph& graph, std::span<const Tensor> tensors);

}  // namespace emplace
