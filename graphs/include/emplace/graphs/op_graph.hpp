#pragma once

// The graph of a neural network: one vertex per operation, one edge per use of a tensor.
//
// OpGraph is a Boost.Graph adjacency_list with bundled properties, so every algorithm, reader and
// writer of Boost.Graph works on it. Vertices are added once and never removed: a vertex descriptor
// is an OpId. Parallel edges are meaningful (an op may read two outputs of one producer, or one
// twice), and an op's in-edges stand in the order of its inputs. A graph says what is computed; it
// knows neither times nor devices, except for costs that were measured elsewhere and came with the
// graph.

#include <emplace/graphs/ids.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Says in which part of a step an op runs.
enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };

/// Names the type of a tensor's elements.
enum class DataType : std::uint8_t {
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt32,
  kInt64,
  kBool,
  kFloat64,
  kInt8,
  kInt16,
};

/// Returns the bytes of one element.
std::int64_t size_of(DataType type);

/// Returns "forward", "backward" or "update".
std::string_view to_string(Phase phase);

/// Returns the name as our format writes it, for example "float32".
std::string_view to_string(DataType type);

/// Describes one tensor that an op produces.
struct Output {
  std::vector<std::int64_t> shape{};   ///< outermost dimension first; empty for a scalar
  DataType type = DataType::kFloat32;  ///< of the elements
  std::int64_t bytes = 0;              ///< what a transfer of it moves
  /// Says that the tensor is the op's persistent storage (a variable's value): it takes no memory
  /// beyond `Op::persistent_bytes`.
  bool persistent = false;
};

/// The largest relative standard deviation of a cost: as much as the cost itself.
inline constexpr double kMaxCostSpread = 1;

/// Holds a cost that was measured elsewhere, for one class of devices.
struct MeasuredCost {
  std::string device_class{};  ///< as in DeviceProfile::device_class
  double cost_us = 0;          ///< microseconds, at least 0
  double spread = 0;           ///< standard deviation over the cost, 0 to kMaxCostSpread
};

/// Describes one operation.
struct Op {
  std::string name{};                 ///< unique in its graph
  std::string kind{};                 ///< what it computes, for example "conv2d" (op_kind.hpp)
  Phase phase = Phase::kForward;      ///< part of the step
  std::vector<std::int64_t> shape{};  ///< dimensions that a cost model keys on (op_kind.hpp)
  std::int64_t flops = 0;             ///< floating-point operations; a multiply-add counts as two
  std::int64_t bytes_read = 0;        ///< from the device's memory
  std::int64_t bytes_written = 0;     ///< to the device's memory
  std::vector<Output> outputs{};      ///< tensors it produces, by output index
  std::int64_t parameters = 0;        ///< trained numbers that it holds (variables only)
  std::int64_t persistent_bytes = 0;  ///< weights and optimizer slots, kept between steps
  std::int64_t workspace_bytes = 0;   ///< scratch memory while it runs
  std::string colocation{};           ///< ops with the same non-empty label share a device
  std::string scope{};                ///< path of the layer, for example "mixed_5b/branch_1"
  std::vector<MeasuredCost> measured{};  ///< at most one for each device class
};

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
};

/// The graph of a neural network; see the head of this file.
using OpGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Op,
                                      Dependency, GraphInfo>;

/// Returns the number of ops, as an OpId.
inline OpId num_ops(const OpGraph& graph) { return static_cast<OpId>(boost::num_vertices(graph)); }

/// Adds an edge that hands `producer`'s output (or kControl) to `consumer` as its next input.
void add_dependency(OpGraph& graph, OpId producer, std::int32_t output, OpId consumer);

/// Returns every op after all of its producers, the op with the least id first where there is a
/// choice. Throws kFormat, naming some of the ops on a cycle, if there is one. O(ops log ops +
/// edges).
std::vector<OpId> topological_order(const OpGraph& graph);

/// Throws kFormat unless names are unique and not empty, quantities are not negative, output
/// indices exist, sums of bytes and FLOPs fit 64 bits, and there is no cycle. `source` begins the
/// message.
void validate(const OpGraph& graph, std::string_view source);

/// Holds sums over all ops of a graph.
struct GraphTotals {
  std::int64_t flops = 0;             ///< of one step
  std::int64_t parameters = 0;        ///< trained numbers
  std::int64_t parameter_bytes = 0;   ///< what the variables hold
  std::int64_t persistent_bytes = 0;  ///< parameters and optimizer slots
};

/// Adds up the quantities of all ops.
GraphTotals totals(const OpGraph& graph);

}  // namespace emplace
