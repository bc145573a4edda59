#pragma once

// TensorFlow's messages, binary or text, and what several readers of them ask of a node.

#include <emplace/graphs/op_graph.hpp>

#include <graphs/src/protobuf/tensorflow.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::tensorflow {

namespace proto = emplace::tensorflow_proto;

/// Lists the extents of a tensor, outermost first.
using Shape = std::vector<std::int64_t>;

/// Reads a message, binary or text; `source` is the name of the file in errors. Throws kFormat.
proto::GraphDef read_graph_def(std::string_view bytes, const std::string& source);
proto::MetaGraphDef read_meta_graph(std::string_view bytes, const std::string& source);
proto::SavedModel read_saved_model(std::string_view bytes, const std::string& source);
proto::RunMetadata read_run_metadata(std::string_view bytes, const std::string& source);

/// Says whether the bytes are a SavedModel and no graph.
bool is_saved_model(std::string_view bytes);

/// Says whether the bytes are a MetaGraphDef as text.
bool is_text_meta_graph(std::string_view bytes);

/// Returns the type of elements. Texts, resources and variants count as numbers of 8 bytes, as
/// handles, and so do types that are not known. Numbers of fewer than 8 bits take a byte each.
DataType data_type(int type);

/// Returns the attribute `name` of `node`, or null.
const proto::AttrValue* find_attribute(const proto::NodeDef& node, const std::string& name);

/// Returns an attribute of `node`, or what holds where it has none.
std::int64_t integer_attribute(const proto::NodeDef& node, const std::string& name,
                               std::int64_t fallback);
bool flag_attribute(const proto::NodeDef& node, const std::string& name, bool fallback);
std::string text_attribute(const proto::NodeDef& node, const std::string& name,
                           const std::string& fallback);
Shape integers_attribute(const proto::NodeDef& node, const std::string& name);

/// The last result that an operator may have: files with larger numbers are broken.
inline constexpr std::int32_t kMaxOutput = 65535;

/// Names a result of a node: "node", "node:1", or "^node" for an order.
struct Input {
  /// The output of an input that only orders.
  static constexpr std::int32_t kControl = Dependency::kControl;

  std::string node{};
  std::int32_t output = 0;
};

/// Reads an input of the node `reader`; throws kFormat, without the name of the file.
Input parse_input(const std::string& text);

}  // namespace emplace::tensorflow
