#include "group_graph.hpp"

#include <emplace/graphs/grouping_picture.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// What is drawn of one group.
struct Node {
  GroupContent content{};
  std::string_view first_scope{};  // of its op with the least id
  std::string_view last_scope{};
  std::int64_t ops = 0;
  double flops = 0;
  double handed_on_bytes = 0;
};

// Where a group stands, and in which colour.
enum class Column { kForward, kBackward, kBoth };

Column column_of(const Node& node) {
  if (!node.content.backward) {
    return Column::kForward;
  }
  return node.content.forward ? Column::kBoth : Column::kBackward;
}

// Returns a number with three digits and a prefix of the SI: 3.41 GFLOP.
std::string with_prefix(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) {
    value /= 1000;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

// Returns text for a label in Graphviz' HTML, with control characters replaced.
std::string as_html(std::string_view text) {
  std::string html;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += static_cast<unsigned char>(letter) < 0x20 ? '?' : letter;
    }
  }
  return html;
}

// Returns a scope that fits into a box: its end where it is long.
std::string short_scope(std::string_view scope) {
  constexpr std::size_t kMaxLetters = 36;
  if (scope.size() <= kMaxLetters) {
    return as_html(scope);
  }
  std::size_t begin = scope.size() - kMaxLetters;
  while (begin < scope.size() && (static_cast<unsigned char>(scope[begin]) & 0xC0) == 0x80) {
    ++begin;  // not into the middle of a letter of UTF-8
  }
  return "…" + as_html(scope.substr(begin));
}

// Hue, saturation and value; the share is that of the heaviest group.
std::string colour_of(Column column, double share) {
  constexpr double kBlue = 0.58;
  constexpr double kOrange = 0.08;
  constexpr double kViolet = 0.77;
  const double hue = column == Column::kForward    ? kBlue
                     : column == Column::kBackward ? kOrange
                                                   : kViolet;
  return fmt::format("{:.3f} {:.3f} {:.3f}", hue, 0.08 + 0.55 * std::sqrt(share), 0.98);
}

std::vector<Node> nodes_of(const OpGraph& graph, const Grouping& grouping) {
  std::vector<Node> nodes(index(grouping.size()));
  const std::vector<std::int64_t> handed_on = handed_on_bytes(graph, grouping);
  for (GroupId group = 0; group < grouping.size(); ++group) {
    Node& node = nodes[index(group)];
    for (const OpId id : grouping.members(group)) {
      const Op& op = graph[index(id)];
      node.content = node.ops == 0 ? content_of(op) : merged(node.content, content_of(op));
      node.flops += static_cast<double>(op.flops);
      ++node.ops;
    }
    node.first_scope = graph[index(grouping.members(group).front())].scope;
    node.last_scope = graph[index(grouping.members(group).back())].scope;
    node.handed_on_bytes = static_cast<double>(handed_on[index(group)]);
  }
  return nodes;
}

std::map<std::pair<GroupId, GroupId>, double> edges_of(const OpGraph& graph,
                                                       const Grouping& grouping) {
  std::vector<GroupId> group_of;
  for (OpId op = 0; op < grouping.num_ops(); ++op) {
    group_of.push_back(grouping.group_of(op));
  }
  const GroupEdges uses = edges_between(graph, group_of);
  std::map<std::pair<GroupId, GroupId>, double> bytes;
  for (std::size_t i = 0; i < uses.ends.size(); ++i) {
    bytes[uses.ends[i]] += static_cast<double>(uses.bytes[i]);
  }
  return bytes;
}

// Returns what the ops' scopes share; where that is nothing, the layers of the first and the last.
std::string title_of(GroupId group, const Node& node) {
  if (!node.content.scope.empty()) {
    return short_scope(node.content.scope);
  }
  const auto layer = [](std::string_view scope) { return scope.substr(0, scope.find('/')); };
  const std::string_view first = layer(node.first_scope);
  const std::string_view last = layer(node.last_scope);
  return first.empty() || last.empty() ? fmt::format("group {}", group)
                                       : short_scope(first) + " – " + short_scope(last);
}

std::string node_line(GroupId group, const Node& node, double heaviest) {
  return fmt::format(
      "{} [label=<<b>{}</b><br/><font point-size=\"9\">{} op{}, {}, {}</font>>, "
      "fillcolor=\"{}\", tooltip=\"group {}: {}\"];\n",
      group, title_of(group, node), node.ops, node.ops == 1 ? "" : "s",
      with_prefix(node.flops, "FLOP"), with_prefix(node.handed_on_bytes, "B"),
      colour_of(column_of(node), static_cast<double>(node.content.work) / heaviest), group,
      as_html(node.content.scope));
}

// Edges lay the picture out: down the forward pass, up the backward pass, and sideways from a
// forward group to what of the backward pass reads it.
std::string edge_lines(const std::vector<Node>& nodes,
                       const std::map<std::pair<GroupId, GroupId>, double>& edges) {
  double most = 1;
  for (const auto& [ends, bytes] : edges) {
    most = std::max(most, bytes);
  }
  constexpr double kToldShare = 0.5;  // of the most bytes on an edge
  std::string text;
  for (const auto& [ends, bytes] : edges) {
    const auto [from, to] = ends;
    const bool from_backward = column_of(nodes[index(from)]) == Column::kBackward;
    const bool to_backward = column_of(nodes[index(to)]) == Column::kBackward;
    const bool runs_up = from_backward && to_backward;
    const std::string amount = with_prefix(bytes, "B");
    std::string style =
        fmt::format("penwidth={:.2f}, tooltip=\"{}\"", 0.5 + 3.5 * std::sqrt(bytes / most), amount);
    if (bytes >= kToldShare * most) {
      style += fmt::format(", label=\"{}\"", amount);
    } else if (bytes == 0) {
      style += ", style=dashed";
    }
    if (from_backward == to_backward) {
      style += runs_up ? ", weight=12, dir=back" : ", weight=12";
    } else {
      style += to_backward ? ", minlen=0" : ", constraint=false";
    }
    text += fmt::format("{} -> {} [{}];\n", runs_up ? to : from, runs_up ? from : to, style);
  }
  return text;
}

}  // namespace

std::string write_grouping_dot(const OpGraph& graph, const Grouping& grouping,
                               const std::string& caption) {
  const std::vector<Node> nodes = nodes_of(graph, grouping);
  double heaviest = 1;
  for (const Node& node : nodes) {
    heaviest = std::max(heaviest, static_cast<double>(node.content.work));
  }
  std::string text = fmt::format(
      "digraph groups {{\n"
      "graph [fontname=\"Helvetica\", fontsize=22, labelloc=t, nodesep=0.25, ranksep=0.4, "
      "pad=0.4,\n"
      "       label=<<b>{}</b><br/><br/><font point-size=\"12\">{}<br/>blue: forward, orange: "
      "backward "
      "and updates, violet: both; the darker, the more work</font><br/>>];\n"
      "node [shape=box, style=\"rounded,filled\", color=\"#00000030\", fontname=\"Helvetica\",\n"
      "      fontsize=11, margin=\"0.12,0.06\"];\n"
      "edge [color=\"#40506080\", arrowsize=0.6, fontname=\"Helvetica\", fontsize=9,\n"
      "      fontcolor=\"#405060\"];\n",
      as_html(graph[boost::graph_bundle].name), as_html(caption));
  for (GroupId group = 0; group < grouping.size(); ++group) {
    text += node_line(group, nodes[index(group)], heaviest);
  }
  text += edge_lines(nodes, edges_of(graph, grouping));
  return text + "}\n";
}

}  // namespace emplace
