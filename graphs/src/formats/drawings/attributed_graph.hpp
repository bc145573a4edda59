#pragma once

// Graphs whose nodes and edges carry named attributes: what node-link JSON, DOT and GraphML have in
// common. Each of the three is only a syntax for this.
//
// A node's attributes are the members of an op in our own format, under the same names; what no op
// has is ignored. An edge has `output`, the index among the producer's `outputs` or -1 for a
// control edge, and `bytes`. Third-party files have no `output`: edges of one producer with the
// same bytes are then uses of one tensor, because an op hands out a value and not a message, and an
// edge without bytes is a control edge. A third-party node may have one cost in microseconds.

#include "model/op_json.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace {

/// Returns the parameters of reading: which attributes are a node's cost and an edge's bytes, and
/// the device class that the costs are of, by default `device_class`.
std::vector<ParamSpec> attribute_parameters(const std::string& device_class);

/// Makes an OpGraph of nodes and edges with attributes: all nodes first, then all edges.
class AttributedGraphReader {
 public:
  /// Reads with the values of attribute_parameters().
  explicit AttributedGraphReader(const Params& params);

  /// Adds an op. `id` is what edges call it, `name` what it is called unless it has an attribute of
  /// that name. `names` are attributes that the file calls otherwise.
  void add_node(const std::string& id, const std::string& name, const JsonCursor& attributes,
                const MemberNames& names = {});

  /// Adds an edge between nodes that were added.
  void add_edge(const std::string& source, const std::string& target, const JsonCursor& attributes,
                const MemberNames& names = {});

  /// Returns the graph, with the name and the source that its `attributes` say.
  OpGraph finish(const JsonCursor& attributes, const MemberNames& names = {}) &&;

 private:
  OpId find(const std::string& id, const JsonCursor& edge) const;
  std::int32_t output_of(OpId producer, const JsonCursor& edge, std::string_view bytes_name);

  std::string cost_;
  std::string device_class_;
  std::string bytes_;
  OpGraph graph_;
  std::unordered_map<std::string, OpId> op_of_;  // by id
  std::map<std::pair<OpId, std::int64_t>, std::int32_t> output_of_bytes_;
  IdVector<OpId, bool> lists_outputs_;  // the file says all that it has
};

/// Holds attributes as text, in the order in which they are written.
using TextAttributes = std::vector<std::pair<std::string, std::string>>;

/// The defaults that a file may declare for all of its nodes or edges, and the bytes of one: they
/// count for each element, so many or long ones could make a short file long.
inline constexpr std::size_t kMaxDefaults = 64;
inline constexpr std::size_t kMaxDefaultBytes = 200;

/// Returns attributes that were written as text: each value is a JSON value if a node, an edge or a
/// graph keeps no text under that name.
nlohmann::json from_text(const TextAttributes& attributes);

/// Returns the members of an op that have not their default value.
TextAttributes text_attributes(const Op& op);

/// Returns `output` and, for all but control edges, `bytes`.
TextAttributes text_attributes(const OpGraph& graph,
                               const boost::graph_traits<OpGraph>::edge_descriptor& edge);

/// Returns name and source.
TextAttributes text_attributes(const GraphInfo& info);

}  // namespace emplace
