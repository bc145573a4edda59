#include "model/assemble.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/side_by_side.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace emplace {
namespace {

constexpr std::string_view kBetweenGraphs = " + ";

void add_part(OpGraph& whole, const OpGraph& part, const std::string& name) {
  const OpId first = num_ops(whole);
  for (OpId op = 0; op < num_ops(part); ++op) {
    Op copy = part[index_of(op)];
    copy.name = fmt::format("{}/{}", name, copy.name);
    copy.scope = copy.scope.empty() ? name : fmt::format("{}/{}", name, copy.scope);
    if (!copy.colocation.empty()) {
      copy.colocation = fmt::format("{}/{}", name, copy.colocation);
    }
    boost::add_vertex(copy, whole);
  }
  for (OpId op = 0; op < num_ops(part); ++op) {
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), part))) {
      const auto producer = static_cast<OpId>(boost::source(edge, part));
      add_dependency(whole, first + producer, part[edge].output, first + op);
    }
  }
}

}  // namespace

std::vector<std::string> split_graphs(std::string_view text) {
  std::vector<std::string> graphs;
  for (std::size_t end = text.find(kBetweenGraphs); end != std::string_view::npos;
       end = text.find(kBetweenGraphs)) {
    graphs.emplace_back(text.substr(0, end));
    text.remove_prefix(end + kBetweenGraphs.size());
  }
  graphs.emplace_back(text);
  return graphs;
}

std::string join_graphs(std::span<const std::string> graphs) {
  return fmt::format("{}", fmt::join(graphs, kBetweenGraphs));
}

std::vector<std::string> part_names(std::span<const std::string> graphs) {
  std::vector<std::string> names;
  names.reserve(graphs.size());
  for (const std::string& graph : graphs) {
    const std::string name = std::filesystem::path(graph.substr(0, graph.find(':'))).stem();
    std::string unique = name;
    for (int number = 2; std::ranges::find(names, unique) != names.end(); ++number) {
      unique = fmt::format("{}_{}", name, number);
    }
    names.push_back(std::move(unique));
  }
  return names;
}

OpGraph side_by_side(std::span<const OpGraph> graphs, std::span<const std::string> names) {
  EMPLACE_CHECK(graphs.size() == names.size(), "{} graphs, {} names", graphs.size(), names.size());
  OpGraph whole;
  std::vector<std::string> texts;
  std::vector<std::string> sources;
  std::vector<std::string> warnings;
  for (std::size_t at = 0; at < graphs.size(); ++at) {
    const GraphInfo& info = graphs[at][boost::graph_bundle];
    add_part(whole, graphs[at], names[at]);
    texts.push_back(info.name);
    sources.push_back(fmt::format("{}: {}", names[at], info.source));
    for (const std::string& warning : info.warnings) {
      warnings.push_back(fmt::format("{}: {}", names[at], warning));
    }
  }
  whole[boost::graph_bundle] = {.name = join_graphs(texts),
                                .source = fmt::format("{}", fmt::join(sources, "; ")),
                                .warnings = std::move(warnings)};
  return take(whole);
}

}  // namespace emplace
