#pragma once

// The graph of a neural network: one vertex per operation, one edge per use of a tensor.
//
// OpGraph is a Boost.Graph adjacency_list with bundled properties, so every algorithm, reader and
// writer of Boost.Graph works on it. Vertices are added once and never removed: a vertex descriptor
// is an OpId. Parallel edges are meaningful (an op may read two outputs of one producer, or one
// twice), and an op's in-edges are in the order of its inputs. A graph describes what is computed;
// it has neither times nor devices, except for costs that were measured elsewhere and came with the
// graph.

#include <emplace/base/ids.hpp>
#include <emplace/graphs/op.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes one use of a tensor, or an order without data.
struct Dependency {
  /// Marks an edge that orders two ops and moves nothing.
  static constexpr std::int32_t kControl = -1;

  std::int32_t output = 0;  ///< index among the producer's outputs, or kControl
};

/// Describes a graph as a whole.
struct GraphInfo {
  std::string name{};    ///< kebab-case; with the parameters that were given
  std::string source{};  ///< paper, file or program that it comes from
  /// What users must know about how its file was read, a sentence each; no format keeps them.
  std::vector<std::string> warnings{};
};

/// The graph of a neural network; see the head of this file.
using OpGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Op,
                                      Dependency, GraphInfo>;

/// Returns the number of ops, as an OpId.
inline OpId num_ops(const OpGraph& graph) { return static_cast<OpId>(boost::num_vertices(graph)); }

/// Adds an edge that passes `producer`'s output (or kControl) to `consumer` as its next input.
void add_dependency(OpGraph& graph, OpId producer, std::int32_t output, OpId consumer);

/// Says whether an edge from `producer` to `consumer` only orders ops of different micro-batches.
/// Such edges are a schedule; that one group runs before another and after it does not join them
/// (grouping.hpp).
inline bool orders_micro_batches(std::int32_t output, const Op& producer, const Op& consumer) {
  return output == Dependency::kControl && producer.micro_batch != consumer.micro_batch;
}

/// Returns every op after all of its producers, the op with the least id first if there is a
/// choice. Throws kFormat, naming some of the ops on a cycle, if there is one. O(ops log ops +
/// edges).
std::vector<OpId> topological_order(const OpGraph& graph);

/// Throws kFormat unless names are unique and not empty, the text of ops is UTF-8, quantities are
/// not negative, output indices exist, sums of bytes and FLOPs fit 64 bits, and there is no cycle.
/// `source` begins the message.
void validate(const OpGraph& graph, std::string_view source);

/// Sums over all ops of a graph.
struct GraphTotals {
  std::int64_t flops = 0;             ///< of one step
  std::int64_t parameters = 0;        ///< trained numbers
  std::int64_t parameter_bytes = 0;   ///< of the variables
  std::int64_t persistent_bytes = 0;  ///< parameters and optimizer slots
};

/// Adds up the quantities of all ops.
GraphTotals totals(const OpGraph& graph);

}  // namespace emplace
