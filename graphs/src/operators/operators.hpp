#pragma once

// The library of operators: what an operator is, is said here once. The model builder, the gradient
// rules and all importers add ops through it; an importer only translates names and attributes. A
// file has one family, and a row of its table is one operator. Tensors are laid out as ONNX has
// them: maps [N, C, ...], filters [K, C / groups, ...].

#include <emplace/graphs/attributes.hpp>
#include <emplace/graphs/op.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace emplace {
class GradientStep;
}

namespace emplace::operators {

using Shape = std::vector<std::int64_t>;

/// Describes the inputs or results of an op.
using Tensors = std::span<const Output>;

struct Operator;

/// Shows one op to the functions of its operator.
struct Call {
  const Operator& of;
  const Attributes& attributes;
  Tensors inputs;
  Tensors results;  ///< none while they are inferred

  /// Returns the attributes; throws kFormat if the op has others.
  template <class T>
  const T& as() const {
    return std::get<T>(attributes);
  }

  /// Returns an input or result; throws kFormat if the op has none such.
  const Output& input(std::size_t i) const;
  const Output& result(std::size_t i = 0) const;

  /// Returns the number of elements of the first result, or of the first input.
  std::int64_t elements() const;
  std::int64_t input_elements() const;
};

/// Returns the results of an op. Throws kFormat if the inputs do not fit each other or the
/// attributes.
using Infer = std::vector<Output> (*)(const Call& call);

/// Fills in kind, key of costs (OpKind::shape), FLOPs, and bytes beyond touching each tensor once.
/// The kind may be another one than the operator's name: a sum with a vector is a `bias_add`.
using Count = void (*)(Op& op, const Call& call);

/// Adds the ops that compute the gradients of an op's inputs.
using Gradient = void (*)(GradientStep& step);

/// Returns the attributes of an op as far as its kind, key, FLOPs and results say, for files that
/// have none.
using FromKey = Attributes (*)(const Op& op);

/// Returns how many kernels an op is whose number depends on its key.
using Kernels = std::int64_t (*)(const Op& op);

/// Which tensor tells the derivative of a function.
enum class From : std::uint8_t { kInput, kResult };

/// Describes the gradient of a function of one number.
struct Derivative {
  std::int64_t flops = 0;  ///< for each number, the product with the gradient included
  From from = From::kInput;
};

/// Defines one operator.
struct Operator {
  OpKind kind;
  Infer infer = nullptr;        ///< null: the results do not follow from the inputs
  Count count = nullptr;        ///< null: ops of it are added as another operator
  Gradient gradient = nullptr;  ///< null: nothing can be trained through it
  std::int64_t flops = 0;       ///< for each number of what `count` says
  Derivative derivative{};      ///< of a function of one number
  FromKey from_key = nullptr;   ///< null: its ops have no attributes
  bool only_imported = false;   ///< of imported_op_kinds()
  int kernels = 1;              ///< that PyTorch starts for an op on a GPU, if it launches at all
  Kernels kernels_of = nullptr;
};

/// Returns the definition of an operator of several kernels: zeros before numbers are put in their
/// places, moments and factors of a norm, a product for each side, the mean of a loss.
constexpr Operator in_kernels(int kernels, Operator row) {
  row.kernels = kernels;
  return row;
}

/// Returns all operators, by name.
const std::unordered_map<std::string_view, const Operator*>& all();

/// Returns the names in a list, which stand between spaces.
std::vector<std::string_view> names_in(std::string_view list);

/// Returns the operator called `name`, or null.
const Operator* find(std::string_view name);

/// Says whether count() knows an operator by this name.
bool is_counted(std::string_view name);

/// Returns the results of an operator; throws kFormat if its inputs do not fit.
std::vector<Output> infer(std::string_view name, const Attributes& attributes, Tensors inputs);

/// Fills in all that `op` is by its operator, inputs and results, the results themselves excepted.
/// `exp_backward` is the gradient of `exp`, with its forward op's attributes.
void count(Op& op, std::string_view name, Attributes attributes, Tensors inputs, Tensors results);

/// Does the same, and adds the results: those that infer() returns, unless `op` has them already.
void define(Op& op, std::string_view name, Attributes attributes, Tensors inputs);

/// count() and describe() for inputs in a list and one result. describe() returns an op that has no
/// name and no results.
void count(Op& op, std::string_view name, Attributes attributes,
           std::initializer_list<Output> inputs, const Output& result);
Op describe(std::string_view name, Attributes attributes, std::initializer_list<Output> inputs,
            const Output& result);

/// Returns the attributes of an op as far as its key says, for files that have none; a
/// std::monostate for kinds without attributes.
Attributes attributes_from_key(const Op& op);

/// Returns the attributes of an op; those of its key if it has none.
Attributes attributes_of(const Op& op);

/// Returns the operator that is left of `name`, one of two numbers, where one of them is a
/// constant: neither size nor cost depends on it. `x * 2` is a `scale`, `2 / x` a `reciprocal`.
std::string_view with_constant(std::string_view name, bool constant_is_left);

/// Says whether two inputs change places so that the first has the result's shape, as the gradients
/// of sums and products expect.
bool swaps(std::string_view name, const Shape& left, const Shape& right, const Shape& result);

// --- Families: one file each ---

std::span<const Operator> attentions();
std::span<const Operator> convolutions();
std::span<const Operator> elementwise();
std::span<const Operator> losses();
std::span<const Operator> movements();
std::span<const Operator> normalizations();
std::span<const Operator> poolings();
std::span<const Operator> products();
std::span<const Operator> recurrent_layers();
std::span<const Operator> reductions();
std::span<const Operator> routings();
std::span<const Operator> sources();
std::span<const Operator> updates();

// --- For families ---

/// What the entries of Op::shape are, where several families have the same.
inline constexpr std::string_view kElements = "[elements]";
inline constexpr std::string_view kTerms = "[terms, elements]: elements of one term";
inline constexpr std::string_view kRows = "[rows, columns]";
inline constexpr std::string_view kTensor = "the tensor's own shape";

/// Throws kFormat with this message.
[[noreturn]] void fail_shapes(const std::string& message);

/// Returns the shape that all are broadcast to; throws kFormat if they do not fit.
Shape broadcast(Tensors tensors);

/// Returns the place of an axis that may count from the end; throws kFormat if there is none such.
std::size_t axis_of(std::int64_t axis, std::size_t rank);

/// Infer: one result like the first input.
std::vector<Output> same(const Call& call);

/// Counts: `flops` for each element of the first result, or of the first input, which are the key.
void count_results(Op& op, const Call& call);
void count_inputs(Op& op, const Call& call);

/// Counts no FLOPs; the key is the number of elements of the result and of the first input.
void count_movement(Op& op, const Call& call);

/// Lets only as much of the first input be read as the result holds.
void read_only_result(Op& op, const Call& call);

/// Counts a mean over the whole of maps [N, C, H, W] as the pool that it is.
void count_global_mean(Op& op, const Shape& maps, const Shape& result);

/// FromKey: attributes as they are by default.
template <class T>
Attributes by_default(const Op&) {
  return T{};
}

// --- Windows over maps (windows.cpp) ---

/// Returns the number of places of a window on each dimension of maps; throws kFormat if it does
/// not fit.
Shape places(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
             const Window& window, bool ceil_mode = false);

/// Returns the pads with which a window has so many places: as many before as after, and one more
/// after, or before, where their number is odd.
Shape pads_for(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
               const Window& window, std::span<const std::int64_t> places,
               bool more_before = false);

/// Returns those with which it has a place for each stride.
Shape same_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                const Window& window, bool more_before = false);

/// Returns the pads with which a transposed convolution makes maps of these extents of so many
/// places. Those below 0 widen the maps.
Shape transpose_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                     const Window& window, std::span<const std::int64_t> places);

/// Returns a pool with so many places on maps of these extents: windows that are alike cover the
/// maps; where they are not, the first is the largest.
PoolAttributes adaptive_pool(std::span<const std::int64_t> extents,
                             std::span<const std::int64_t> places);

/// Returns maps of one dimension, [N, C, W], and lists of their windows, as libraries run them:
/// [N, C, 1, W].
Shape as_maps(Shape maps);

// --- Products in Einstein's notation (einsum.cpp) ---

/// Describes a product of tensors in Einstein's notation.
struct EinsteinSum {
  Shape result{};             ///< extents of the result
  std::int64_t products = 0;  ///< number of elements over all indices
  std::int64_t flops = 0;
  /// Of two factors: extents of the indices of both that are kept, of one alone, and of both that
  /// are summed over.
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
};

/// Reads an equation over the shapes of its inputs; throws kFormat if it is broken.
EinsteinSum einstein_sum(std::string_view equation, std::span<const Shape> inputs);

}  // namespace emplace::operators
