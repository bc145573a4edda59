#pragma once

// The kinds of ops that emplace knows, what their `shape` means, the class by which a device
// profile states how efficiently it runs them, and whether the result needs its own memory. An op
// of any other kind is legal in a graph; its class is kOther and its cost a guess. What a kind
// computes is defined in the library of operators (src/operators/).

#include <cstdint>
#include <span>
#include <string_view>

namespace emplace {

struct Op;

/// Groups kinds of ops that use a device in the same way; profiles have one efficiency for each.
enum class OpClass : std::uint8_t {
  kConvolution,           ///< dense convolutions and their gradients
  kDepthwiseConvolution,  ///< convolutions of each channel on its own, and their gradients
  kMatmul,                ///< dense matrix products
  kNormalization,         ///< reductions over a batch with a pass to apply them
  kPooling,               ///< windows over a feature map
  kElementwise,           ///< one pass over the data
  kDataMovement,          ///< concat, split, copies
  kReduction,             ///< sums, softmax and losses
  kUpdate,                ///< optimizer steps over the parameters
  kOther,                 ///< unknown kinds
};

/// The number of op classes, for arrays indexed by OpClass.
inline constexpr std::size_t kNumOpClasses = 10;

/// Returns the name used in profiles, for example "convolution".
std::string_view to_string(OpClass op_class);

/// Where frameworks keep the first result of an op.
enum class ResultMemory : std::uint8_t {
  kOwn,      ///< in memory that is taken for it
  kView,     ///< where its first input is: the same elements, described in another way
  kInPlace,  ///< over an input of the same size, if nothing reads that any more; else its own
};

/// Describes one kind of op.
struct OpKind {
  std::string_view name;   ///< as in Op::kind
  OpClass op_class;        ///< how it uses a device
  bool launches;           ///< false: it does no work on a device (a variable, an input, a reshape)
  std::string_view shape;  ///< what the entries of Op::shape are
  std::string_view summary;                  ///< one line
  ResultMemory memory = ResultMemory::kOwn;  ///< of the results
};

/// Returns the kinds that networks of the zoo have and `emplace calibrate` runs, sorted by name.
std::span<const OpKind> op_kinds();

/// Returns the kinds that only imported graphs, replicas and scaled gradients have, sorted by name.
/// Their costs follow from their class. The gradient of such a kind, "exp_backward", is not listed:
/// it has its forward op's class and shape.
std::span<const OpKind> imported_op_kinds();

/// Returns the kind of op_kinds() that is called `name`, or null.
const OpKind* find_op_kind(std::string_view name);

/// Returns the class of `kind`; kOther if it is unknown.
OpClass op_class_of(std::string_view kind);

/// Returns where the first result of ops of `kind` is; kOwn if the kind is unknown.
ResultMemory result_memory_of(std::string_view kind);

/// Returns whether ops of `kind` occupy a device at all; unknown kinds do.
bool launches(std::string_view kind);

/// Returns how many kernels PyTorch starts for an op on a GPU, without a compiler: 1 for most, and
/// for unknown kinds. Sources: its CUDA kernels (aten/src/ATen/native/cuda) and what autograd
/// calls; the updates of its fused optimizers. Products of few rows may take one more, to add up
/// parts.
std::int64_t num_kernels(const Op& op);

}  // namespace emplace
