// GraphML, http://graphml.graphdrawing.org. Every member of an op is data of its node, under the
// same name; what a third-party file calls otherwise is ignored. Characters that XML cannot hold
// become U+FFFD. Nested graphs are read as if they were one; hyperedges and ports are not read.
//
// Boost.Graph's reader makes a node of an id that no node has, and overflows the stack where
// elements are nested too deep, so what a tag means is read here; the tests compare the two.

#include "attributed_graph.hpp"
#include "formats/text_cursor.hpp"
#include "formats/xml_reader.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace::graphml_format {
namespace {

// A key is a declared attribute; its default counts for every element without a value.
struct Key {
  std::string name;
  std::string domain;  // "graph", "node", "edge" or "all"
  std::string fallback{};
  bool has_fallback = false;
};

// A node, an edge or a graph.
struct Element {
  std::string kind;
  std::string id{};      // of a node
  std::string source{};  // of an edge
  std::string target{};
  std::size_t line = 0;
  TextAttributes attributes{};
};

class Parser final : private XmlReader {
 public:
  Parser(std::string_view text, const std::string& source) : XmlReader(source) {
    read(text);
    if (!has_graph_) {
      fail("expected a <graph>");
    }
    for (const auto& [id, key] : keys_) {
      for (auto& [kind, defaults] : defaults_) {
        if (key.has_fallback && (key.domain == kind || key.domain == "all")) {
          defaults.emplace_back(key.name, key.fallback);
        }
      }
    }
  }

  // Returns the attributes of an element, defaults first.
  TextAttributes attributes_of(const Element& element) const {
    TextAttributes all = defaults_.at(element.kind);
    all.insert(all.end(), element.attributes.begin(), element.attributes.end());
    return all;
  }

  std::vector<Element> nodes{};
  std::vector<Element> edges{};
  Element graph{.kind = "graph"};

 private:
  void start(std::string_view name) override {
    if (open_.empty() && name != "graphml") {
      fail(fmt::format("expected <graphml>, found <{}>", excerpt(name)));
    }
    open_.emplace_back(name);
    if (name == "key") {
      start_key();
    } else if (name == "graph") {
      has_graph_ = true;
      is_directed_ = required_attribute("edgedefault") == "directed";
    } else if (name == "node") {
      elements_.push_back({.kind = "node", .id = required_attribute("id"), .line = line()});
      // A node stands before those of its own graph.
      node_positions_.push_back(nodes.size());
      nodes.push_back(elements_.back());
    } else if (name == "edge") {
      start_edge();
    } else if (name == "data") {
      data_key_ = required_attribute("key");
    }
  }

  void start_key() {
    key_ = required_attribute("id");
    const std::string domain = attribute("for").value_or("all");
    if (!keys_.try_emplace(key_, Key{attribute("attr.name").value_or(key_), domain}).second) {
      fail(fmt::format("the key '{}' appears twice", excerpt(key_)));
    }
  }

  void start_edge() {
    const std::string directed = attribute("directed").value_or(is_directed_ ? "true" : "");
    if (directed != "true") {
      fail(
          "expected edgedefault or directed to say that the edge is directed: without a direction "
          "no op comes before another");
    }
    elements_.push_back({.kind = "edge",
                         .source = required_attribute("source"),
                         .target = required_attribute("target"),
                         .line = line()});
  }

  void end(std::string_view name) override {
    open_.pop_back();
    if (name == "default" && !open_.empty() && open_.back() == "key") {
      Key& key = keys_.at(key_);
      num_defaults_ += key.has_fallback ? 0 : 1;
      if (num_defaults_ > kMaxDefaults) {
        fail(fmt::format("expected at most {} keys with a default", kMaxDefaults));
      }
      key.fallback = text();
      key.has_fallback = true;
      if (key.fallback.size() > kMaxDefaultBytes) {
        fail(fmt::format("expected a default of at most {} bytes, found {}", kMaxDefaultBytes,
                         key.fallback.size()));
      }
    } else if (name == "data") {
      end_data();
    } else if (name == "node") {
      nodes[node_positions_.back()] = std::move(elements_.back());
      node_positions_.pop_back();
      elements_.pop_back();
    } else if (name == "edge") {
      edges.push_back(std::move(elements_.back()));
      elements_.pop_back();
    }
  }

