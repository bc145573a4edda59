#include "suite_json.hpp"

#include <nlohmann/json.hpp>

namespace emplace::bench {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const SuiteGraph& graph) {
  if (!graph.groups && graph.clusters.empty()) {
    return graph.graph;
  }
  Json json = {{"graph", graph.graph}};
  if (graph.groups) {
    json["groups"] = *graph.groups;
  }
  if (!graph.clusters.empty()) {
    json["clusters"] = graph.clusters;
  }
  return json;
}

Json to_json(const SuitePolicy& policy) {
  return {{"name", policy.name}, {"agent", policy.agent.text()}, {"episodes", policy.episodes}};
}

Json to_json(const SuiteAgent& agent) {
  if (agent == SuiteAgent{.agent = agent.agent}) {
    return agent.agent.text();
  }
  Json json = {{"agent", agent.agent.text()}};
  if (!agent.name.empty()) {
    json["name"] = agent.name;
  }
  if (agent.max_evaluations) {
    json["max_evaluations"] = *agent.max_evaluations;
  }
  if (!agent.grouping.empty()) {
    json["grouping"] = agent.grouping;
  }
  if (!agent.policy.empty()) {
    json["policy"] = agent.policy;
    json["learns"] = agent.learns;
  }
  return json;
}

Json to_json(const PublishedFigure& figure) {
  Json json = {{"graph", figure.graph}, {"cluster", figure.cluster}, {"agent", figure.agent}};
  if (figure.step_time_s) {
    json["step_time_s"] = *figure.step_time_s;
  } else {
    json["step_time_s"] = "out of memory";
  }
  if (figure.evaluations) {
    json["evaluations"] = *figure.evaluations;
  }
  return json;
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) {
    list.push_back(to_json(value));
  }
  return list;
}

// Adds the graphs that belong to no family, and the families.
void add_graphs(Json& json, const Suite& suite) {
  Json graphs = Json::array();
  for (const SuiteGraph& graph : suite.graphs) {
    if (graph.family.empty()) {
      graphs.push_back(to_json(graph));
    }
  }
  if (!graphs.empty()) {
    json["graphs"] = std::move(graphs);
  }
  for (const SuiteFamily& family : suite.families) {
    Json tests = Json::array();
    for (const SuiteGraph& graph : suite.graphs) {
      if (graph.family == family.name) {
        tests.push_back(graph.graph);
      }
    }
    Json entry = {{"name", family.name}};
    if (family.groups) {
      entry["groups"] = *family.groups;
    }
    entry["train"] = family.train;
    entry["test"] = std::move(tests);
    json["families"].push_back(std::move(entry));
  }
}

}  // namespace

Json suite_to_json(const Suite& suite) {
  Json json = {{"schema", kSuiteSchema},
               {"version", kSuiteVersion},
               {"name", suite.name},
               {"summary", suite.summary}};
  add_graphs(json, suite);
  json["clusters"] = suite.clusters;
  if (!suite.policies.empty()) {
    json["policies"] = list_of(suite.policies);
  }
  json["agents"] = list_of(suite.agents);
  json["repetitions"] = suite.repetitions;
  json["max_evaluations"] = suite.max_evaluations;
  json["groups"] = suite.groups;
  if (!suite.grouping.empty()) {
    json["grouping"] = suite.grouping;
  }
  if (!suite.baselines.empty()) {
    json["baselines"] = suite.baselines;
  }
  if (suite.published) {
    json["published"] = {{"source", suite.published->source},
                         {"recalled", suite.published->recalled},
                         {"comment", suite.published->comment},
                         {"figures", list_of(suite.published->figures)}};
  }
  return json;
}

}  // namespace emplace::bench
