#pragma once

// What the gradient of an operator sees and adds: given the gradients of the op's outputs, it adds
// the ops that compute the gradients of its inputs. It sees one forward op and knows neither the
// graph nor other operators' gradients.

#include "operators.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace emplace {

/// Stands for a gradient that is known when the graph is built: that of a loss.
inline constexpr Tensor kConstantGradient{};

/// Holds the gradients that were given to the outputs of an op, to be summed: a list for each.
using OutputGradients = std::vector<std::vector<Tensor>>;

/// Shows one forward op to its gradient rule and takes the answers.
class GradientStep {
 public:
  /// Differentiates `op` of `graph`, whose outputs have these gradients; none means that nothing
  /// that is differentiated reads the output. `wanted` says of each op whether a variable is
  /// upstream of it; `given` receives the gradients of the inputs.
  GradientStep(OpGraph& graph, OpId op, std::vector<std::optional<Tensor>> gradients,
               const IdVector<OpId, bool>& wanted, IdVector<OpId, OutputGradients>& given);

  /// Returns the forward op; a copy, because adding ops moves them.
  Op op() const { return graph_[index_of(op_)]; }

  /// Returns its attributes; those of its key if it has none.
  Attributes attributes() const { return operators::attributes_of(graph_[index_of(op_)]); }

  /// Returns an entry of the forward op's shape; throws kFormat if it has no such entry.
  std::int64_t dimension(std::size_t index) const;

  /// Returns the number of inputs.
  std::size_t num_inputs() const { return inputs_.size(); }

  /// Returns an input of the forward op; throws kFormat if it has no such input.
  Tensor input(std::size_t index) const;

  /// Returns what an input is: shape, type and bytes.
  Output input_value(std::size_t index) const;

  /// Returns an output of the forward op; throws kFormat if it has no such output.
  Tensor output(std::int32_t index) const;

  /// Says whether an output has a gradient. At least one output has.
  bool has_gradient(std::int32_t output) const;

  /// Returns the gradient of an output; it may be kConstantGradient. Throws kUnsupported, naming an
  /// output that has a gradient, if this one has none.
  Tensor gradient(std::int32_t output = 0);

  /// Throws kUnsupported unless the first output's gradient is kConstantGradient.
  void expect_constant_gradient();

  /// Throws kUnsupported if an output has a gradient that the rule did not ask for.
  void expect_all_gradients_used() const;

  /// Says whether the gradient of an input is needed.
  bool wants(std::size_t index) const;

  /// Adds a backward op called `<forward name>/<suffix>` of an operator of the library, in the
  /// forward op's scope, and returns its first output. Throws kUnsupported if one of the inputs is
  /// kConstantGradient: ops other than losses cannot follow a loss.
  Tensor add(std::string_view op_name, std::string_view suffix, Attributes attributes,
             std::span<const Tensor> inputs, std::vector<Output> results);
  Tensor add(std::string_view op_name, std::string_view suffix, Attributes attributes,
             std::initializer_list<Tensor> inputs, std::vector<Output> results);

  /// Starts a backward op that has the forward op's key and attributes, and adds it.
  Op make_op(std::string_view kind, std::string_view suffix) const;
  Tensor emit(Op op, std::span<const Tensor> inputs);

  /// Hands over the gradient of an input; one that is not needed is dropped.
  void give(std::size_t index, Tensor gradient);

  /// Adds a backward op of an operator of the library, with the attributes of the forward op, that
  /// makes the gradient of an input, of which it has shape and type, and hands it over. An op for a
  /// gradient that is not needed is not added.
  void give_by_operator(std::size_t index, std::string_view op_name, std::string_view suffix,
                        std::span<const Tensor> inputs);
  void give_by_operator(std::size_t index, std::string_view op_name, std::string_view suffix,
                        std::initializer_list<Tensor> inputs);

  /// Adds one op with the forward op's key and hands over the gradients of all inputs that need
  /// one. It reads the gradient, all inputs, and `more`.
  void give_all(std::string_view kind, std::int64_t flops, std::initializer_list<Tensor> more);

 private:
  [[noreturn]] void fail_arity(std::string_view what, std::size_t index) const;
  [[noreturn]] void fail_output(std::size_t index) const;
  void expect_no_constant(Tensor tensor) const;

  OpGraph& graph_;
  OpId op_;
  std::vector<std::optional<Tensor>> gradients_;
  std::vector<bool> used_;  // which of the gradients the rule has asked for
  const IdVector<OpId, bool>& wanted_;
  IdVector<OpId, OutputGradients>& given_;
  std::vector<Tensor> inputs_;
};

/// Throws kUnsupported: the op called `name` mixes a loss with something else.
[[noreturn]] void fail_loss_misused(std::string_view name);

/// Hands over the gradient of an input that may have been broadcast to the result, from one of the
/// result's shape: where the input has fewer elements, an op of kind `reduce_sum` called
/// `<forward name>/<suffix>_sum` adds them up.
void give_reduced(GradientStep& step, std::size_t index, Tensor gradient, std::string_view suffix);

/// Returns an output that is like `value`: the gradient of a tensor is like the tensor.
Output like(const Output& value);

/// Returns the number of elements of the forward op's first input.
std::int64_t elements(const GradientStep& step);

}  // namespace emplace
