#include "suite_json.hpp"

#include <emplace/base/json.hpp>

namespace emplace::bench {
namespace {

Json to_json(const SuiteGraph& graph) {
  if (!graph.groups && graph.clusters.empty()) {
    return graph.graph;
  }
  Json json = {{"graph", graph.graph}};
  if (graph.groups) {
    json.add("groups", *graph.groups);
  }
  if (!graph.clusters.empty()) {
    json.add("clusters", graph.clusters);
  }
  return json;
}

Json to_json(const SuitePolicy& policy) {
  Json json = {
      {"name", policy.name}, {"agent", policy.agent.text()}, {"episodes", policy.episodes}};
  if (policy.validated) {
    json.add("validated", true);
  }
  return json;
}

Json to_json(const SuiteAgent& agent) {
  if (agent == SuiteAgent{.agent = agent.agent}) {
    return agent.agent.text();
  }
  Json json = {{"agent", agent.agent.text()}};
  if (!agent.name.empty()) {
    json.add("name", agent.name);
  }
  if (agent.max_evaluations) {
    json.add("max_evaluations", *agent.max_evaluations);
  }
  if (!agent.grouping.empty()) {
    json.add("grouping", agent.grouping);
  }
  if (!agent.policy.empty()) {
    json.add("policy", agent.policy);
    json.add("learns", agent.learns);
  }
  return json;
}

Json to_json(const PublishedFigure& figure) {
  Json json = {{"graph", figure.graph}, {"cluster", figure.cluster}, {"agent", figure.agent}};
  if (figure.step_time_s) {
    json.add("step_time_s", *figure.step_time_s);
  } else {
    json.add("step_time_s", "out of memory");
  }
  if (figure.evaluations) {
    json.add("evaluations", *figure.evaluations);
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
    json.add("graphs", graphs);
  }
  Json families = Json::array();
  for (const SuiteFamily& family : suite.families) {
    Json tests = Json::array();
    for (const SuiteGraph& graph : suite.graphs) {
      if (graph.family == family.name) {
        tests.push_back(graph.graph);
      }
    }
    Json entry = {{"name", family.name}};
    if (family.groups) {
      entry.add("groups", *family.groups);
    }
    entry.add("train", family.train);
    if (!family.validation.empty()) {
      entry.add("validation", family.validation);
    }
    entry.add("test", tests);
    families.push_back(entry);
  }
  if (!families.empty()) {
    json.add("families", families);
  }
}

}  // namespace

Json suite_to_json(const Suite& suite) {
  Json json = {{"schema", kSuiteSchema},
               {"version", kSuiteVersion},
               {"name", suite.name},
               {"summary", suite.summary}};
  add_graphs(json, suite);
  json.add("clusters", suite.clusters);
  if (!suite.policies.empty()) {
    json.add("policies", list_of(suite.policies));
  }
  json.add("agents", list_of(suite.agents));
  json.add("repetitions", suite.repetitions);
  json.add("max_evaluations", suite.max_evaluations);
  json.add("groups", suite.groups);
  if (!suite.grouping.empty()) {
    json.add("grouping", suite.grouping);
  }
  if (!suite.baselines.empty()) {
    json.add("baselines", suite.baselines);
  }
  if (suite.published) {
    json.add("published", {{"source", suite.published->source},
                           {"recalled", suite.published->recalled},
                           {"comment", suite.published->comment},
                           {"figures", list_of(suite.published->figures)}});
  }
  return json;
}

}  // namespace emplace::bench
