#include "command.hpp"
#include "help_text.hpp"
#include "kept_trainings.hpp"
#include "options.hpp"
#include "picture_file.hpp"
#include "step/page_steps.hpp"
#include "step/stored_cell.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/report_picture.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/suite_index.hpp>
#include <emplace/bench/text_table.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace::cli {
namespace {

using bench::CellResult;
using bench::ResultTable;
using bench::TextTable;

constexpr auto kReportFormats = std::to_array<AnswerFormat>({{"markdown", ".md"},
                                                             {"html", ".html"},
                                                             {"csv", ".csv"},
                                                             {"latex", ".tex"},
                                                             {"svg", ".svg"},
                                                             {"png", ".png", true},
                                                             {"pdf", ".pdf", true},
                                                             {"sqlite", ".sqlite", true}});
constexpr std::string_view kSummary = "summary";
constexpr std::string_view kCells = "cells";

struct ReportOptions {
  std::string folder;
  std::string format;
  std::string output;
  std::string table{kSummary};
  std::string plot{to_string(bench::ReportPlots::kAll)};
};

// The cells of a run; * marks the fastest of each graph and cluster.
TextTable table_of_cells(const bench::StoredRun& run) {
  constexpr TextTable::Align kRight = TextTable::Align::kRight;
  const auto fastest = bench::fastest_cells(run);
  const bench::SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  TextTable table({{"cell"},
                   {"graph"},
                   {"cluster"},
                   {"agent"},
                   {"repetition", kRight, 2},
                   {"step [ms]", kRight},
                   {"status", TextTable::Align::kLeft, 1},
                   {""}});
  for (const CellResult& result : run.results) {
    const bench::Cell& cell = result.cell;
    const bool is_fastest = fastest.contains(&result);
    table.add_row({cell.id(), cell.graph, cell.cluster, index.label_of(cell),
                   fmt::format("{}", cell.repetition),
                   result.status == bench::CellStatus::kFailed
                       ? "-"
                       : fmt::format("{:.3f}", result.step_time_us / 1e3),
                   std::string(to_string(result.status)), is_fastest ? "*" : ""},
                  is_fastest);
  }
  return table;
}

Json value_as_json(const bench::FieldValue& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return Json(nullptr);
        } else {
          return Json(held);
        }
      },
      value);
}

std::string value_as_text(const bench::FieldValue& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return std::string("-");
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

TextTable text_table_of(const ResultTable& table, const bench::StoredRun& run) {
  std::vector<TextTable::Column> columns;
  for (const ResultTable::Column& column : table.columns) {
    columns.push_back({std::string(column.name),
                       column.type == "TEXT" ? TextTable::Align::kLeft : TextTable::Align::kRight});
  }
  TextTable text(std::move(columns));
  table.write_rows(run, [&](std::span<const bench::FieldValue> row) {
    std::vector<std::string> cells;
    std::ranges::transform(row, std::back_inserter(cells), value_as_text);
    text.add_row(std::move(cells));
  });
  return text;
}

Json json_of(const ResultTable& table, const bench::StoredRun& run) {
  Json rows = Json::array();
  table.write_rows(run, [&](std::span<const bench::FieldValue> row) {
    Json json = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      json.add(table.columns[i].name, value_as_json(row[i]));
    }
    rows.push_back(json);
  });
  Json answer = {{"schema_version", 1}};
  answer.add(table.name, std::move(rows));
  return answer;
}

std::string write_table(const ResultTable& table, const bench::StoredRun& run,
                        const ReportOptions& options, const std::string& format, bool color) {
  if (format == "csv") {
    return bench::write_csv(table, run);
  }
  if (format == "json") {
    return json_of(table, run).indented(2) + "\n";
  }
  const TextTable text = table.name == kCells ? table_of_cells(run) : text_table_of(table, run);
  if (format == "markdown") {
    return text.to_markdown();
  }
  if (format == "terminal") {
    return text.to_terminal(color, table_width(options.output));
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("--table {}: expected the format terminal, markdown, csv, sqlite or "
                          "--json, found {}",
                          table.name, format));
}

std::string write_summary(const bench::StoredRun& run, const ReportOptions& options,
                          const std::string& format, bool color) {
  const bench::Report report = bench::make_report(run, bench::shipped_best_known());
  if (format == "json") {
    return bench::write_json(report);
  }
  if (format == "html") {
    return bench::write_html(report, run, page_steps(run, options.folder),
                             kept_trainings(run, options.folder));
  }
  if (names_picture("." + format)) {
    return encode_picture(bench::draw_report(run, report, bench::report_plots_of(options.plot)),
                          "." + format);
  }
  return format == "markdown" ? bench::write_markdown(report)
         : format == "csv"    ? bench::write_csv(report)
         : format == "latex"  ? bench::write_latex(report)
                              : bench::write_terminal(report, color, table_width(options.output));
}

Outcome report(const ReportOptions& options, const CLI::App& command,
               const Invocation& invocation) {
  const std::string format =
      choose_format(invocation.json, options.format, options.output, kReportFormats);
  if (!names_picture("." + format) && command.count("--plot") > 0) {
    throw Error(ErrorCode::kUsage,
                "--plot needs --output FILE.svg (or .png, .pdf), or --format svg");
  }
  if (format == "sqlite" && command.count("--table") > 0) {
    throw Error(ErrorCode::kUsage, "a database has the tables cells and histories: omit --table");
  }
  const bench::StoredRun run = bench::read_store(options.folder);
  const bool color = options.output.empty() && use_color(invocation.color);
  const auto tables = bench::result_tables();
  const auto table = std::ranges::find(tables, options.table, &ResultTable::name);
  const std::string text = format == "sqlite" ? bench::write_sqlite(run)
                           : table == tables.end()
                               ? write_summary(run, options, format, color)
                               : write_table(*table, run, options, format, color);
  if (options.output.empty()) {
    print_as(format, text, color);
  } else {
    write_answer(options.output, text);
  }
  return Outcome::kOk;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("report", "Show the results of a run, or write them as a page or a table");
  command->group("Experiments");
  set_examples(*command, {"emplace report results/quickstart",
                          "emplace report results/quickstart -o report.html",
                          "emplace report results/quickstart --table cells",
                          "emplace report results/quickstart -o results.sqlite"});
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("DIR", options->folder, "Folder of a run")->required()->type_name("DIR");
  std::vector<std::string> tables = {std::string(kSummary)};
  for (const ResultTable& table : bench::result_tables()) {
    tables.emplace_back(table.name);
  }
  command
      ->add_option("--table", options->table,
                   "summary compares the agents; cells has a row for each cell, and marks the "
                   "fastest of each graph and cluster with *; histories has each improvement")
      ->check(CLI::IsMember(tables))
      ->capture_default_str()
      ->type_name("TABLE")
      ->group("Output");
  command
      ->add_option("--plot", options->plot,
                   "What a picture shows: performance profiles, convergence over evaluations or "
                   "over seconds, or all: profiles, and convergence over evaluations for graphs "
                   "without a family")
      ->check(CLI::IsMember(bench::report_plots_names()))
      ->capture_default_str()
      ->type_name("PLOT")
      ->group("Output");
  add_format(*command, options->format, kReportFormats);
  add_output(*command, options->output,
             "Write the report here; the ending chooses the format: .md, .html, .csv, .tex, "
             ".json, .sqlite (cells and histories), or a picture: .svg, .png, .pdf")
      ->default_str("standard output");
  command->callback([options, command, &action] {
    action = [options, command](const Invocation& invocation) {
      return report(*options, *command, invocation);
    };
  });
}

}  // namespace emplace::cli
