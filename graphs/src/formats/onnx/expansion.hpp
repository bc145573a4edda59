#pragma once

// Nodes that stand for others: calls of the model's own functions, an `If` whose condition is
// known, a `Loop` whose number of steps is, and the operators on sequences of tensors. Each is
// replaced by nodes that read and make tensors, so nothing behind knows of them.

#include "model.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Takes the nodes that an Expansion makes.
class NodeSink {
 public:
  virtual ~NodeSink() = default;

  /// Takes a node that stands `depth` calls, branches or loops deep in the model.
  virtual void add_node(const onnx::NodeProto& node, int depth) = 0;

  /// Takes a tensor of the model, which is called `name` where the nodes stand.
  virtual void add_initializer(const onnx::TensorProto& tensor, const std::string& name) = 0;

  /// Returns what is known of a tensor, or null.
  virtual const KnownValue* find_value(std::string_view name) const = 0;

  /// Throws Error with the file's name before the message.
  [[noreturn]] virtual void fail(const std::string& message) const = 0;
  [[noreturn]] virtual void unsupported(const std::string& message) const = 0;
};

/// Replaces nodes that stand for others.
class Expansion {
 public:
  /// Makes nodes for `model`, which keeps them, and hands them to `sink`.
  Expansion(Model& model, NodeSink& sink) : model_(model), sink_(sink) {}

  /// Hands on the nodes for which `node` stands; returns false if it stands for itself. Throws
  /// kUnsupported where data decides on what runs, kFormat where a part of the node is missing.
  bool expand(const onnx::NodeProto& node, int depth);

  /// Says whether a name is that of a sequence.
  bool is_sequence(std::string_view name) const { return sequences_.contains(name); }

 private:
  struct Names;
  using Sequence = std::vector<std::string>;  // the tensors in it

  void expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& function, int depth);
  void expand_branch(const onnx::NodeProto& node, int depth);
  void expand_loop(const onnx::NodeProto& node, int depth);
  void stack(const onnx::NodeProto& node, const std::vector<std::string>& parts,
             const std::string& result, int depth);
  bool expand_sequence(const onnx::NodeProto& node, int depth);
  void split_to_sequence(const onnx::NodeProto& node, int depth);
  onnx::NodeProto& copy(const onnx::NodeProto& node, const Names& names);
  void charge(const onnx::NodeProto& node, std::size_t bytes);
  void add_initializers(const onnx::GraphProto& graph, Names& names);
  void keep_sequence(const onnx::NodeProto& node, Sequence result);
  void insert_into_sequence(const onnx::NodeProto& node, bool erases);
  void join_sequence(const onnx::NodeProto& node, int depth);
  const Sequence& sequence(const onnx::NodeProto& node, int input) const;
  std::size_t position(const onnx::NodeProto& node, const Sequence& of, std::size_t end) const;
  void add_identity(const std::string& from, const std::string& to, int depth);
  std::string add_constant(std::int64_t value, const std::string& name, int type, int depth);
  onnx::NodeProto& make(std::string_view op_type, const std::string& name);
  std::optional<double> number(const std::string& name) const;
  std::string path_of(const onnx::NodeProto& node);

  Model& model_;
  NodeSink& sink_;
  std::map<std::string, Sequence, std::less<>> sequences_;
  std::size_t in_sequences_ = 0;     // tensors, in all of them together
  std::size_t made_bytes_ = 0;       // of copied nodes
  std::int64_t carried_values_ = 0;  // values, by the steps of loops
  std::int64_t unnamed_ = 0;         // nodes without a name that were replaced
};

}  // namespace emplace::onnx_model
