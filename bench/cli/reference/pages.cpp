#include "reference/pages.hpp"

#include "optional_parts.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

namespace emplace::cli {
namespace {

// The pages must not depend on what a machine happens to have.
void require_all_names() {
  std::string missing;
  for (const OptionalPart& part : optional_parts()) {
    if (part.adds_names && !part.present) {
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", part.name, part.how_to_get);
    }
  }
  if (!missing.empty()) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format(
            "the reference lists all agents, groupings and formats, but this build is missing {}",
            missing));
  }
}

std::string index_page() {
  const auto entry = [](std::string_view title, std::string_view page, std::string_view meaning) {
    return fmt::format("{}: {}", link(title, page), meaning);
  };
  MarkdownPage page("Reference");
  page.paragraph("What the program knows, name by name.");
  page.item(entry("Agents", "agents.md", "what places graphs, with a page for each"));
  page.item(entry("Agent protocol", "agent-protocol.md",
                  "the messages that a program in any language exchanges with emplace"));
  page.item(entry("Graphs", "graphs.md", "neural networks that are built by name"));
  page.item(entry("Clusters", "clusters.md", "machines to place on"));
  page.item(entry("Device profiles", "profiles.md", "what their devices can do"));
  page.item(entry("Groupings", "groupings.md", "which ops are placed together"));
  page.item(entry("Suites", "suites.md", "comparisons that are ready to run"));
  page.item(entry("Command line", "cli.md", "every command and option, and the exit codes"));
  page.item(entry("Formats", "formats.md", "graph files that are read and written"));
  page.item(entry("JSON files", "schemas.md", "every member of emplace's files"));
  page.item(entry("Kinds of ops", "op-kinds.md", "what the ops of a graph compute"));
  return page.text();
}

}  // namespace

Pages reference_pages(const CLI::App& program) {
  require_all_names();
  Pages pages;
  add_agent_pages(pages);
  pages["agent-protocol.md"] = protocol_page();
  pages["cli.md"] = command_page(program);
  pages["clusters.md"] = cluster_page();
  pages["formats.md"] = format_page();
  pages["graphs.md"] = graph_page();
  pages["groupings.md"] = grouping_page();
  pages["op-kinds.md"] = op_kind_page();
  pages["profiles.md"] = profile_page();
  pages["schemas.md"] = schema_page();
  pages["suites.md"] = suite_page();
  pages["README.md"] = index_page();
  return pages;
}

}  // namespace emplace::cli
