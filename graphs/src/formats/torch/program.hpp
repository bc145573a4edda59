#pragma once

// A program of PyTorch as torch.export writes it in JSON (the schema is
// torch/_export/serde/schema.py of PyTorch, major versions 1 to 8): operators in the order of their
// calls, and tensors with shapes and types. emplace.from_torch() writes the part of it that is read
// here. A `.pt2` file is such a text in an archive (archive.hpp).

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::torch_program {

/// Numbers the tensors of a program.
using ValueId = std::int32_t;

/// Stands for a tensor that is not there.
inline constexpr ValueId kNone = -1;

/// Says where a tensor comes from.
enum class Origin : std::uint8_t {
  kInput,      ///< data that enters the step
  kParameter,  ///< what the model learns
  kConstant,   ///< known before the step: buffers, and what depends on nothing else
  kComputed,   ///< the result of an operator
};

/// Describes one tensor.
struct TorchValue {
  std::string name{};                   ///< of a parameter or buffer its path in the model
  Output output{};                      ///< shape, type and bytes
  std::vector<std::int64_t> strides{};  ///< how far apart in memory neighbours along each axis are
  Origin origin = Origin::kComputed;
  bool is_trained = false;  ///< an optimizer updates it
  bool is_random = false;   ///< drawn at random in each step, but for its shape a constant
};

/// Holds one argument of a call. What is no tensor, number, truth value, text or list of numbers is
/// of no use here.
struct Argument {
  std::string name{};
  bool is_tensor = false;                ///< one tensor or a list of tensors, even an empty one
  std::vector<ValueId> tensors{};        ///< kNone for those left out of a list
  std::vector<std::int64_t> integers{};  ///< also truth values
  std::optional<double> number{};        ///< also a whole number
  std::string text{};
};

/// Describes one call of an operator.
struct TorchCall {
  std::string op{};        ///< "conv2d" for torch.ops.aten.conv2d.default
  std::string overload{};  ///< "default"
  std::string module{};    ///< path of the module that calls it, "layer1.0.conv1"
  std::vector<Argument> arguments{};
  std::vector<ValueId> results{};  ///< kNone for those that are not there
};

/// Holds a program.
struct Program {
  std::string name{};    ///< of the model's class, or empty
  std::string source{};  ///< PyTorch and its version
  std::vector<TorchValue> values{};
  std::vector<ValueId> inputs{};  ///< in the order of the model's arguments; all origins
  std::vector<TorchCall> calls{};
  std::vector<ValueId> outputs{};
};

/// Reads a program; `source` begins each error. Throws kFormat where it is broken, kUnsupported for
/// control flow and for shapes that are not known.
Program read_program(std::string_view text, const std::string& source);

/// Makes one tensor of the parameters that are stored in one file, as tied weights are; `weights`
/// is what the archive says of files (find_weights()), `source` begins each error.
void join_tied_weights(Program& program, std::string_view weights, const std::string& source);

}  // namespace emplace::torch_program
