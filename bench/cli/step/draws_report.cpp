#include "draws_report.hpp"

#include "numbers.hpp"
#include "terminal.hpp"

#include <CLI/App.hpp>
#include <fmt/format.h>

#include <array>
#include <vector>

namespace emplace::cli {

CLI::Option* add_draws(CLI::App& command, std::int64_t& draws) {
  return command
      .add_option("--draws", draws,
                  "Simulate this many draws of the costs that have a relative deviation")
      ->transform(whole_number_from(1, kMaxDraws))
      ->type_name("N")
      ->group("Uncertain costs");
}

DrawReport simulate_draws(const PlacedStep& step, std::int64_t draws, std::int64_t seed) {
  const std::array placements{step.record.placement};
  const std::vector<Draws> drawn = emplace::simulate_draws(
      step.problem(), placements, {.draws = draws, .seed = static_cast<std::uint64_t>(seed)});
  return {.draws = draws,
          .seed = seed,
          .uncertain_costs = num_uncertain_costs(step.problem(), placements[0]),
          .summary = summarize(drawn[0])};
}

void note_exact_costs() {
  note(
      "emplace: warning: all draws are equal, because no cost of this step has a relative "
      "deviation: give one (\"relative_deviation\": 0.03, a standard deviation over the cost) to "
      "measured costs in the graph or to op classes in a device profile");
}

std::string to_text(const DrawReport& report) {
  const DrawSummary& summary = report.summary;
  std::string text = fmt::format(
      "  draws        {}: mean {:.3f} ms, median {:.3f} ms, 90 % from {:.3f} to {:.3f} ms\n",
      report.draws, summary.mean_us / 1e3, summary.median_us / 1e3, summary.p05_us / 1e3,
      summary.p95_us / 1e3);
  if (summary.out_of_memory > 0) {
    text += fmt::format("               out of memory in {} of {}\n", summary.out_of_memory,
                        report.draws);
  }
  return text;
}

Json to_json(const DrawReport& report) {
  const DrawSummary& summary = report.summary;
  return {{"count", report.draws},
          {"seed", report.seed},
          {"uncertain_costs", report.uncertain_costs},
          {"mean_us", summary.mean_us},
          {"standard_deviation_us", summary.standard_deviation_us},
          {"median_us", summary.median_us},
          {"p05_us", summary.p05_us},
          {"p95_us", summary.p95_us},
          {"out_of_memory", summary.out_of_memory}};
}

}  // namespace emplace::cli
