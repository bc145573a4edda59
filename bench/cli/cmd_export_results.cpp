#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/bench/result_tables.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

namespace emplace::cli {
namespace {

struct ExportResultsOptions {
  std::string folder;
  std::string output;
  bool csv = false;
  bool sqlite = false;
  bool json = false;
};

// Writes a file for each table; returns their paths.
std::vector<std::string> write_csv_files(const bench::StoredRun& run, const std::string& folder) {
  std::error_code ignored;  // writing tells why it could not
  std::filesystem::create_directories(folder, ignored);
  std::vector<std::string> paths;
  for (const bench::ResultTable& table : bench::result_tables()) {
    paths.push_back(fmt::format("{}/{}.csv", folder, table.name));
    write_text_file(paths.back(), bench::write_csv(table, run));
  }
  return paths;
}

void export_results(const ExportResultsOptions& options) {
  if (options.csv == options.sqlite) {
    throw Error(ErrorCode::kUsage,
                "give one of --csv and --sqlite (see emplace export-results --help)");
  }
  if (options.csv && options.output == "-") {
    throw Error(ErrorCode::kUsage, "--output: expected the name of a folder with --csv, found '-'");
  }
  refuse_two_answers(options.json, options.output, "--output");
  const bench::StoredRun run = bench::read_store(options.folder);
  std::vector<std::string> paths;
  if (options.csv) {
    paths = write_csv_files(run, options.output.empty() ? options.folder : options.output);
  } else {
    paths.push_back(options.output.empty() ? options.folder + "/results.sqlite" : options.output);
    write_text_file(paths.front(), bench::write_sqlite(run));
  }
  std::size_t improvements = 0;
  for (const bench::CellResult& result : run.results) {
    improvements += result.history.size();
  }
  if (options.json) {
    print_json({{"schema_version", 1},
                {"cells", run.results.size()},
                {"improvements", improvements},
                {"files", paths}});
  } else if (options.output != "-") {
    print_text(fmt::format("{}: {} and {}, written to {}\n", options.folder,
                           counted(std::ssize(run.results), "cell"),
                           counted(improvements, "improvement"), fmt::join(paths, " and ")));
  }
}

}  // namespace

void add_export_results(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("export-results", "Write the results of a run for another program");
  command->group("Experiments");
  set_examples(*command,
               {"emplace export-results results/quickstart --csv -o tables",
                "emplace export-results results/quickstart --sqlite -o quickstart.sqlite"});
  const auto options = std::make_shared<ExportResultsOptions>();
  command->add_option("DIR", options->folder, "Folder of a run")->required()->type_name("DIR");
  CLI::Option* csv = command->add_flag("--csv", options->csv, "Write cells.csv and histories.csv")
                         ->group("Output");
  command
      ->add_flag("--sqlite", options->sqlite,
                 "Write an SQLite database of the tables cells and histories")
      ->excludes(csv)
      ->group("Output");
  add_output(*command, options->output, "Folder of the CSV files, or the database", "PATH")
      ->default_str("DIR, or DIR/results.sqlite");
  add_json(*command, options->json, "Print as JSON what was written");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      export_results(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
