// schemas.md, from the JSON schemas of all modules.

#include "reference/pages.hpp"

#include <emplace/base/embedded.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace emplace::embedded {
// From the modules' folders schema, by emplace_embed() in CMakeLists.txt.
std::span<const Document> graph_schemas();
std::span<const Document> profile_schemas();
std::span<const Document> sim_schemas();
std::span<const Document> bench_schemas();
}  // namespace emplace::embedded

namespace emplace::cli {

std::string schema_page() {
  MarkdownPage page("JSON files");
  page.paragraph(
      "All files of emplace are JSON objects with a `schema` and a `version`. A member that is not "
      "in its JSON Schema is an error that names the file and the member. Each schema describes "
      "every member, for readers, editors and validators.");
  for (const auto& [folder, documents] :
       {std::pair{"graphs", embedded::graph_schemas()},
        std::pair{"profiles", embedded::profile_schemas()},
        std::pair{"sim", embedded::sim_schemas()}, std::pair{"bench", embedded::bench_schemas()}}) {
    for (const embedded::Document& document : documents) {
      const std::string_view file = document.name;
      std::string title(file.substr(0, file.find('.')));
      std::ranges::replace(title, '_', ' ');
      const auto schema = nlohmann::json::parse(document.text);
      page.heading(2, title);
      page.paragraph(fmt::format("{} The schema is `{}/schema/{}.json`.",
                                 sentence(schema.at("description").get<std::string>()), folder,
                                 file));
    }
  }
  return page.text();
}

}  // namespace emplace::cli
