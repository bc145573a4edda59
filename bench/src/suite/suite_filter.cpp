#include "suite_parts.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/suite_filter.hpp>

#include <boost/algorithm/string/split.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace emplace::bench {
namespace {

bool is_called(const std::string& name, std::string_view wanted) {
  return name == wanted || std::string_view(name).substr(0, name.find(':')) == wanted;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  boost::algorithm::split(parts, text, [](char c) { return c == ','; });
  return parts;
}

// Removes the elements that have none of the wanted names. Names may contain commas, so that what
// is a name as a whole is not split.
template <class Element>
void keep(std::vector<Element>& elements, const std::vector<std::string>& wanted,
          const std::string& suite, std::string_view what,
          const std::function<std::vector<std::string>(const Element&)>& names_of) {
  if (wanted.empty()) {
    return;
  }
  const auto has_name = [&](const Element& element, const std::string& name) {
    return std::ranges::any_of(names_of(element),
                               [&](const std::string& own) { return is_called(own, name); });
  };
  const auto any_has = [&](const std::string& name) {
    return std::ranges::any_of(elements,
                               [&](const Element& element) { return has_name(element, name); });
  };
  std::vector<std::string> names;
  for (const std::string& text : wanted) {
    for (std::string& name : any_has(text) ? std::vector{text} : split_at_commas(text)) {
      if (!any_has(name)) {
        std::vector<std::string> known;
        known.reserve(elements.size());
        for (const Element& element : elements) {
          known.push_back(names_of(element).front());
        }
        throw Error(ErrorCode::kUnknownName,
                    fmt::format("the suite '{}' has no {} '{}'{}", suite, what, excerpt(name),
                                suggest_names(name, known)));
      }
      names.push_back(std::move(name));
    }
  }
  std::erase_if(elements, [&](const Element& element) {
    return std::ranges::none_of(names,
                                [&](const std::string& name) { return has_name(element, name); });
  });
}

}  // namespace

Suite narrowed(Suite suite, const SuiteFilter& filter) {
  keep<SuiteGraph>(suite.graphs, filter.graphs, suite.name, "graph", [](const SuiteGraph& graph) {
    return std::vector{graph.graph, graph.family};
  });
  keep<std::string>(suite.clusters, filter.clusters, suite.name, "cluster",
                    [](const std::string& cluster) { return std::vector{cluster}; });
  keep<SuiteAgent>(suite.agents, filter.agents, suite.name, "agent", [](const SuiteAgent& agent) {
    return std::vector{agent.label(), agent.agent.text()};
  });
  if (filter.max_evaluations) {
    suite.max_evaluations = *filter.max_evaluations;
    for (SuiteAgent& agent : suite.agents) {
      agent.max_evaluations.reset();
    }
  }
  drop_misfits(suite);
  if (suite.graphs.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the suite '{}' places none of these graphs on these clusters", suite.name));
  }
  for (auto agent = suite.agents.begin(); agent != suite.agents.end(); ++agent) {
    const auto same = std::find_if(suite.agents.begin(), agent, [&](const SuiteAgent& other) {
      return share_a_cell(suite, *agent, other);
    });
    if (same != agent) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("'{}' and '{}' are the same with {} evaluations: choose one of them",
                              same->label(), agent->label(), suite.max_evaluations));
    }
  }
  return suite;
}

}  // namespace emplace::bench
