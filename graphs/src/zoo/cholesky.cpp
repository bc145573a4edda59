// The tiled Cholesky factorization of a matrix of `tiles` x `tiles` tiles (Buttari, Langou, Kurzak,
// Dongarra 2009, algorithm 1 with one task for each kernel call). Tile (i, j) lies in the lower
// triangle. Work is in units of b^3 FLOP for tiles of b x b: potrf 1/3, trsm 1, syrk 1, gemm 2;
// every result is one tile, which a device receives once however many tasks read it there.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace emplace::cholesky_model {
namespace {

OpGraph build(const Params& params) {
  const auto tiles = static_cast<std::size_t>(params.get<std::int64_t>("tiles"));
  const auto t = static_cast<double>(tiles);
  TaskGraph graph("cholesky", "Buttari et al. 2009", t * (t + 1) * (t + 2) / 6);
  // What the last task that wrote tile (i, j) made; nothing at first.
  std::vector<std::vector<Tensor>> written(tiles * tiles);
  const auto run = [&](const std::string& scope, const std::string& name, double work,
                       std::size_t i, std::size_t j, std::initializer_list<Tensor> others) {
    auto& tile = written[i * tiles + j];
    auto inputs = tile;
    inputs.insert(inputs.end(), others);
    tile = {graph.task(scope, name, work, 1, inputs)};
    return tile[0];
  };
  for (std::size_t k = 0; k < tiles; ++k) {
    const std::string scope = fmt::format("step_{}", k);
    const Tensor diagonal = run(scope, "potrf", 1.0 / 3, k, k, {});
    for (std::size_t i = k + 1; i < tiles; ++i) {
      run(scope, fmt::format("trsm_{}", i), 1, i, k, {diagonal});
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const Tensor row = written[i * tiles + k][0];
      for (std::size_t j = k + 1; j < i; ++j) {
        run(scope, fmt::format("gemm_{}_{}", i, j), 2, i, j, {row, written[j * tiles + k][0]});
      }
      run(scope, fmt::format("syrk_{}", i), 1, i, i, {row});
    }
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "cholesky",
    .summary = "tiled Cholesky factorization: potrf, trsm, syrk and gemm on tiles",
    .reference = "Buttari, Langou, Kurzak, Dongarra, Parallel Computing 2009",
    .parameters = task_parameters({whole_number("tiles", 8, 1, 10'000, "tiles along one side")}),
    .build = build,
});

}  // namespace
}  // namespace emplace::cholesky_model
