#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "step/draws_report.hpp"
#include "step/placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/placement_comparison.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/run_comparison.hpp>
#include <emplace/bench/threads.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace emplace::cli {
namespace {

constexpr int kMostSources = 1000;
constexpr double kMaxThreshold = 100;  // a step a hundred times as long
constexpr auto kComparisonFormats =
    std::to_array<AnswerFormat>({{"markdown", ".md"}, {"html", ".html"}});

struct CompareOptions {
  std::vector<std::string> sources;  // folders of runs, or as for place_from()
  ProblemOptions problem;            // of placements; what is empty, their files name
  std::string threshold = "2%";
  std::int64_t draws = 0;  // none
  std::int64_t seed = 0;
  std::string format;
  std::string output;
};

// "2%" is 0.02, and so is "0.02".
double read_threshold(std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::string_view number = text.substr(0, text.size() - (percent ? 1 : 0));
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc() && end == number.data() + number.size()) {
    value /= percent ? 100 : 1;
    if (value >= 0 && value <= kMaxThreshold) {
      return value;
    }
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("--threshold: expected a share such as 2% or 0.02, found '{}'", excerpt(text)));
}

void answer(const CompareOptions& options, const std::string& format, const std::string& text,
            bool color) {
  if (options.output.empty()) {
    print_as(format, text, color);
  } else {
    write_answer(options.output, text);
  }
}

Outcome compare_two_runs(const CompareOptions& options, const std::string& format,
                         std::string_view color_mode) {
  if (options.sources.size() != 2) {
    throw Error(ErrorCode::kUsage,
                fmt::format("expected two runs, found {}", options.sources.size()));
  }
  if (options.draws > 0 || format == "html" || !options.problem.graph.empty() ||
      !options.problem.cluster.empty()) {
    throw Error(ErrorCode::kUsage,
                "--graph, --cluster, --draws and HTML are for placements, but these are runs");
  }
  const double threshold = read_threshold(options.threshold);
  const bench::StoredRun a = bench::read_store(options.sources[0]);
  const bench::StoredRun b = bench::read_store(options.sources[1]);
  const bench::RunComparison comparison = bench::compare_runs(a, b, threshold);
  const bool color = options.output.empty() && use_color(color_mode);
  answer(options, format,
         format == "json" ? bench::write_json(comparison)
         : format == "markdown"
             ? bench::write_markdown(comparison)
             : bench::write_terminal(comparison, color, table_width(options.output)),
         color);
  return comparison.count(bench::Verdict::kSlower) > 0 ? Outcome::kRegression : Outcome::kOk;
}

std::vector<bench::SimulatedPlacement> simulated(const CompareOptions& options) {
  std::vector<bench::SimulatedPlacement> placements;
  placements.reserve(options.sources.size());
  for (const std::string& source : options.sources) {
    const PlacedStep placed = place_from(options.problem, source);
    const PlacedStep step = placed.from_file ? placed : op_by_op(placed);
    placements.push_back({.name = source,
                          .graph = step.graph,
                          .cluster = step.cluster,
                          .problem = step.problem(),
                          .record = step.record});
  }
  return placements;
}

void compare_steps(const CompareOptions& options, const std::string& format, int threads) {
  const std::vector<bench::SimulatedPlacement> placements = simulated(options);
  std::optional<DrawOptions> draws;
  if (options.draws > 0) {
    draws = {.draws = options.draws, .seed = static_cast<std::uint64_t>(options.seed)};
  }
  const bench::PlacementComparison comparison =
      bench::on_threads(threads, [&] { return bench::compare_placements(placements, draws); });
  if (draws && std::ranges::all_of(placements, [](const bench::SimulatedPlacement& side) {
        return num_uncertain_costs(side.problem, side.record.placement) == 0;
      })) {
    note_exact_costs();
  }
  answer(options, format,
         format == "json"       ? bench::write_json(comparison)
         : format == "markdown" ? bench::write_markdown(comparison)
         : format == "html"     ? bench::write_html(comparison, placements)
                                : bench::write_terminal(comparison, table_width(options.output)),
         false);
}

// The first says what is compared. A folder is a run; DIR:CELL is a placement.
Outcome compare(const CompareOptions& options, bool has_threshold, const Invocation& invocation) {
  const std::string format =
      choose_format(invocation.json, options.format, options.output, kComparisonFormats);
  std::error_code ignored;
  if (std::filesystem::is_directory(options.sources.front(), ignored)) {
    return compare_two_runs(options, format, invocation.color);
  }
  if (has_threshold) {
    throw Error(ErrorCode::kUsage, "--threshold is for runs, but these are placements");
  }
  compare_steps(options, format, allowed_threads(invocation.threads));
  return Outcome::kOk;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare placements, or two runs, and show what became slower or faster");
  command->group("Experiments");
  set_examples(*command, {"emplace compare placement.json other.json",
                          "emplace compare placement.json other.json -o comparison.html",
                          "emplace compare results/quickstart results/again --threshold 50%"});
  const auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("SOURCE", options->sources,
                   "Folders of two runs, or two or more placements: files, or cells of runs "
                   "(DIR:CELL). All are compared with the first")
      ->required()
      ->expected(2, kMostSources)
      ->type_name("PATH");
  CLI::Option* threshold =
      command
          ->add_option("--threshold", options->threshold,
                       "Of runs: exit with code 5 if the second is significantly slower by more "
                       "than this share: 2% or 0.02")
          ->type_name("SHARE")
          ->capture_default_str();
  command
      ->add_option("--graph", options->problem.graph,
                   "Of placements: their graph, where it is a file")
      ->type_name("GRAPH")
      ->group("Problem");
  add_cluster(*command, options->problem.cluster)
      ->description("Of placements: their cluster, where it is a file");
  CLI::Option* draws = add_draws(*command, options->draws);
  add_seed(*command, options->seed)->needs(draws)->group("Uncertain costs");
  add_format(*command, options->format, kComparisonFormats);
  add_output(*command, options->output, "Write the comparison here")
      ->default_str("standard output");
  command->callback([options, threshold, &action] {
    action = [options, has_threshold = threshold->count() > 0](const Invocation& invocation) {
      return compare(*options, has_threshold, invocation);
    };
  });
}

}  // namespace emplace::cli