  // Data of anything but nodes, edges and graphs (ports, hyperedges) is not for us.
  void end_data() {
    const auto key = keys_.find(data_key_);
    if (key == keys_.end()) {
      fail(fmt::format("no key has the id '{}'", excerpt(data_key_)));
    }
    const std::string_view parent = open_.empty() ? "" : std::string_view(open_.back());
    if (parent == "node" || parent == "edge") {
      elements_.back().attributes.emplace_back(key->second.name, text());
    } else if (parent == "graph" && elements_.empty()) {
      graph.attributes.emplace_back(key->second.name, text());
    }
  }

  std::vector<std::string> open_;
  std::vector<Element> elements_;
  std::vector<std::size_t> node_positions_;
  std::map<std::string, Key> keys_;
  std::size_t num_defaults_ = 0;
  std::map<std::string, TextAttributes> defaults_ = {{"graph", {}}, {"node", {}}, {"edge", {}}};
  std::string key_;       // the last that started
  std::string data_key_;  // of the data that started last
  bool has_graph_ = false;
  bool is_directed_ = false;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  const Parser parsed(text, source);
  AttributedGraphReader reader(params);
  for (const Element& node : parsed.nodes) {
    const std::string place = place_of(source, node.line);
    const nlohmann::json members = from_text(parsed.attributes_of(node));
    reader.add_node(node.id, node.id, {members, place, ""});
  }
  for (const Element& edge : parsed.edges) {
    const std::string place = place_of(source, edge.line);
    const nlohmann::json attributes = from_text(parsed.attributes_of(edge));
    reader.add_edge(edge.source, edge.target, {attributes, place, ""});
  }
  const nlohmann::json attributes = from_text(parsed.attributes_of(parsed.graph));
  return std::move(reader).finish({attributes, source, ""});
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : without_forbidden_characters(text)) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\r':  // a reader would take it for a new line
        result += "&#13;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

// Writes elements and remembers which keys they use.
class GraphmlWriter {
 public:
  std::string write(const OpGraph& op_graph) {
    add_data("graph", text_attributes(op_graph[boost::graph_bundle]));
    for (const auto op : boost::make_iterator_range(boost::vertices(op_graph))) {
      fmt::format_to(std::back_inserter(body_), "<node id=\"n{}\">", op);
      add_data("node", text_attributes(op_graph[op]));
      body_ += "</node>\n";
    }
    for (const auto edge : boost::make_iterator_range(boost::edges(op_graph))) {
      fmt::format_to(std::back_inserter(body_), "<edge source=\"n{}\" target=\"n{}\">",
                     boost::source(edge, op_graph), boost::target(edge, op_graph));
      add_data("edge", text_attributes(op_graph, edge));
      body_ += "</edge>\n";
    }
    std::string text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
    for (const auto& [id, key] : keys_) {
      text += fmt::format("<key id=\"{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n", id,
                          key.domain, key.name, type_of(key.name));
    }
    return text + "<graph edgedefault=\"directed\">\n" + body_ + "</graph>\n</graphml>\n";
  }

 private:
  static std::string_view type_of(std::string_view name) {
    const bool is_long =
        name == "flops" || name == "parameters" || name.find("bytes") != std::string_view::npos;
    return is_long ? "long" : name == "output" ? "int" : "string";
  }

  void add_data(const std::string& domain, const TextAttributes& attributes) {
    for (const auto& [name, value] : attributes) {
      const std::string id = domain + '_' + name;
      keys_.try_emplace(id, Key{name, domain});
      fmt::format_to(std::back_inserter(body_), "<data key=\"{}\">{}</data>", id, escaped(value));
    }
  }

  std::map<std::string, Key> keys_;
  std::string body_;
};

std::string write(const OpGraph& graph, const Params&) { return GraphmlWriter().write(graph); }

const FormatRegistration kRegistration(
    {.name = "graphml",
     .summary = "XML of networkx, yEd, Gephi, igraph; loses nothing",
     .reference = "graphml.graphdrawing.org",
     .endings = {".graphml"},
     .read_parameters = attribute_parameters("graphml"),
     .recognizes =
         [](const FileContent& file) {
           constexpr std::size_t kFarEnough = 4096;
           return file.bytes.substr(0, kFarEnough).find("<graphml") != std::string_view::npos;
         },
     .read = read,
     .write = write});

}  // namespace
}  // namespace emplace::graphml_format
