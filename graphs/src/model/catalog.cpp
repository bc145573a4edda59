#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/side_by_side.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace emplace {
GraphCatalog& GraphCatalog::global() {
  static GraphCatalog catalog;
  return catalog;
}

void GraphCatalog::add(GraphModel model) {
  EMPLACE_CHECK(model.build != nullptr, "graph '{}' has no build function", model.name);
  const auto [position, added] = models_.try_emplace(model.name, std::move(model));
  EMPLACE_CHECK(added, "two graphs are called '{}'", position->first);
}

std::vector<std::string> GraphCatalog::names() const {
  std::vector<std::string> result;
  result.reserve(models_.size());
  for (const auto& [name, model] : models_) {
    result.push_back(name);
  }
  return result;
}

const GraphModel& GraphCatalog::find(std::string_view name) const {
  const auto found = models_.find(name);
  if (found == models_.end()) {
    throw_unknown_name("graph", name, names());
  }
  return found->second;
}

OpGraph GraphCatalog::build(const Spec& spec) const {
  const GraphModel& model = find(spec.name);
  OpGraph graph =
      model.build(resolve_params(model.parameters, spec, fmt::format("graph {}", spec.name)));
  graph[boost::graph_bundle].name = spec.text();
  validate(graph, graph[boost::graph_bundle].name);
  return graph;
}

// Names of the catalog have no dot before their parameters.
bool names_graph_file(std::string_view name_or_path) {
  if (names_several_graphs(name_or_path)) {
    return true;
  }
  const std::string_view name = name_or_path.substr(0, name_or_path.find(':'));
  return name_or_path.find('/') != std::string_view::npos ||
         name.find('.') != std::string_view::npos;
}

GraphFile find_graph_file(std::string_view path_and_parameters) {
  std::error_code error;
  for (std::size_t end = path_and_parameters.size();;) {
    const std::string path(path_and_parameters.substr(0, end));
    if (std::filesystem::exists(path, error)) {
      const std::size_t begin = std::min(end + 1, path_and_parameters.size());
      return {.path = GraphFormats::global().file_of(path),
              .parameters = std::string(path_and_parameters.substr(begin))};
    }
    end = end == 0 ? std::string_view::npos : path_and_parameters.rfind(':', end - 1);
    if (end == std::string_view::npos) {
      return {.path = std::string(path_and_parameters)};
    }
  }
}

bool names_several_graphs(std::string_view name_or_path) {
  std::error_code error;
  return split_graphs(name_or_path).size() > 1 && !std::filesystem::exists(name_or_path, error);
}

OpGraph load_graph(std::string_view name_or_path) {
  if (names_several_graphs(name_or_path)) {
    const std::vector<std::string> names = split_graphs(name_or_path);
    std::vector<OpGraph> graphs;
    graphs.reserve(names.size());
    for (const std::string& name : names) {
      graphs.push_back(load_graph(name));
    }
    return side_by_side(graphs, part_names(names));
  }
  if (!names_graph_file(name_or_path)) {
    return GraphCatalog::global().build(Spec::parse(name_or_path));
  }
  const GraphFormats& formats = GraphFormats::global();
  const GraphFile file = find_graph_file(name_or_path);
  const std::string bytes = read_text_file(file.path);
  const std::string& format = formats.guess(bytes, file.path).name;
  if (file.parameters.empty()) {
    return formats.read({.name = format}, bytes, file.path);
  }
  OpGraph graph = formats.read(Spec::parse(format + ":" + file.parameters), bytes, file.path);
  graph[boost::graph_bundle].name += ":" + file.parameters;
  return graph;
}

std::vector<std::string> expand_graphs(std::string_view name_or_path) {
  if (names_graph_file(name_or_path)) {
    return {std::string(name_or_path)};
  }
  Spec spec = Spec::parse(name_or_path);
  const GraphModel& model = GraphCatalog::global().find(spec.name);
  const Params params = resolve_params(model.parameters, spec, fmt::format("graph {}", spec.name));
  const auto is = [](std::string_view key) {
    return [key](const auto& given) { return given.first == key; };
  };
  if (!model.is_family || std::ranges::any_of(spec.given, is("member"))) {
    return {std::string(name_or_path)};
  }
  std::erase_if(spec.given, is("members"));
  spec.given.emplace_back("member", "");
  std::vector<std::string> members;
  for (std::int64_t member = 0; member < params.get<std::int64_t>("members"); ++member) {
    spec.given.back().second = fmt::format("{}", member);
    members.push_back(spec.text());
  }
  return members;
}

std::vector<std::string> expand_graphs(std::span<const std::string> names_or_paths) {
  std::vector<std::string> graphs;
  for (const std::string& name : names_or_paths) {
    std::ranges::move(expand_graphs(name), std::back_inserter(graphs));
  }
  return graphs;
}

}  // namespace emplace
