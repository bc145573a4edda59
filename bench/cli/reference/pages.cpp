#include "reference/pages.hpp"

#include "facts/optional_parts.hpp"

#include <emplace/base/error.hpp>

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
                  "what a program in any language sends and receives"));
  page.item(entry("Command line", "cli.md", "every command and option, and the exit codes"));
  page.item(entry("Formats", "formats.md", "graph files that are read and written"));
  page.item(entry("JSON files", "schemas.md", "the files of emplace, and their schemas"));
  return page.text();
}

}  // namespace

Pages reference_pages(const CLI::App& program) {
  require_all_names();
  Pages pages;
  add_agent_pages(pages);
  pages["agent-protocol.md"] = protocol_page();
  pages["cli.md"] = command_page(program);
  pages["formats.md"] = format_page();
  pages["schemas.md"] = schema_page();
  pages["README.md"] = index_page();
  return pages;
}

}  // namespace emplace::cli
