#pragma once

// One operation of a neural network and the tensors that it makes; op_graph.hpp joins operations to
// a graph. They are separate because Boost.Graph costs a file that includes it over a second of
// compile time, and a file of CUDA kernels four.

#include <emplace/graphs/attributes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// The part of a step in which an op runs.
enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };

/// The names of the parts, in the order of Phase.
inline constexpr std::array<std::string_view, 3> kPhases = {"forward", "backward", "update"};

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

/// The names of the types as in our format, in the order of DataType.
inline constexpr std::array<std::string_view, 9> kDataTypes = {
    "float32", "float16", "bfloat16", "int32", "int64", "bool", "float64", "int8", "int16"};

/// Returns the bytes of one element.
std::int64_t size_of(DataType type);

/// Return the name.
inline std::string_view to_string(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }
inline std::string_view to_string(DataType type) {
  return kDataTypes[static_cast<std::size_t>(type)];
}

/// Describes one tensor that an op produces.
struct Output {
  std::vector<std::int64_t> shape{};   ///< outermost dimension first; empty for a scalar
  DataType type = DataType::kFloat32;  ///< of the elements
  std::int64_t bytes = 0;              ///< what a transfer of it moves
  /// Whether the tensor is the op's persistent storage (a variable's value), which takes no memory
  /// beyond `Op::persistent_bytes`.
  bool persistent = false;
};

/// The largest relative standard deviation of a cost: as much as the cost itself.
inline constexpr double kMaxRelativeDeviation = 1;

/// A cost that was measured elsewhere, for one class of devices.
struct MeasuredCost {
  std::string device_class{};     ///< as in DeviceProfile::device_class
  double cost_us = 0;             ///< microseconds, at least 0
  double relative_deviation = 0;  ///< standard deviation over the cost, 0 to kMaxRelativeDeviation
};

/// Describes one operation.
struct Op {
  std::string name{};                 ///< unique in its graph
  std::string kind{};                 ///< what it computes, for example "conv2d" (op_kind.hpp)
  Phase phase = Phase::kForward;      ///< part of the step
  Attributes attributes{};            ///< what besides its inputs says what it computes
  std::vector<std::int64_t> shape{};  ///< dimensions that a cost model keys on (op_kind.hpp)
  std::int64_t flops = 0;             ///< floating-point operations; a multiply-add counts as two
  std::int64_t bytes_read = 0;        ///< from the device's memory
  std::int64_t bytes_written = 0;     ///< to the device's memory
  std::vector<Output> outputs{};      ///< tensors it produces, by output index
  std::int64_t parameters = 0;        ///< trained numbers that it stores (variables only)
  std::int64_t persistent_bytes = 0;  ///< weights and optimizer slots, kept between steps
  std::int64_t workspace_bytes = 0;   ///< scratch memory while it runs
  std::string colocation{};           ///< ops with the same non-empty label share a device
  std::string scope{};                ///< path of the layer, for example "mixed_5b/branch_1"
  std::int32_t micro_batch = 0;       ///< which one it works on (micro_batches.hpp), from 0
  std::int32_t replica = 0;           ///< which one it is in (replicas.hpp), from 0
  std::int32_t priority = 0;          ///< a device takes a ready op of the highest one; from 0
  std::vector<MeasuredCost> measured{};  ///< at most one for each device class
};

}  // namespace emplace
