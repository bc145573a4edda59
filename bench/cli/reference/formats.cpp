// formats.md.

#include "reference/pages.hpp"

#include <emplace/bench/placement_format.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace::cli {

std::string format_page() {
  MarkdownPage page("File formats of graphs and placements");
  page.paragraph(
      "`emplace convert FILE` reads a graph and `emplace convert GRAPH --to NAME` writes one. A "
      "graph file can be given wherever a graph is named; its format is recognized by its content, "
      "or else by the ending of its name. Parameters follow the name of the format: `--format "
      "NAME:key=value`.");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : GraphFormats::global().names()) {
    const GraphFormat& format = GraphFormats::global().find(name);
    rows.push_back({link(code(name), anchor(name)), format.read ? "yes" : "",
                    format.write ? "yes" : "", fmt::format("{}", fmt::join(format.endings, ", ")),
                    plain(format.summary)});
  }
  page.table({"format", "read", "written", "endings", "what it is"}, rows);
  for (const std::string& name : GraphFormats::global().names()) {
    const GraphFormat& format = GraphFormats::global().find(name);
    page.heading(2, name).paragraph(sentence(format.summary));
    page.paragraph(format.reference.empty() ? "" : "Reference: " + sentence(format.reference));
    for (const auto& [title, parameters] :
         {std::pair{"Parameters when it is read:", &format.read_parameters},
          std::pair{"Parameters when it is written:", &format.write_parameters}}) {
      if (!parameters->empty()) {
        page.paragraph(title);
        add_parameters(page, *parameters, 3);
      }
    }
  }
  page.heading(2, "Placements")
      .paragraph(
          "`emplace convert --placement FILE --to NAME` writes a "
          "placement for another program. The guide \"Use a placement\" "
          "shows how each file is used.");
  std::vector<std::vector<std::string>> placement_rows;
  for (const bench::PlacementFormat& format : bench::placement_formats()) {
    placement_rows.push_back({code(std::string(format.name)), plain(std::string(format.summary)),
                              plain(std::string(format.reference))});
  }
  page.table({"format", "what it is", "reference"}, placement_rows);
  return page.text();
}

}  // namespace emplace::cli
