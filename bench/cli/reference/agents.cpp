// agents.md and agents/NAME.md.

#include "reference/pages.hpp"

#include <emplace/agents/registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using agents::AgentInfo;
using agents::AgentKind;
using agents::AgentRegistry;

constexpr std::string_view kGraph = "inception-v3";

std::string_view meaning_of(AgentKind kind) {
  switch (kind) {
    case AgentKind::kBaseline:
      return "a rule that ignores the graph";
    case AgentKind::kExpert:
      return "what a person would do by hand";
    case AgentKind::kHeuristic:
      return "an algorithm that calls no simulator";
    case AgentKind::kSearch:
      return "tries placements in the simulator";
    case AgentKind::kLearned:
      return "trains a policy in the simulator";
  }
  return "";
}

// What the placement depends on, and what the agent can do besides placing.
std::string traits_of(const AgentInfo& info) {
  return fmt::format(
      "Kind: **{}** ({}). {}{}{}", to_string(info.kind), meaning_of(info.kind),
      info.deterministic ? "Its placement depends on the problem alone, not on the seed."
                         : "Its placement depends on the seed and on the budget of evaluations.",
      info.trainable ? " Its policy can be trained, kept and used on other graphs "
                       "(`emplace train`)."
                     : "",
      info.respects_placeable ? "" : " It uses devices that are not placeable: a host's CPU.");
}

// A parameter to show how one is given: the first that is not for experts.
const ParamSpec* shown_parameter(const AgentInfo& info) {
  const auto found = std::ranges::find(info.parameters, false, &ParamSpec::expert);
  return found == info.parameters.end() ? nullptr : &*found;
}

void add_example(MarkdownPage& page, const AgentInfo& info) {
  const std::string_view cluster = info.respects_placeable ? "p2-8xlarge-4" : "cpu-gpu";
  const std::string_view program = info.needs_program ? ":examples/exec/hill_climb.py" : "";
  const bool has_budget = !info.deterministic && !info.needs_program;
  const std::string_view budget = has_budget ? " --evaluations 200" : "";
  page.heading(2, "Use");
  std::vector<std::string> lines = {
      fmt::format("emplace place {} --cluster {} --agent {}{}{} -o placement.json", kGraph, cluster,
                  info.name, program, budget)};
  if (info.trainable) {
    lines.push_back(fmt::format("emplace train {} {} --cluster {} --episodes 4 -o policy.json",
                                info.name, kGraph, cluster));
    lines.push_back(fmt::format(
        "emplace place {} --cluster {} --policy policy.json -o placement.json", kGraph, cluster));
  }
  page.commands(lines);
}

// The presets, and what they change.
void add_presets(MarkdownPage& page, const AgentInfo& info) {
  if (info.presets.empty()) {
    return;
  }
  page.heading(2, "Presets");
  page.paragraph(
      fmt::format("A preset is a set of defaults: `{}:{}={}`. Parameters that are given as well "
                  "override it. The first preset is the default.",
                  info.name, agents::kPresetParameter, info.presets.back().name));
  std::vector<std::string> header = {"parameter"};
  std::vector<std::vector<std::string>> rows;
  for (const agents::Preset& preset : info.presets) {
    page.item(fmt::format("{}: {}", code(preset.name), sentence(preset.summary)));
    header.push_back(code(preset.name));
  }
  page.paragraph("They differ in these parameters:");
  for (const auto& [name, value] : info.presets.front().defaults) {
    std::vector<std::string> row = {code(name)};
    bool differ = false;
    for (const agents::Preset& preset : info.presets) {
      row.push_back(to_string(preset.defaults.at(name)));
      differ = differ || preset.defaults.at(name) != value;
    }
    if (differ) {
      rows.push_back(std::move(row));
    }
  }
  page.table(header, rows);
}

std::string page_of(const AgentInfo& info) {
  MarkdownPage page(info.name);
  page.paragraph(sentence(info.summary));
  page.paragraph(traits_of(info));
  page.paragraph(plain(info.description));
  page.paragraph(info.reference.empty() ? "" : "Reference: " + sentence(info.reference));
  add_example(page, info);
  add_presets(page, info);
  page.heading(2, "Parameters");
  if (const ParamSpec* shown = shown_parameter(info)) {
    page.paragraph(fmt::format(
        "Parameters follow the name: `{}:{}{}={}`; several are separated by commas.", info.name,
        info.needs_program ? "COMMAND," : "", shown->name, to_string(shown->default_value)));
    add_parameters(page, info.parameters, 3);
  } else if (info.parameters.empty()) {
    page.paragraph("None.");
  } else {
    add_parameters(page, info.parameters, 3);
  }
  return page.text();
}

}  // namespace

void add_agent_pages(Pages& pages) {
  MarkdownPage index("Agents");
  index.paragraph(
      "An agent reads a graph and a cluster and proposes a placement. It may call the simulator, "
      "and "
      "each such evaluation is charged to its budget. `emplace list agents` prints this table.");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : AgentRegistry::global().names()) {
    const AgentInfo& info = AgentRegistry::global().info(name);
    const std::string path = fmt::format("agents/{}.md", name);
    rows.push_back(
        {link(code(name), path), std::string(to_string(info.kind)), plain(info.summary)});
    pages[path] = page_of(info);
  }
  index.table({"agent", "kind", "what it does"}, rows);
  index.heading(2, "Kinds");
  for (const AgentKind kind : {AgentKind::kBaseline, AgentKind::kExpert, AgentKind::kHeuristic,
                               AgentKind::kSearch, AgentKind::kLearned}) {
    index.item(fmt::format("*{}*: {}.", to_string(kind), meaning_of(kind)));
  }
  pages["agents.md"] = index.text();
}

}  // namespace emplace::cli
