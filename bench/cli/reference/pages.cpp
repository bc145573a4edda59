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
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the reference has the names of all agents, groupings and formats, but "
                            "this build lacks {}",
                            missing));
  }
}

}  // namespace

Pages reference_pages(const CLI::App& program) {
  require_all_names();
  Pages pages;
  add_agent_pages(pages);
  pages["cli.md"] = command_page(program);
  pages["clusters.md"] = cluster_page();
  pages["formats.md"] = format_page();
  pages["graphs.md"] = graph_page();
  pages["groupings.md"] = grouping_page();
  pages["op-kinds.md"] = op_kind_page();
  pages["profiles.md"] = profile_page();
  pages["schemas.md"] = schema_page();
  pages["suites.md"] = suite_page();
  return pages;
}

}  // namespace emplace::cli
