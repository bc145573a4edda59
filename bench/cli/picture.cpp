#include "picture.hpp"

#include "graphviz.hpp"
#include "terminal.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/grouping_picture.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <optional>

namespace emplace::cli {
namespace {

constexpr std::string_view kSvg = ".svg";
constexpr std::string_view kDot = ".dot";
constexpr int kLimitS = 60;

}  // namespace

void check_picture_path(std::string_view path) {
  if (!path.ends_with(kSvg) && !path.ends_with(kDot)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--picture: expected a name that ends in .svg or .dot, found '{}'",
                            excerpt(path)));
  }
}

void write_picture(const std::string& path, const OpGraph& graph, const Grouping& grouping,
                   std::string_view grouping_name) {
  if (grouping.size() > kMaxPictureGroups) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--picture: expected at most {} groups, found {}; give --groups N, or "
                            "another --grouping",
                            kMaxPictureGroups, grouping.size()));
  }
  const std::string dot = write_grouping_dot(
      graph, grouping,
      fmt::format("{} ops in {} groups by {}", num_ops(graph), grouping.size(), grouping_name));
  if (path.ends_with(kDot)) {
    write_text_file(path, dot);
    return;
  }
  if (const std::optional<std::string> program = find_program("dot")) {
    write_text_file(path, draw_svg(*program, dot, kLimitS));
    return;
  }
  const std::string beside = path.substr(0, path.size() - kSvg.size()) + std::string(kDot);
  write_text_file(beside, dot);
  note(
      fmt::format("emplace: Graphviz is not installed, so {} is written instead of {}; "
                  "apt-get install graphviz, then dot -Tsvg draws it",
                  beside, path));
}

}  // namespace emplace::cli
