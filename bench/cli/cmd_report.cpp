#include "command.hpp"
#include "fastest_steps.hpp"
#include "help_text.hpp"
#include "kept_trainings.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/bench/report.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/report_picture.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace emplace::cli {

namespace {

// The form of a report that is written to a file of this name.
std::string format_of(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kForms = {
      {{".md", "markdown"},
       {".html", "html"},
       {".json", "json"},
       {".csv", "csv"},
       {".tex", "latex"}}};
  const auto form =
      std::ranges::find_if(kForms, [&](const auto& pair) { return path.ends_with(pair.first); });
  return std::string(form == kForms.end() ? "terminal" : form->second);
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  struct Options {
    std::string folder;
    std::string format = "terminal";
    std::string output;
    std::string picture;
    std::string plot = std::string(to_string(bench::ReportPlots::kAll));
  };
  CLI::App* command = app.add_subcommand("report", "Show the results of a run again");
  command->group("Experiments");
  set_examples(*command, {"emplace report results/quickstart",
                          "emplace report results/quickstart -o report.html",
                          "emplace report results/quickstart --format markdown",
                          "emplace report results/quickstart -o table.tex"});
  const auto options = std::make_shared<Options>();
  command->add_option("DIR", options->folder, "Folder of a run")->required()->type_name("DIR");
  add_format(*command, options->format, {"terminal", "markdown", "html", "json", "csv", "latex"});
  CLI::Option* const format = command->get_option("--format");
  format->default_str("by the ending of -o, else terminal");
  add_output(*command, options->output, "Write the report here")->default_str("standard output");
  CLI::Option* const picture =
      command
          ->add_option("--picture", options->picture,
                       "Draw how close agents come to the best, and how fast, to FILE.svg")
          ->type_name("FILE")
          ->group("Output");
  command
      ->add_option(
          "--plot", options->plot,
          "What the picture shows: performance profiles, convergence over evaluations or over "
          "seconds, or all: profiles, and convergence over evaluations for graphs without a family")
      ->check(CLI::IsMember(bench::report_plots_names()))
      ->needs(picture)
      ->capture_default_str()
      ->type_name("PLOT")
      ->group("Output");
  command->callback([options, format, &action] {
    action = [options, format](const Invocation& invocation) {
      if (!options->picture.empty() && !options->picture.ends_with(".svg")) {
        throw Error(ErrorCode::kUsage, fmt::format("--picture: expected a name that ends in .svg, "
                                                   "found '{}'",
                                                   excerpt(options->picture)));
      }
      const bench::StoredRun run = bench::read_store(options->folder);
      const bench::Report report = bench::make_report(run, bench::shipped_best_known());
      if (!options->picture.empty()) {
        write_text_file(options->picture,
                        bench::draw_report(run, report, bench::report_plots_of(options->plot)));
      }
      const bool color = options->output.empty() && use_color(invocation.color);
      if (format->count() == 0 && options->format == "terminal") {
        options->format = format_of(options->output);
      }
      const std::string text =
          options->format == "json" ? bench::write_json(report)
          : options->format == "html"
              ? bench::write_html(report, run, fastest_steps(run, options->folder),
                                  kept_trainings(run, options->folder))
          : options->format == "markdown" ? bench::write_markdown(report)
          : options->format == "csv"      ? bench::write_csv(report)
          : options->format == "latex"
              ? bench::write_latex(report)
              : bench::write_terminal(report, color, options->output.empty() ? table_width() : 0);
      if (options->output.empty()) {
        print_as(options->format, text, color);
      } else {
        write_text_file(options->output, text);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
