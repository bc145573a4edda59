#pragma once

// One gradient rule per kind of op: given the gradient of the op's first output, a rule adds the
// ops that compute the gradients of its inputs. A rule sees one forward op through a GradientStep
// and knows neither the graph nor the other rules.

#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace emplace {

/// Stands for a gradient that is known when the graph is built: that of a loss.
inline constexpr Tensor kConstantGradient{};

/// Shows one forward op to its gradient rule and takes the answers.
class GradientStep {
 public:
  /// Differentiates `op` of `graph`, whose first output has this gradient. `wanted` says of each
  /// input whether a variable is upstream of it; `given` receives the gradients of the inputs.
  GradientStep(OpGraph& graph, OpId op, Tensor gradient, const std::vector<bool>& wanted,
               std::vector<std::vector<Tensor>>& given);

  /// Returns the forward op; a copy, because adding ops moves them.
  Op op() const { return graph_[static_cast<std::size_t>(op_)]; }

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

  /// Returns the gradient of the first output; it may be kConstantGradient.
  Tensor gradient() const { return gradient_; }

  /// Throws kUnsupported unless the gradient is kConstantGradient.
  void expect_constant_gradient() const;

  /// Says whether anyone needs the gradient of an input.
  bool wants(std::size_t index) const;

  /// Starts a backward op called `<forward name>/<suffix>` in the forward op's scope, with its
  /// shape.
  Op make_op(std::string_view kind, std::string_view suffix) const;

  /// Adds a backward op and returns its first output. Throws kUnsupported if one of the inputs is
  /// kConstantGradient: ops other than losses cannot follow a loss.
  Tensor emit(Op op, std::initializer_list<Tensor> inputs);

  /// Hands over the gradient of an input; one that nobody wants is dropped.
  void give(std::size_t index, Tensor gradient);

 private:
  [[noreturn]] void fail_arity(std::string_view what, std::size_t index) const;

  OpGraph& graph_;
  OpId op_;
  Tensor gradient_;
  const std::vector<bool>& wanted_;
  std::vector<std::vector<Tensor>>& given_;
  std::vector<Tensor> inputs_;
};

/// Throws kUnsupported: the op called `name` mixes a loss with something else.
[[noreturn]] void fail_loss_misused(std::string_view name);

/// Adds the backward ops of one forward op.
using GradientRule = void (*)(GradientStep&);

/// Returns the rule for ops of `kind`, or null.
GradientRule find_gradient_rule(std::string_view kind);

}  // namespace emplace
