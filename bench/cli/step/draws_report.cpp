#include "draws_report.hpp"

#include "numbers.hpp"
#include "terminal.hpp"

#include <emplace/base/json.hpp>
#include <emplace/bench/placement_format.hpp>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

DrawReport::Side side_of(const Problem& problem, const Placement& placement, const Draws& draws) {
  return {.uncertain_costs = num_uncertain_costs(problem, placement), .summary = summarize(draws)};
}

// Returns the end of a line, and a second line if some draws did not fit.
std::string to_text(const DrawSummary& summary, std::int64_t draws) {
  std::string text = fmt::format(
      "mean {:.3f} ms, median {:.3f} ms, 90 % from {:.3f} to {:.3f} ms\n", summary.mean_us / 1e3,
      summary.median_us / 1e3, summary.p05_us / 1e3, summary.p95_us / 1e3);
  if (summary.out_of_memory > 0) {
    text += fmt::format("               out of memory in {} of {}\n", summary.out_of_memory, draws);
  }
  return text;
}

Json to_json(const DrawReport::Side& side) {
  const DrawSummary& summary = side.summary;
  return {{"uncertain_costs", side.uncertain_costs},
          {"mean_us", summary.mean_us},
          {"standard_deviation_us", summary.standard_deviation_us},
          {"median_us", summary.median_us},
          {"p05_us", summary.p05_us},
          {"p95_us", summary.p95_us},
          {"out_of_memory", summary.out_of_memory}};
}

}  // namespace

void add_draw_options(CLI::App& command, DrawFlags& flags) {
  CLI::Option* draws =
      command
          .add_option("--draws", flags.draws,
                      "Simulate this many draws of the costs that have a relative deviation")
          ->transform(whole_number_from(1, kMaxDraws))
          ->type_name("N")
          ->group("Uncertain costs");
  command
      .add_option("--against", flags.against,
                  "Placement to compare with, as for --placement: how likely is it to be beaten?")
      ->type_name("FILE")
      ->needs(draws)
      ->group("Uncertain costs");
  CLI::Option* agent = command.get_option("--agent");
  CLI::Option* seed = command.get_option("--seed");
  seed->remove_needs(agent);
  command.parse_complete_callback([agent, seed, draws] {
    if (seed->count() > 0 && agent->count() == 0 && draws->count() == 0) {
      throw CLI::RequiresError("--seed", "--agent or --draws");
    }
  });
}

DrawReport simulate_draws(const PlacedStep& step, const ProblemOptions& problem,
                          const DrawFlags& flags, std::int64_t seed) {
  const DrawOptions options{.draws = flags.draws, .seed = static_cast<std::uint64_t>(seed)};
  DrawReport report{.draws = flags.draws, .seed = seed};
  if (flags.against.empty()) {
    const std::array placements{step.record.placement};
    const std::vector<Draws> draws = emplace::simulate_draws(step.problem(), placements, options);
    report.side = side_of(step.problem(), placements[0], draws[0]);
    return report;
  }
  // A file names ops, so both placements are compared op by op.
  const PlacedStep other = place_from(problem, flags.against);
  const Problem& ops = other.problem();
  const std::array placements{bench::op_by_op(step.problem(), step.record.placement),
                              other.record.placement};
  const std::vector<Draws> draws = emplace::simulate_draws(ops, placements, options);
  report.side = side_of(ops, placements[0], draws[0]);
  report.other = {.path = flags.against,
                  .side = side_of(ops, placements[1], draws[1]),
                  .comparison = compare(draws[0], draws[1])};
  return report;
}

void note_exact_costs(const DrawReport& report) {
  if (report.side.uncertain_costs == 0 &&
      (!report.other || report.other->side.uncertain_costs == 0)) {
    note(
        "emplace: warning: all draws are equal, because no cost of this step has a relative "
        "deviation: give "
        "one (\"relative_deviation\": 0.03, a standard deviation over the cost) to measured costs "
        "in the graph "
        "or to op classes in a device profile");
  }
}

std::string to_text(const DrawReport& report) {
  std::string text =
      fmt::format("  draws     {}: {}", report.draws, to_text(report.side.summary, report.draws));
  if (report.other) {
    const DrawComparison& comparison = report.other->comparison;
    text += fmt::format("  against      {}: {}", report.other->path,
                        to_text(report.other->side.summary, report.draws));
    const double difference_ms = comparison.mean_difference_us / 1e3;
    text += fmt::format(
        "               beaten with probability {:.3f} (95 % interval {:.3f} to {:.3f}); on "
        "average this "
        "step is {:.3f} ms {}\n",
        comparison.probability, comparison.probability_low, comparison.probability_high,
        std::abs(difference_ms), difference_ms > 0 ? "longer" : "shorter");
  }
  return text;
}

Json to_json(const DrawReport& report) {
  Json json = {{"count", report.draws}, {"seed", report.seed}};
  json.add_all(to_json(report.side));
  if (report.other) {
    const DrawComparison& comparison = report.other->comparison;
    Json against = {{"placed_by", report.other->path}};
    against.add_all(to_json(report.other->side));
    against.add_all({{"probability_beaten", comparison.probability},
                     {"probability_beaten_low", comparison.probability_low},
                     {"probability_beaten_high", comparison.probability_high},
                     {"mean_difference_us", comparison.mean_difference_us}});
    json.add("against", against);
  }
  return json;
}

}  // namespace emplace::cli
