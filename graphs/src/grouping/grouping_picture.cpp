#include "group_graph.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/graphs/grouping_picture.hpp>
#include <emplace/graphs/layered_layout.hpp>

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

// What is drawn of one group.
struct PictureNode {
  GroupContent content{};
  std::string_view first_scope{};  // of its op with the least id
  std::string_view last_scope{};
  std::int64_t ops = 0;
  double flops = 0;
  double outgoing_bytes = 0;
};

// Where a group stands, and in which colour.
enum class Column { kForward, kBackward, kBoth };

Column column_of(const PictureNode& node) {
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

std::vector<PictureNode> nodes_of(const OpGraph& graph, const Grouping& grouping) {
  std::vector<PictureNode> nodes(index_of(grouping.size()));
  const std::vector<std::int64_t> outgoing = outgoing_bytes(graph, grouping);
  for (GroupId group = 0; group < grouping.size(); ++group) {
    PictureNode& node = nodes[index_of(group)];
    for (const OpId id : grouping.members(group)) {
      const Op& op = graph[index_of(id)];
      node.content = node.ops == 0 ? content_of(op) : merged(node.content, content_of(op));
      node.flops += static_cast<double>(op.flops);
      ++node.ops;
    }
    node.first_scope = graph[index_of(grouping.members(group).front())].scope;
    node.last_scope = graph[index_of(grouping.members(group).back())].scope;
    node.outgoing_bytes = static_cast<double>(outgoing[index_of(group)]);
  }
  return nodes;
}

double heaviest_of(const std::vector<PictureNode>& nodes) {
  double heaviest = 1;
  for (const PictureNode& node : nodes) {
    heaviest = std::max(heaviest, static_cast<double>(node.content.work));
  }
  return heaviest;
}

std::map<std::pair<GroupId, GroupId>, double> edges_of(const OpGraph& graph,
                                                       const Grouping& grouping) {
  std::vector<GroupId> group_of;
  group_of.reserve(index_of(grouping.num_ops()));
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
std::string title_of(GroupId group, const PictureNode& node) {
  if (!node.content.scope.empty()) {
    return std::string(node.content.scope);
  }
  const auto layer = [](std::string_view scope) { return scope.substr(0, scope.find('/')); };
  const std::string_view first = layer(node.first_scope);
  const std::string_view last = layer(node.last_scope);
  return first.empty() || last.empty() ? fmt::format("group {}", group)
                                       : fmt::format("{} – {}", first, last);
}

std::string facts_of(const PictureNode& node) {
  return fmt::format("{}, {}, {}", counted(node.ops, "op"), with_prefix(node.flops, "FLOP"),
                     with_prefix(node.outgoing_bytes, "B"));
}

// In pixels.
constexpr double kTitleSize = 10.5;
constexpr double kLabelSize = 9;
constexpr double kBoldWidth = 1.12;  // times that of plain letters
constexpr double kWideFont = 1.15;   // DejaVu Sans, which Linux mostly has, is as much wider

// Draws groups as boxes, and what they read of each other as curves through the layers.
class GroupingSvg {
 public:
  GroupingSvg(const OpGraph& graph, const Grouping& grouping, const GroupColors& colors)
      : name_(graph[boost::graph_bundle].name), nodes_(nodes_of(graph, grouping)), colors_(colors) {
    std::vector<LayeredEdge> down;
    for (const auto& [ends, bytes] : edges_of(graph, grouping)) {
      edges_.push_back({.from = ends.first, .to = ends.second, .bytes = bytes});
      most_bytes_ = std::max(most_bytes_, bytes);
      const bool runs_up = is_backward(ends.first) && is_backward(ends.second);
      const double weight = is_backward(ends.first) == is_backward(ends.second) ? kPassWeight : 1;
      down.push_back(runs_up ? LayeredEdge{ends.second, ends.first, weight}
                             : LayeredEdge{ends.first, ends.second, weight});
    }
    layout_ = layered_layout(grouping.size(), down, kSizes);
  }

  GroupingPicture draw(const std::string& caption) {
    const double width = std::max(layout_.width, kLeastWidth) + 2 * kMargin;
    const std::vector<LegendEntry> legend = place_legend(width);
    const double legend_bottom = kLegendTop + (legend.empty() ? 0 : legend.back().y);
    top_ = legend_bottom + 2 * kLegendStep;
    left_ = (width - layout_.width) / 2;
    const double height = top_ + layout_.height + kMargin;
    Svg svg(width, height);
    svg.text(kMargin, 36, fitted_text(name_, width - 2 * kMargin, kWideFont * 18),
             "font-size=\"18\" font-weight=\"bold\"");
    svg.text(kMargin, 56, fitted_text(caption, width - 2 * kMargin, kWideFont * 12));
    for (const LegendEntry& entry : legend) {
      svg.rect(kMargin + entry.x, kLegendTop + entry.y - 9, 14, 11,
               fmt::format("rx=\"2\" fill=\"{}\"", tinted_color(entry.color, kDarkest)));
      svg.text(kMargin + entry.x + 20, kLegendTop + entry.y, entry.name);
    }
    svg.text(kMargin, legend_bottom + kLegendStep,
             "darker: more work; thicker: more bytes" +
                 (colors_.edge_legend.empty() ? "" : "; dark edges: " + colors_.edge_legend),
             "font-size=\"11\" fill=\"#555\"");
    draw_edges(svg);
    draw_groups(svg);
    return {.svg = std::move(svg).finish(), .width = width, .height = height};
  }

 private:
  static constexpr LayeredSizes kSizes{};
  static constexpr double kMargin = 24;
  static constexpr double kLeastWidth = 680;
  static constexpr double kLegendTop = 80;
  static constexpr double kLegendStep = 18;
  static constexpr double kInset = 7;        // of the text in a box
  static constexpr double kPassWeight = 8;   // of edges within a pass, which make its column
  static constexpr double kArrow = 5;        // the length of an arrow's head
  static constexpr double kLightest = 0.18;  // tints on which black text is legible
  static constexpr double kDarkest = 0.62;

  struct Edge {
    GroupId from;
    GroupId to;
    double bytes;
  };
  struct LegendEntry {
    double x;
    double y;
    std::size_t color;
    std::string name;
  };

  bool is_backward(GroupId group) const {
    return column_of(nodes_[index_of(group)]) == Column::kBackward;
  }

  std::vector<LegendEntry> place_legend(double width) const {
    std::vector<LegendEntry> entries;
    double x = 0;
    double y = 0;
    for (std::size_t color = 0; color < colors_.legend.size(); ++color) {
      if (colors_.legend[color].empty()) {
        continue;
      }
      std::string name = fitted_text(colors_.legend[color], 300, 12);
      const double needed = 20 + kWideFont * text_width(name, 12) + 24;
      if (x > 0 && x + needed > width - 2 * kMargin) {
        x = 0;
        y += kLegendStep;
      }
      entries.push_back({x, y, color, std::move(name)});
      x += needed;
    }
    return entries;
  }

  LayeredLayout::Point center(GroupId group) const {
    const LayeredLayout::Point& point = layout_.center[index_of(group)];
    return {left_ + point.x, top_ + point.y};
  }

  // Goes straight down through layers, and in a curve from one to the next.
  std::string curve(std::size_t at) const {
    const Edge& edge = edges_[at];
    LayeredLayout::Point upper = center(edge.from);
    LayeredLayout::Point lower = center(edge.to);
    const bool runs_up = upper.y > lower.y;
    if (runs_up) {
      std::swap(upper, lower);
    }
    constexpr double kHalf = kSizes.node_height / 2;
    std::vector<LayeredLayout::Point> stops = {{upper.x, upper.y + kHalf + (runs_up ? kArrow : 0)}};
    std::vector<LayeredLayout::Point> route = layout_.route[at];
    std::ranges::sort(route, {}, &LayeredLayout::Point::y);
    for (const auto& [x, y] : route) {
      stops.push_back({left_ + x, top_ + y - kHalf});
      stops.push_back({left_ + x, top_ + y + kHalf});
    }
    stops.push_back({lower.x, lower.y - kHalf - (runs_up ? 0 : kArrow)});
    if (runs_up) {
      std::ranges::reverse(stops);
    }
    std::string path = fmt::format("M{} {}", svg_number(stops[0].x), svg_number(stops[0].y));
    for (std::size_t i = 1; i < stops.size(); ++i) {
      const auto& [x, y] = stops[i];
      if (svg_number(x) == svg_number(stops[i - 1].x)) {
        path += "V" + svg_number(y);
      } else {
        const std::string middle = svg_number((stops[i - 1].y + y) / 2);
        path += fmt::format("C{} {} {} {} {} {}", svg_number(stops[i - 1].x), middle, svg_number(x),
                            middle, svg_number(x), svg_number(y));
      }
    }
    return path;
  }

  void draw_edges(Svg& svg) const {
    svg.open(
        "id=\"head\" viewBox=\"0 0 6 6\" refX=\"1\" refY=\"3\" markerWidth=\"6\" "
        "markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"",
        {}, "marker");
    svg.path("M0 0L6 3L0 6Z", "fill=\"#667788\"");
    svg.close("marker");
    // The opacity is that of all edges together: where they share a way, they are no darker.
    for (const bool cut : {false, true}) {
      svg.open(fmt::format("fill=\"none\" stroke=\"{}\" opacity=\"{}\"", cut ? "#000" : "#405060",
                           cut ? "0.75" : "0.4"));
      for (std::size_t at = 0; at < edges_.size(); ++at) {
        if (is_cut(edges_[at]) == cut) {
          draw_edge(svg, at);
        }
      }
      svg.close();
    }
  }

  bool is_cut(const Edge& edge) const {
    return !colors_.edge_legend.empty() &&
           colors_.marks[index_of(edge.from)].color != colors_.marks[index_of(edge.to)].color;
  }

  void draw_edge(Svg& svg, std::size_t at) const {
    const auto& [from, to, bytes] = edges_[at];
    svg.path(
        curve(at),
        fmt::format("stroke-width=\"{}\"{} marker-end=\"url(#head)\"",
                    svg_number(0.6 + 3.4 * std::sqrt(bytes / most_bytes_)),
                    bytes == 0 ? " stroke-dasharray=\"3 3\"" : ""),
        fmt::format("{} from {} to {}", with_prefix(bytes, "B"),
                    title_of(from, nodes_[index_of(from)]), title_of(to, nodes_[index_of(to)])));
  }

  void draw_groups(Svg& svg) const {
    svg.open(fmt::format("stroke=\"none\" font-size=\"{}\"", svg_number(kLabelSize)));
    for (GroupId group = 0; group < static_cast<GroupId>(nodes_.size()); ++group) {
      const PictureNode& node = nodes_[index_of(group)];
      const GroupColors::Mark& mark = colors_.marks[index_of(group)];
      const auto [x, y] = center(group);
      const double left = x - kSizes.node_width / 2;
      const double top = y - kSizes.node_height / 2;
      const double room = kSizes.node_width - 2 * kInset;
      const std::string title = title_of(group, node);
      svg.open("", fmt::format("group {}, {}: {}{}", group, title, facts_of(node), mark.note));
      svg.rect(left, top, kSizes.node_width, kSizes.node_height,
               fmt::format("rx=\"5\" fill=\"{}\" stroke=\"{}\"",
                           tinted_color(mark.color,
                                        kLightest + (kDarkest - kLightest) * std::sqrt(mark.share)),
                           tinted_color(mark.color, 0.8)));
      svg.text(left + kInset, top + 14,
               fitted_text(title, room, kWideFont * kBoldWidth * kTitleSize, CutEnd::kFront),
               fmt::format("font-size=\"{}\" font-weight=\"bold\"", svg_number(kTitleSize)));
      svg.text(left + kInset, top + 27, fitted_text(mark.label, room, kWideFont * kLabelSize));
      svg.close();
    }
    svg.close();
  }

  std::string name_;
  std::vector<PictureNode> nodes_;
  std::vector<Edge> edges_;
  double most_bytes_ = 1;
  const GroupColors& colors_;
  LayeredLayout layout_;
  double left_ = 0;  // of the layout in the picture
  double top_ = 0;
};

}  // namespace

GroupColors colors_by_pass(const OpGraph& graph, const Grouping& grouping) {
  GroupColors colors{.legend = {"forward", "backward and updates", "both"}};
  const std::vector<PictureNode> nodes = nodes_of(graph, grouping);
  const double heaviest = heaviest_of(nodes);
  for (const PictureNode& node : nodes) {
    colors.marks.push_back({.color = static_cast<std::size_t>(column_of(node)),
                            .share = static_cast<double>(node.content.work) / heaviest,
                            .label = facts_of(node)});
  }
  return colors;
}

GroupingPicture draw_grouping(const OpGraph& graph, const Grouping& grouping,
                              const std::string& caption, const GroupColors& colors) {
  EMPLACE_CHECK(colors.marks.size() == index_of(grouping.size()), "{} marks of {} groups",
                colors.marks.size(), grouping.size());
  return GroupingSvg(graph, grouping, colors).draw(caption);
}

}  // namespace emplace
