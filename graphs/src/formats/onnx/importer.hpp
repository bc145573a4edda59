#pragma once

// Turns the nodes of an ONNX model into ops, one after another. How one node becomes ops is a
// Conversion in the table of operators.cpp; it sees its node through an OnnxNode.
//
// Initializers of floating-point numbers become variables when an op first reads them, and share
// its device. Whatever is known before the step becomes no op: a shape, an axis, a factor is a
// setting of the op that reads it; a table of more than kMaxSetting numbers is a `constant`, which
// launches nothing. An op is called exactly as its node; its scope is the name's path.

#include "model.hpp"
#include "model/op_names.hpp"

#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

class OnnxImporter;

/// Shows one node to its conversion and takes the ops.
class OnnxNode {
 public:
  OnnxNode(OnnxImporter& importer, const onnx::NodeProto& proto)
      : importer_(importer), proto_(proto) {}

  /// Returns the node itself, with its attributes.
  const onnx::NodeProto& proto() const { return proto_; }

  /// Returns the version of the standard operators.
  std::int64_t opset() const;

  /// Says whether the node makes logits into probabilities at the end of a model that is trained.
  bool is_trained_result() const;

  /// Returns the number of inputs, left out ones included.
  std::size_t num_inputs() const { return static_cast<std::size_t>(proto_.input_size()); }

  /// Returns all inputs' shapes and numbers.
  Operands operands() const;

  /// Says whether the node has an input at `index`.
  bool has_input(std::size_t index) const;

  /// Says whether an input is there and no setting of the node.
  bool is_data(std::size_t index) const;

  /// Says whether an input is an initializer that is trained.
  bool is_weight(std::size_t index) const;

  /// Returns the shape, type and bytes of an input, or of the first result whose
  /// shape is known.
  const Output& input(std::size_t index) const;
  const Output& result() const;

  /// Returns the numbers of an input, or null where they are not known.
  const Numbers* numbers(std::size_t index) const;

  /// Starts an op that is called like the node, with `/<suffix>` if there is one.
  Op make_op(std::string_view kind, std::string_view suffix = "") const;

  /// Returns an input as `reader` sees it; a variable that is read for the first time shares the
  /// reader's device.
  Tensor read(Op& reader, std::size_t index);

  /// Returns two weights as one variable that holds one after the other.
  Tensor read_joined(Op& reader, std::size_t first, std::size_t second);

  /// Returns all inputs that are data.
  std::vector<Tensor> read_data(Op& reader);

  /// Adds an op and returns its first output.
  Tensor emit(Op op, std::span<const Tensor> inputs);
  Tensor emit(Op op, std::initializer_list<Tensor> inputs);

  /// Says that the result at `index` is this tensor.
  void give(std::size_t index, Tensor tensor);

  /// Adds an op that makes all results of the node, and `reserve` for its gradient if there is one.
  void emit_results(Op op, std::span<const Tensor> inputs,
                    std::optional<Output> reserve = std::nullopt);

  /// Says that the first result is the first input, unchanged.
  void pass_on();

 private:
  const std::string& input_name(std::size_t index) const;

  OnnxImporter& importer_;
  const onnx::NodeProto& proto_;
};

/// Grows the forward graph of a model.
class OnnxImporter {
 public:
  /// Imports `model`; `source` begins each error.
  OnnxImporter(const Model& model, const std::string& source) : model_(model), source_(source) {}

  /// Returns the forward graph; if `with_loss`, one that ends in a loss: the model's own, or the
  /// mean cross entropy of its results (add_losses() says of which).
  OpGraph run(bool with_loss);

  /// Returns how many nodes each operator has that emplace does not know, and so whose FLOPs are
  /// not counted.
  const std::map<std::string, int>& uncounted() const { return uncounted_; }

 private:
  friend class OnnxNode;

  void add_input(const std::string& name);
  void add_node(const onnx::NodeProto& node);
  void find_trained_results();
  void add_losses();
  Tensor add_loss(const std::string& result);
  bool is_constant(const onnx::NodeProto& node) const;
  std::string unique_name(const std::string& name);
  std::string node_name(const std::string& name);
  std::string_view resolve(std::string_view name) const;
  const KnownValue& value(std::string_view name) const;
  Tensor stored(Op& reader, const std::string& name, Op op);
  [[noreturn]] void fail(const std::string& message) const;

  const Model& model_;
  const std::string& source_;
  OpGraph graph_;
  std::map<std::string, Tensor, std::less<>> tensors_;       // by name of the model's tensor
  std::map<std::string, std::string, std::less<>> aliases_;  // tensors that are another one
  OpNames names_;                                            // of ops, and of all nodes
  std::set<std::string, std::less<>> node_names_;            // those that no op has yet
  std::set<std::string, std::less<>> trained_results_;       // those that a loss may be put on
  std::set<std::string, std::less<>> yes_or_no_;             // those that ended in a sigmoid
  std::map<std::string, int> uncounted_;
};

}  // namespace emplace::onnx_model
