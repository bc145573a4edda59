#pragma once

// Which numbers of a model are trained, and which initializers hold them. ONNX does not say what is
// trained: all numbers with a gradient are, unless the exporter has recorded more. Exporters
// transpose, cut and join weights, in the file or by nodes; a step has no ops for that.

#include "model.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {

/// Reads what PyTorch's exporters record about initializers. With dynamo=True they record which are
/// parameters, and from which tensors the others were computed.
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
