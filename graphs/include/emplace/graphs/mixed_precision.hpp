#pragma once

// Mixed precision: turns a forward graph in float32 into one that computes in 16 bits, as
// frameworks do automatically (Micikevicius et al., Mixed Precision Training, ICLR 2018, arXiv
// 1710.03740):
//   - variables, optimizer slots and the inputs of the step stay float32; one cast for each, which
//     all its readers share, makes the 16-bit numbers of a step;
//   - parameters of normalizations are read as they are, and so are tables of embeddings, where
//     only the rows that are looked up become 16 bits;
//   - losses compute in float32, from a cast of what they read; statistics of normalizations are
//     float32;
//   - everything else reads and makes 16-bit numbers;
//   - in float16 the loss is multiplied by a scale, so that small gradients do not vanish. The
//     optimizers divide by it again within their updates, unless dynamic loss scaling does before.
// Casts are ops of kind "scale". Gradients follow from the rules: that of a variable is cast to
// float32. Thread-safe; O(ops + edges).

#include <emplace/graphs/op_graph.hpp>

namespace emplace {

/// Returns `forward` in mixed precision with `type`, kFloat16 or kBfloat16. Requires a valid graph
/// without backward ops. Tensors that are not float32 stay as they are.
OpGraph mixed_precision(const OpGraph& forward, DataType type);

}  // namespace emplace
