// Gaussian elimination on a matrix of `columns` columns, one task for each column of each step
// (Topcuoglu, Hariri, Wu, TPDS 2002): in step k the pivot task T(k,k) divides the rest of its
// column, and T(k,j) for each j > k subtracts it from column j. Work is the divisions, and a
// multiplication and a subtraction for each element; a result is the rest of a column.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::gaussian_elimination {
namespace {

OpGraph build(const Params& params) {
  const auto columns = params.get<std::int64_t>("columns");
  const auto m = static_cast<double>(columns);
  TaskGraph graph("gaussian-elimination", "Topcuoglu et al. 2002", (m * m + m - 2) / 2);
  // By column, what the step before made of it; nothing in the first step.
  std::vector<std::vector<Tensor>> before(static_cast<std::size_t>(columns));
  for (std::int64_t k = 1; k < columns; ++k) {
    const std::string scope = fmt::format("step_{}", k);
    const auto rest = static_cast<double>(columns - k);
    const Tensor pivot =
        graph.task(scope, "pivot", rest, rest, before[static_cast<std::size_t>(k - 1)]);
    for (std::int64_t j = k + 1; j <= columns; ++j) {
      auto& column = before[static_cast<std::size_t>(j - 1)];
      auto inputs = column;
      inputs.push_back(pivot);
      column = {graph.task(scope, fmt::format("column_{}", j), 2 * rest, rest, inputs)};
    }
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "gaussian-elimination",
    .summary = "a pivot and an update of every column in each step",
    .reference = "Topcuoglu, Hariri, Wu, TPDS 2002, 10.1109/71.993206",
    .parameters = task_parameters({whole_number("columns", 14, 2, 1'000'000,
                                                "columns of the matrix")}),
    .build = build,
});

}  // namespace
}  // namespace emplace::gaussian_elimination
