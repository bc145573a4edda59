#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/run_comparison.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace emplace::cli {
namespace {

constexpr double kMaxThreshold = 100;  // a step a hundred times as long
constexpr auto kComparisonFormats = std::to_array<AnswerFormat>({{"markdown", ".md"}});

struct CompareOptions {
  std::string a;
  std::string b;
  std::string threshold = "2%";
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

Outcome compare(const CompareOptions& options, const Invocation& invocation) {
  const double threshold = read_threshold(options.threshold);
  const bench::StoredRun a = bench::read_store(options.a);
  const bench::StoredRun b = bench::read_store(options.b);
  const bench::RunComparison comparison = bench::compare_runs(a, b, threshold);
  const bool color = options.output.empty() && use_color(invocation.color);
  const std::string format =
      choose_format(invocation.json, options.format, options.output, kComparisonFormats);
  const std::string text =
      format == "json" ? bench::write_json(comparison)
      : format == "markdown"
          ? bench::write_markdown(comparison)
          : bench::write_terminal(comparison, color, table_width(options.output));
  if (options.output.empty()) {
    print_as(format, text, color);
  } else {
    write_answer(options.output, text);
  }
  return comparison.count(bench::Verdict::kSlower) > 0 ? Outcome::kRegression : Outcome::kOk;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("compare", "Compare two runs, and show what became slower or faster");
  command->group("Experiments");
  set_examples(*command, {"emplace compare results/quickstart results/again",
                          "emplace compare results/quickstart results/again --threshold 50%"});
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("RUN_A", options->a, "Folder of a run")->required()->type_name("DIR");
  command->add_option("RUN_B", options->b, "The one to compare with it")
      ->required()
      ->type_name("DIR");
  command
      ->add_option(
          "--threshold", options->threshold,
          "Exit with code 5 if B is significantly slower by more than this share: 2% or 0.02")
      ->type_name("SHARE")
      ->capture_default_str();
  add_format(*command, options->format, kComparisonFormats);
  add_output(*command, options->output, "Write the comparison here")
      ->default_str("standard output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) { return compare(*options, invocation); };
  });
}

}  // namespace emplace::cli
