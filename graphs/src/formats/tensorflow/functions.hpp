#pragma once

// The graph that one call of a SavedModel runs. TensorFlow 2 keeps a model as functions that call
// one another; here each call is replaced by the nodes of the function's body, called
// "call/node" as TensorFlow's own inliner calls them. Only what the results need is kept.

#include "messages.hpp"

#include <map>
#include <span>
#include <string>

namespace emplace::tensorflow {

/// Returns `graph` without calls: the nodes that `results` ("node:0") depend on, producers first;
/// all nodes if there are none. Throws kFormat for what does not fit together and kUnsupported for
/// functions that call themselves. O(nodes and edges after inlining).
proto::GraphDef inline_functions(const proto::GraphDef& graph, std::span<const std::string> results,
                                 const std::string& source);

/// Holds what a signature runs.
struct SignatureGraph {
  std::string name{};                           ///< of the signature
  proto::GraphDef graph{};                      ///< without calls
  std::map<std::string, std::string> inputs{};  ///< names of nodes, by the signature's own names
};

/// Returns what the signature called `name` runs; if that is empty, `serving_default` or else the
/// only one. Throws kUnknownName, kFormat and kUnsupported.
SignatureGraph signature_graph(const proto::MetaGraphDef& model, const std::string& name,
                               const std::string& source);

/// Returns the part of a SavedModel that serves: the one with the tag `serve`, else the first.
const proto::MetaGraphDef& serving_graph(const proto::SavedModel& model, const std::string& source);

}  // namespace emplace::tensorflow
