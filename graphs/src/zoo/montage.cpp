// A graph like that of Montage, which joins images of the sky into a mosaic (structure: Bharathi et
// al. 2008, figure 1). Images lie in a grid and each overlaps its up to eight neighbours:
//
//   project (each image) -> diff (each overlap) -> concat -> model -> background (each image)
//     -> table, add -> shrink -> jpeg
//
// Works are ours, in units of one re-projection: what looks at one image or overlap costs as much
// as one re-projection or half of it, and the tasks that look at all of them grow with their
// number. Images have volume 1; fits and tables next to none.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace emplace::montage_model {
namespace {

constexpr double kImage = 1;       // volume of an image
constexpr double kFigures = 0.01;  // volume of a few numbers in a text file

OpGraph build(const Params& params) {
  const auto rows = params.get<std::int64_t>("rows");
  const auto columns = params.get<std::int64_t>("columns");
  const auto images = static_cast<double>(rows) * static_cast<double>(columns);
  const double overlaps = 4 * images - 3 * static_cast<double>(rows + columns) + 2;
  TaskGraph graph("montage", "Bharathi et al. 2008", 2 * images + overlaps + 6);

  const auto name = [](std::string_view what, std::int64_t row, std::int64_t column) {
    return fmt::format("{}_{}_{}", what, row, column);
  };
  std::vector<Tensor> projected;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      projected.push_back(graph.task("project", name("image", row, column), 1, kImage, {}));
    }
  }
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return projected[static_cast<std::size_t>(row * columns + column)];
  };
  std::vector<Tensor> fits;
  // Each pair once: the neighbours to the right, and the three below.
  constexpr std::pair<std::int64_t, std::int64_t> kNeighbours[] = {{0, 1}, {1, -1}, {1, 0}, {1, 1}};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      for (const auto& [down, right] : kNeighbours) {
        const auto other_row = row + down;
        const auto other_column = column + right;
        if (other_row < rows && other_column >= 0 && other_column < columns) {
          fits.push_back(
              graph.task("diff", name("overlap", row, column) + name("", other_row, other_column),
                         0.5, kFigures, {at(row, column), at(other_row, other_column)}));
        }
      }
    }
  }
  const Tensor all_fits = graph.task("model", "concat", 0.02 * overlaps, kFigures, fits);
  const Tensor corrections = graph.task("model", "model", 0.05 * overlaps, kFigures, {all_fits});
  std::vector<Tensor> corrected;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      corrected.push_back(graph.task("background", name("image", row, column), 1, kImage,
                                     {at(row, column), corrections}));
    }
  }
  const Tensor table = graph.task("mosaic", "table", 0.02 * images, kFigures, corrected);
  corrected.push_back(table);
  const Tensor mosaic = graph.task("mosaic", "add", images, images * kImage, corrected);
  const Tensor small = graph.task("mosaic", "shrink", 0.25 * images, kImage, {mosaic});
  graph.task("mosaic", "jpeg", 0.5, kFigures, {small});
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "montage",
    .summary = "mosaic of overlapping images: wide, then one task, then wide again",
    .reference = "Bharathi et al., Characterization of Scientific Workflows, WORKS 2008",
    .parameters =
        task_parameters({whole_number("rows", 4, 1, 1'000'000, "images from top to bottom"),
                         whole_number("columns", 4, 1, 1'000'000, "images from left to right")}),
    .build = build,
});

}  // namespace
}  // namespace emplace::montage_model
