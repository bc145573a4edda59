#pragma once

// The base of passes that replace several nodes of a model by one.

#include "model.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Knows who makes and who reads each tensor of a model, and replaces nodes. Derive from it, and
/// call finish() at the end.
class Rewriter {
 protected:
  using Index = std::size_t;  ///< of a node

  explicit Rewriter(Model& model);

  /// Returns the number of nodes, replaced ones included.
  Index num_nodes() const { return is_gone_.size(); }

  const onnx::NodeProto& at(Index index) const { return *model_.nodes[index]; }

  /// Returns the name of an input; empty if the node has none at `index`.
  const std::string& input(Index node, int index) const;

  /// Says whether a node is still there and of this operator of ONNX' own.
  bool is_of(Index index, std::string_view op_type) const;

  /// Returns the node that makes a tensor, if it is of this operator.
  std::optional<Index> maker(const std::string& name, std::string_view op_type) const;

  /// Returns the only node that reads a tensor, if it is of this operator.
  std::optional<Index> reader(const std::string& name, std::string_view op_type) const;

  /// Says how often a tensor is read; a result of the model counts as read.
  int num_reads(const std::string& name) const;

  /// Says whether nothing but `nodes` reads what they make, apart from the results of `last`.
  bool are_alone(const std::vector<Index>& nodes, Index last) const;

  const KnownValue* find(const std::string& name) const;
  const Shape& shape(const std::string& name) const;  ///< empty if it is not known

  /// Returns the number that a tensor is, if it is one and known.
  std::optional<double> number(const std::string& name) const;
  bool is_near(const std::string& name, double expected) const;
  bool is_constant(const std::string& name) const { return number(name).has_value(); }

  /// Returns the input of a node of two that is not `name`.
  static const std::string& other(const onnx::NodeProto& node, const std::string& name) {
    return node.input(node.input(0) == name ? 1 : 0);
  }

  static bool reads(const onnx::NodeProto& node, const std::string& name);

  /// Puts `node` in the place of the last of `nodes`.
  void replace(const std::vector<Index>& nodes, onnx::NodeProto node);

  /// Puts a node of one result, of this shape and its input's type, in the place of another one
  /// that was replaced.
  void put(Index place, onnx::NodeProto node, Shape shape);

  /// Removes the nodes that were replaced, and those that nothing reads any more.
  void finish();

 private:
  Model& model_;
  std::vector<bool> is_gone_;
  std::map<std::string, int, std::less<>> reads_;
  std::map<std::string, std::vector<Index>, std::less<>> readers_;
  std::map<std::string, Index, std::less<>> makers_;
};

}  // namespace emplace::onnx_model
