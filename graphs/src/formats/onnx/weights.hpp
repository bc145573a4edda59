#pragma once

// Which numbers of a model are trained, and where they are stored. A file does not say it: numbers
// with a gradient count as trained, unless the exporter left a note. Exporters also transpose, cut
// and join weights, before they write them or by nodes: no op does so in a step.

#include "model.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// What PyTorch's exporters tell of the initializers of a model: with dynamo=True they note the
/// parameters, and from which tensors an initializer was computed.
class ExporterNotes {
 public:
  ExporterNotes() = default;

  explicit ExporterNotes(const onnx::GraphProto& graph);

  /// Says whether an initializer of real numbers may be trained: a parameter, or computed from one.
  /// Without notes, all may.
  bool may_be_trained(const std::string& name) const;

  /// Returns the initializer that another one holds transposed, because the two are tied, or null.
  const onnx::TensorProto* original(const onnx::TensorProto& tensor) const;

 private:
  std::set<std::string, std::less<>> parameters_;
  std::map<std::string, std::vector<std::string>, std::less<>> sources_;
  std::map<std::string, const onnx::TensorProto*, std::less<>> initializers_;
  std::multimap<Shape, const onnx::TensorProto*> matrices_;
};

/// Removes the nodes that only reorder weights, and says in `model.stored` which initializers hold
/// their results. O(nodes log nodes).
void restore_weights(Model& model);

}  // namespace emplace::onnx_model
