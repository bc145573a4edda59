// The fast Fourier transform as Topcuoglu, Hariri and Wu draw it (TPDS 2002): 2 (points - 1) + 1
// recursive calls that split the points into even and odd ones, then points * log2(points)
// butterflies, of which each reads two results of the stage before. Work and volume are complex
// numbers that a task touches and hands on.

#include "task_graph.hpp"

#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace emplace::fft_model {
namespace {

OpGraph build(const Params& params) {
  const auto log2_points = params.get<std::int64_t>("log2-points");
  const std::size_t points = std::size_t{1} << static_cast<unsigned>(log2_points);
  const auto all = static_cast<double>(points);
  TaskGraph graph("fft", "Topcuoglu et al. 2002",
                  2 * all - 1 + all * static_cast<double>(log2_points));

  std::vector<Tensor> stage{graph.task("split_0", "call_0", all, points > 1 ? all / 2 : 1, {})};
  for (std::int64_t level = 1; level <= log2_points; ++level) {
    const std::string scope = fmt::format("split_{}", level);
    const double held = std::ldexp(all, -static_cast<int>(level));
    const double half = level < log2_points ? held / 2 : 1;
    std::vector<Tensor> calls;
    for (std::size_t i = 0; i < 2 * stage.size(); ++i) {
      const Tensor caller = stage[i / 2];
      const Tensor part = i % 2 == 0 ? caller : graph.another_result(caller, held);
      calls.push_back(graph.task(scope, fmt::format("call_{}", i), held, half, {part}));
    }
    stage = std::move(calls);
  }

  for (std::int64_t level = 1; level <= log2_points; ++level) {
    const std::string scope = fmt::format("butterfly_{}", level);
    const std::size_t distance = std::size_t{1} << static_cast<unsigned>(level - 1);
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < points; ++i) {
      results.push_back(
          graph.task(scope, fmt::format("point_{}", i), 2, 1, {stage[i], stage[i ^ distance]}));
    }
    stage = std::move(results);
  }
  return std::move(graph).finish(params);
}

const GraphRegistration kRegistration({
    .name = "fft",
    .summary = "recursive calls and butterflies of the fast Fourier transform",
    .reference = "Topcuoglu, Hariri, Wu, TPDS 2002, 10.1109/71.993206",
    .parameters = task_parameters({whole_number("log2-points", 5, 0, 20,
                                                "binary logarithm of the points")}),
    .build = build,
});

}  // namespace
}  // namespace emplace::fft_model
