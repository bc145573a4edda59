#pragma once

// The graphs that emplace can build by name. A model is one file in graphs/src/models that defines
// a GraphRegistration at namespace scope; nothing else needs an edit. Listings, parameters on the
// command line and in suites, and checks of their bounds all come from its GraphModel.

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Describes a graph that can be built by name.
struct GraphModel {
  std::string name{};                             ///< kebab-case, stable
  std::string summary{};                          ///< one line
  std::string reference{};                        ///< paper
  std::vector<ParamSpec> parameters{};            ///< in the order in which they are listed
  std::function<OpGraph(const Params&)> build{};  ///< makes the graph, which is then validated
  bool is_family = false;                         ///< has members to choose from (graph_family.hpp)
};

/// The known models by name.
class GraphCatalog {
 public:
  /// Returns the catalog of all registered models.
  static GraphCatalog& global();

  /// Adds a model; throws InternalError if its name is taken.
  void add(GraphModel model);

  /// Returns the names, sorted.
  std::vector<std::string> names() const;

  /// Returns the model called `name`; throws kUnknownName.
  const GraphModel& find(std::string_view name) const;

  /// Builds and validates the graph of `spec`. Its name is the spec's text.
  OpGraph build(const Spec& spec) const;

 private:
  std::map<std::string, GraphModel, std::less<>> models_;
};

/// Adds a model to the global catalog when it is constructed.
struct GraphRegistration {
  explicit GraphRegistration(GraphModel model) { GraphCatalog::global().add(std::move(model)); }
};

/// The path of a graph's file, and the parameters of its format that a user wrote after it.
struct GraphFile {
  std::string path{};
  std::string parameters{};  ///< `key=value,key=value`, or nothing
};

/// Says whether a text names several graphs, "A + B", and is not the path of a file.
bool names_several_graphs(std::string_view name_or_path);

/// Says whether `name_or_path` is that of a file (anything with a '/', or a '.' before any ':') or
/// of several graphs, not one of the catalog.
bool names_graph_file(std::string_view name_or_path);

/// Splits `PATH[:key=value,...]`. A ':' is part of the path if the text before it is not a file.
GraphFile find_graph_file(std::string_view path_and_parameters);

/// Returns the graph that a user named: `NAME[:key=value,...]` of the catalog, or
/// `PATH[:key=value,...]` of a file of a format that its content or ending identifies, with
/// parameters of that format: "model.onnx:batch=32".
OpGraph load_graph(std::string_view name_or_path);

/// Returns the graphs that `name_or_path` means in a list: the members of a family without a
/// chosen member (graph_family.hpp), otherwise the graph itself. Each is a name for load_graph().
/// Throws kUsage or kUnknownName if load_graph() would for a name; files are not opened.
std::vector<std::string> expand_graphs(std::string_view name_or_path);

/// Returns the graphs of a list, in its order.
std::vector<std::string> expand_graphs(std::span<const std::string> names_or_paths);

}  // namespace emplace
