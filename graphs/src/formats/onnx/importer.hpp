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

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace::onnx_model {

class OnnxImporter;

/// Two inputs of a node that are weights, as one variable that holds one after the other.
struct Joined {
  int first = 0;
  int second = 0;
};

/// What an op of a node reads: an input of the node, two in one, or what another of its ops made.
using Source = std::variant<int, Joined, Tensor>;

/// What OnnxNode::add() may be told of an op. What is left out is that of the node.
struct Parts {
  std::string_view suffix = "";  ///< the op is called like the node, with `/<suffix>`
  Attributes attributes{};
  std::vector<Source> inputs{};       ///< none: all inputs of the node that are data
  std::vector<Output> seen{};         ///< the inputs as the operator sees them; none: as they are
  std::vector<Output> results{};      ///< none: the node's results, which the op then gives
  std::vector<Output> reserve{};      ///< more results, for the gradient
  std::int64_t persistent_bytes = 0;  ///< of what the op keeps between steps
};

/// Shows one node to its conversion and takes the ops.
class OnnxNode : public NodeView {
 public:
  OnnxNode(OnnxImporter& importer, const onnx::NodeProto& proto);

  /// Says whether the model is imported to be trained, and whether the node makes logits into
  /// probabilities at the end of such a model.
  bool is_trained() const;
  bool is_trained_result() const;

  /// Says whether an input is there and no setting of the node.
  bool is_data(std::size_t index) const;

  /// Says whether an input is known before the step, and not trained.
  bool is_constant(std::size_t index) const;

  /// Says whether an input is an initializer that is trained.
  bool is_weight(std::size_t index) const;

  /// Returns the shape, type and bytes of the first result whose shape is known.
  const Output& result() const;

  /// Adds an op of our library, `name`, and returns its first output.
  Tensor add(std::string_view name, Parts parts = {});

  /// Adds an op without FLOPs whose kind is the name of the node's operator.
  void add_uncounted();

  /// Says that the result at `index` is this tensor.
  void give(int index, Tensor tensor);

  /// Says that the first result is the first input, unchanged.
  void pass_on();

  /// Returns the strides of an input: how far apart in memory neighbours along each axis stand.
  Shape strides(std::size_t index) const;

  /// Says that the result at `index` has these strides.
  void set_strides(int index, Shape strides);

  /// Says that axes of the first result lie in memory as those of the input that it is computed of.
  void keep_order();

 private:
  Op make_op(std::string_view suffix) const;
  Tensor read(Op& reader, Source source);
  Tensor read_joined(Op& reader, Joined weights);
  Tensor emit(Op op, std::string_view name, Parts parts);

  OnnxImporter& importer_;
};

/// Grows the forward graph of a model.
class OnnxImporter {
 public:
  /// Imports `model`; `source` begins each error. If `is_trained`, the graph ends in a loss: the
  /// model's own, or the mean cross entropy of its results.
  OnnxImporter(const Model& model, const std::string& source, bool is_trained)
      : model_(model), source_(source), is_trained_(is_trained) {}

  /// Returns the forward graph.
  OpGraph run();

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
  Tensor add_op(const std::string& name, std::string_view kind, std::span<const Tensor> inputs,
                std::vector<Output> results = {});
  bool is_constant(const onnx::NodeProto& node) const;
  std::string unique_name(const std::string& name);
  std::string node_name(const std::string& name);
  std::string_view resolve(std::string_view name) const;
  const KnownValue& value(std::string_view name) const;
  std::vector<const KnownValue*> inputs_of(const onnx::NodeProto& node) const;
  Tensor stored(Op& reader, const std::string& name, Op op);
  std::vector<std::string> stored_as(std::string_view name) const;
  Tensor read_weights(Op& reader, const std::vector<std::string>& names, const Output& joined);
  [[noreturn]] void fail(const std::string& message) const;

  const Model& model_;
  const std::string& source_;
  bool is_trained_;
  OpGraph graph_;
  std::map<std::string, Tensor, std::less<>> tensors_;       // by name of the model's tensor
  std::map<std::string, std::string, std::less<>> aliases_;  // tensors that are another one
  std::map<std::string, Shape, std::less<>> strides_;        // of those that are not contiguous
  OpNames names_;                                            // of ops, and of all nodes
  std::set<std::string, std::less<>> node_names_;            // those that no op has yet
  std::set<std::string, std::less<>> trained_results_;       // those that a loss may be put on
  std::set<std::string, std::less<>> yes_or_no_;             // those that ended in a sigmoid
  std::map<std::string, int> uncounted_;
};

}  // namespace emplace::onnx_model
