#pragma once

// Turns the calls of a program of PyTorch into ops, one after another. How one call becomes ops is
// a Conversion in the table of operators.cpp; it sees its call through a TorchNode.
//
// A parameter becomes a variable when an op first reads it, and shares its device. What depends on
// no data of the step is a constant and becomes no op unless an op of the step reads it. What
// nothing in the program's results depends on is left out. A view is no op of its own: an op that
// reads views of views reads one `reshape` of the tensor below them, which costs nothing.

#include "model/op_names.hpp"
#include "program.hpp"

#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::torch_program {

class TorchImporter;

/// What an op reads: a tensor of the program, or one that another op of the same call made.
class Operand {
 public:
  /// Reads `id`; not explicit, so that lists of operands are short.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operand(ValueId id) : id_(id) {}

  /// Reads what was made.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operand(Tensor made) : made_(made) {}

  /// Reads a matrix of parameters as it is stored, be it transposed or not.
  static Operand stored(ValueId id);

 private:
  friend class TorchNode;

  ValueId id_ = kNone;
  Tensor made_{};
  bool is_stored_ = false;
};

/// Shows one call to its conversion and takes the ops.
class TorchNode {
 public:
  TorchNode(TorchImporter& importer, const TorchCall& call) : importer_(importer), call_(call) {}

  /// Returns the call itself.
  const TorchCall& call() const { return call_; }

  /// Returns an argument by the first of these names that the call has, or null: versions of
  /// PyTorch call some differently.
  const Argument* find(std::initializer_list<std::string_view> names) const;

  /// Returns a tensor argument, or kNone.
  ValueId tensor(std::initializer_list<std::string_view> names) const;

  /// Returns a tensor argument; throws kFormat if the call has none.
  ValueId expect(std::initializer_list<std::string_view> names) const;

  /// Returns all tensors of the call, in the order of its arguments, constants included.
  std::vector<ValueId> tensors() const;

  /// Returns the integers of an argument, or `fallback` where it is left out or empty.
  std::vector<std::int64_t> integers(std::string_view name,
                                     const std::vector<std::int64_t>& fallback) const;

  /// Returns the single integer of an argument, or `fallback`.
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;

  /// Describes a tensor; throws kFormat for kNone.
  const TorchValue& value(ValueId id) const;

  /// Says whether a matrix of parameters is stored transposed.
  bool is_stored_transposed(ValueId id) const;

  /// Says whether the graph is to be trained.
  bool is_training() const;

  /// Says whether a tensor depends on no data of the step.
  bool is_constant(ValueId id) const { return value(id).origin == Origin::kConstant; }

  /// Returns the first result that is there.
  ValueId result() const;
  const Output& output() const { return value(result()).output; }

  /// Says whether the program's results depend on a result of the call.
  bool is_wanted(ValueId id) const;

  /// Says whether all that reads the first result are calls of `op`.
  bool is_read_only_by(std::string_view op) const;

  /// Adds an op of an operator of the library, in the scope of the module that calls, that makes
  /// all results of the call.
  void add(std::string_view op_name, Attributes attributes, std::span<const ValueId> inputs);
  void add(std::string_view op_name, Attributes attributes, std::initializer_list<ValueId> inputs);

  /// Adds one that makes `results` of tensors, and returns the first.
  Tensor make(std::string_view op_name, Attributes attributes, std::vector<Output> results,
              std::span<const Operand> inputs);
  Tensor make(std::string_view op_name, Attributes attributes, std::vector<Output> results,
              std::initializer_list<Operand> inputs);

  /// Starts an op in the scope of the module that calls; `op` has everything but name and scope.
  Op make_op(Op op) const;

  /// Returns a tensor as `reader` sees it; a variable that is read for the first time shares the
  /// reader's device.
  Tensor read(Op& reader, ValueId id);

  /// Returns several parameters as one variable that holds one after the other, or one constant of
  /// `shape` where there are none.
  Tensor read_joined(Op& reader, std::vector<ValueId> ids, std::vector<std::int64_t> shape);

  /// Adds an op and returns its first output.
  Tensor emit(Op op, std::span<const Tensor> inputs);
  Tensor emit(Op op, std::initializer_list<Tensor> inputs);

  /// Says that a result of the call, if it is there, is this tensor.
  void give(ValueId id, Tensor tensor);

  /// Adds an op that makes all results of the call.
  void emit_results(Op op, std::span<const Tensor> inputs);

  /// Says that the results of the call that are there are the outputs of an op.
  void give_results(Tensor first);

  /// Says that the first result holds the elements of `id`, in its own shape and order.
  void view(ValueId id);

 private:
  TorchImporter& importer_;
  const TorchCall& call_;
};

/// Grows the forward graph of a program.
class TorchImporter {
 public:
  /// Imports `program`; `source` begins each error.
  TorchImporter(Program program, const std::string& source);

  /// Returns the forward graph. If `training`, it ends in a loss (the program's own, or the mean
  /// cross entropy of the softmax of its first result and of others of the same shape), and
  /// parameters that are not trained are constants.
  OpGraph run(bool training) &&;

 private:
  friend class TorchNode;

  TorchValue& value(ValueId id) { return program_.values[place_of(id)]; }
  const TorchValue& value(ValueId id) const { return program_.values[place_of(id)]; }
  static std::size_t place_of(ValueId id);
  void find_constants();
  void find_uses();
  void add_call(const TorchCall& call);
  void add_unread_parameters();
  void add_loss();
  Tensor add_cross_entropy(ValueId logits);
  std::string unique_name(const std::string& name);
  bool is_variable(ValueId id) const;
  Tensor stored(Op& reader, const std::string& key, Op op);
  Tensor read(Op& reader, ValueId id, bool as_stored);
  ValueId below_views(ValueId id) const;
  [[noreturn]] void fail(const std::string& message) const;

  Program program_;
  const std::string& source_;
  bool training_ = false;
  OpGraph graph_;
  std::map<ValueId, Tensor> tensors_;
  std::map<ValueId, ValueId> views_;                   // what each is a view of
  std::map<std::string, Tensor, std::less<>> stored_;  // variables and constants by name
  std::set<ValueId> joined_;                           // parameters that are part of a variable
  std::map<ValueId, std::vector<std::string_view>> readers_;
  std::set<ValueId> live_;  // what the results depend on
  OpNames names_;
};

}  // namespace emplace::torch_program
