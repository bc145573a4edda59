#pragma once

// The file formats in which graphs are read and written. A format is one file in graphs/src/formats
// that defines a FormatRegistration at namespace scope; nothing else needs an edit. `emplace
// convert`, `emplace list formats` and load_graph() all work from its GraphFormat.
// A format may be read only or written only. The graph that a reader returns is named after its
// file unless the file has a name for it, and is validated.

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// The content of a file, by which a format may recognize it.
struct FileContent {
  std::string_view bytes{};                 ///< all of the file
  std::vector<std::string> json_members{};  ///< see json_root_members()

  /// Returns whether the file is a JSON object with a member `name`.
  bool has(std::string_view name) const;
};

/// Describes a file format of graphs.
struct GraphFormat {
  std::string name{};       ///< kebab-case, stable
  std::string summary{};    ///< one line
  std::string reference{};  ///< where the format is described
  /// File name endings of this format and no other, in lower case: ".dot"
  std::vector<std::string> endings{};
  /// Names of files: a folder that contains one of them is a graph of this format.
  std::vector<std::string> folder_files{};
  std::vector<ParamSpec> read_parameters{};  ///< in the order in which they are listed
  /// The text among `read_parameters` that collects all other parameters, as `key:value;key:value`:
  /// sizes of dimensions that only the file names. Empty: there are no others.
  std::string other_parameters{};
  std::vector<ParamSpec> write_parameters{};  ///< in the order in which they are listed
  /// Returns whether a file is of this format and no other; null if the content does not show that.
  std::function<bool(const FileContent&)> recognizes{};
  /// Reads a graph; `source` is the name of the file in errors. Throws kFormat. Null if the format
  /// is only written.
  std::function<OpGraph(std::string_view bytes, const std::string& source, const Params&)> read{};
  /// Returns the file of a graph. Requires: validate() accepts it. Null if the format is only read.
  std::function<std::string(const OpGraph&, const Params&)> write{};
};

/// The known formats by name.
class GraphFormats {
 public:
  /// Returns the table of all registered formats.
  static GraphFormats& global();

  /// Adds a format; throws InternalError if its name is taken or it can neither be read nor
  /// written.
  void add(GraphFormat format);

  /// Returns the names, sorted.
  std::vector<std::string> names() const;

  /// Returns the format called `name`; throws kUnknownName.
  const GraphFormat& find(std::string_view name) const;

  /// Returns the format that a file name's ending identifies, or null.
  const GraphFormat* find_by_ending(std::string_view path) const;

  /// Returns the file of the graph at `path`: itself, or if it is a folder, the first of the
  /// formats' folder files in it.
  std::string file_of(const std::string& path) const;

  /// Returns the format identified by the file's content, or else by its ending; throws kFormat if
  /// neither identifies one or several formats recognize the content.
  const GraphFormat& guess(std::string_view bytes, std::string_view source) const;

  /// Reads and validates a graph in the format and with the parameters that `spec` names; `source`
  /// is the name of the file in errors. Throws kFormat, kUnknownName, kUsage for a parameter, and
  /// kUnsupported if the format is only written.
  OpGraph read(const Spec& spec, std::string_view bytes, const std::string& source) const;

  /// Returns the file of `graph` in the format and with the parameters that `spec` names. Throws
  /// kUnknownName, kUsage for a parameter, and kUnsupported if the format is only read or cannot
  /// represent the graph. Requires: validate() accepts the graph.
  std::string write(const Spec& spec, const OpGraph& graph) const;

 private:
  std::map<std::string, GraphFormat, std::less<>> formats_;
};

/// Adds a format to the global table when it is constructed.
struct FormatRegistration {
  explicit FormatRegistration(GraphFormat format) { GraphFormats::global().add(std::move(format)); }
};

}  // namespace emplace
