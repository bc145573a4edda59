// suites.md.

#include "reference/pages.hpp"

#include <emplace/bench/suite.hpp>
#include <emplace/graphs/counted.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace emplace::cli {
namespace {

using bench::Suite;

template <class Range, class ToText>
std::string joined(const Range& range, const ToText& to_text) {
  std::vector<std::string> texts;
  std::ranges::transform(range, std::back_inserter(texts), to_text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string budget_of(const Suite& suite) {
  return fmt::format("{} per cell, {} of randomized agents",
                     counted(suite.max_evaluations, "evaluation"),
                     counted(suite.repetitions, "repetition"));
}

std::string text_of(const bench::SuiteAgent& agent) {
  std::string text = code(agent.agent.text());
  if (!agent.policy.empty()) {
    text += fmt::format(" from policy {}{}", code(agent.policy), agent.learns ? "" : " as it is");
  }
  if (!agent.grouping.empty()) {
    text += " on groups by " + code(agent.grouping);
  }
  if (agent.max_evaluations) {
    text += " with " + counted(*agent.max_evaluations, "evaluation");
  }
  return text;
}

std::string text_of(const bench::SuiteGraph& graph) {
  std::string text = code(graph.graph);
  if (graph.groups) {
    text += " in " + counted(*graph.groups, "group");
  }
  if (!graph.clusters.empty()) {
    text += " on " + joined(graph.clusters, code);
  }
  return text;
}

void add_suite(MarkdownPage& page, const Suite& suite) {
  page.heading(2, suite.name).paragraph(sentence(suite.summary));
  if (suite.families.empty()) {
    page.item("graphs: " +
              joined(suite.graphs, [](const bench::SuiteGraph& graph) { return text_of(graph); }));
  }
  for (const bench::SuiteFamily& family : suite.families) {
    const auto tested = std::ranges::count(suite.graphs, family.name, &bench::SuiteGraph::family);
    page.item(fmt::format("family {}: policies learn from {} and are tested on {}",
                          code(family.name), counted(std::ssize(family.train), "graph"),
                          counted(tested, "other")));
  }
  page.item("clusters: " + joined(suite.clusters, code));
  for (const bench::SuitePolicy& policy : suite.policies) {
    page.item(fmt::format("policy {}: `{}`, {} on each graph", code(policy.name),
                          policy.agent.text(), counted(policy.episodes, "episode")));
  }
  page.item("agents: " +
            joined(suite.agents, [](const bench::SuiteAgent& agent) { return text_of(agent); }));
  page.item("budget: " + budget_of(suite));
  if (suite.published) {
    page.item("published figures next to ours: " + plain(suite.published->source));
  }
  page.commands({"emplace run " + suite.name}, "suites take from seconds to a night");
}

}  // namespace

std::string suite_page() {
  MarkdownPage page("Suites");
  page.paragraph(
      "A suite is a comparison: graphs x clusters x agents x repetitions, under budgets of "
      "evaluations. "
      "`emplace run NAME` runs one of these, or your own file ([schema](schemas.md#suite)). "
      "`emplace list suites` prints this table.");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : bench::suite_names()) {
    rows.push_back({link(code(name), anchor(name)), plain(bench::load_suite(name).summary)});
  }
  page.table({"suite", "what it compares"}, rows);
  for (const std::string& name : bench::suite_names()) {
    add_suite(page, bench::load_suite(name));
  }
  return page.text();
}

}  // namespace emplace::cli
