#pragma once

// Data parallelism: replicas of a network train on parts of a batch, each with its own variables,
// and add up their gradients, as PyTorch's DistributedDataParallel does (Li et al. 2020, arXiv
// 2006.15704). Gradients are put together in buckets, in the order in which the backward pass makes
// them, and each bucket is added up as soon as it is full, by a ring all-reduce (Patarasuk and Yuan
// 2009): of n bytes, each of R replicas sends 2 (R - 1) / R n to the next one. First, at each of
// R - 1 steps (reduce-scatter), it adds its part of a chunk to the sum of those before it; then
// finished chunks go around (all-gather).
//
// Sums and copies are ops, and so are what agents place: a replica may take several devices, and
// share one with another. With replica r on device r, the step is data parallelism.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace emplace {

/// The bytes of gradients from which on a bucket is full; PyTorch's `bucket_cap_mb`.
inline constexpr std::int64_t kBucketBytes = 25 << 20;

/// Returns one step of replicas: `parts` are the training steps of one network, each for its part
/// of the batch. An op of replica r > 0 is called `op@r`; `Op::replica` numbers them, scopes begin
/// with `replica_r`, and colocation labels hold within a replica. Updates and what adds up
/// gradients have no label, as that would make cycles of groups. Gradients that have not the shape
/// of their variable (rows of an embedding) are joined by each replica instead of added up. Throws
/// kUnsupported, naming an op, if parts differ in ops or edges. Requires: at least one part, and
/// `bucket_bytes` > 0. O(parts (ops + edges) + buckets parts^2).
OpGraph replicas(std::span<const std::reference_wrapper<const OpGraph>> parts,
                 std::int64_t bucket_bytes = kBucketBytes);

}  // namespace emplace
