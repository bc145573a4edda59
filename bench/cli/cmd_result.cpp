#include "command.hpp"
#include "help_text.hpp"
#include "memory_overflow.hpp"
#include "options.hpp"
#include "placed_step.hpp"
#include "stored_cell.hpp"
#include "terminal.hpp"

#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_index.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/escape.hpp>
#include <emplace/graphs/json.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/sim/placement_file.hpp>

#include <fmt/format.h>

#include <memory>

namespace emplace::cli {
namespace {

using bench::CellResult;
using bench::TextTable;
struct ResultOptions {
  CellChoice choice;
  std::string output;
  bool list = false;
  bool json = false;
};

std::string to_text(const bench::StoredRun& run, bool color) {
  constexpr TextTable::Align kRight = TextTable::Align::kRight;
  const auto fastest = fastest_cells(run);
  const bench::SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  TextTable table({{"cell"},
                   {"graph"},
                   {"cluster", TextTable::Align::kLeft, 1},
                   {"agent"},
                   {"repetition", kRight, 3},
                   {"step [ms]", kRight},
                   {"status", TextTable::Align::kLeft, 2},
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
  return table.to_terminal(color, table_width());
}

Json to_json(const bench::StoredRun& run) {
  const auto fastest = fastest_cells(run);
  const bench::SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  Json cells = Json::array();
  for (const CellResult& result : run.results) {
    const bench::Cell& cell = result.cell;
    cells.push_back({{"id", cell.id()},
                     {"graph", cell.graph},
                     {"cluster", cell.cluster},
                     {"agent", cell.agent.text()},
                     {"label", index.label_of(cell)},
                     {"repetition", cell.repetition},
                     {"status", to_string(result.status)},
                     {"step_time_us", result.step_time_us},
                     {"has_placement", result.placement.size() > 0},
                     {"is_fastest", fastest.contains(&result)}});
  }
  return {{"schema_version", 1}, {"cells", std::move(cells)}};
}

void list_cells(const ResultOptions& options, bool color) {
  const bench::StoredRun run = bench::read_store(options.choice.folder);
  if (options.json) {
    print_json(to_json(run));
  } else {
    print_text(to_text(run, color), color);
  }
}

void write_placement(const ResultOptions& options) {
  refuse_two_answers(options.json, options.output, "--output");
  const PlacedStep step = place_from_run(options.choice);
  note_out_of_memory(step);
  const std::string file = write_placement_json(step.problem(), step.record.placement);
  if (options.output.empty() && !options.json) {
    print(escape_json(file));
    return;
  }
  Json answer = cli::to_json(step);
  if (options.output.empty()) {
    answer.add("placement", Json::of_text(file));
  } else {
    write_text_file(options.output, file);
  }
  if (options.json) {
    print_json(answer);
  } else if (options.output != "-") {
    print_text(cli::to_text(step));
  }
}

}  // namespace

void add_result(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("result", "Write a placement that a run found, or list its cells");
  command->group("Experiments");
  set_examples(*command, {"emplace result results/quickstart --list",
                          "emplace result results/quickstart --cluster p2-8xlarge-2 -o "
                          "placement.json"});
  const auto options = std::make_shared<ResultOptions>();
  command->add_option("DIR", options->choice.folder, "Folder of a run")
      ->required()
      ->type_name("DIR");
  CLI::Option* list = command->add_flag("--list", options->list,
                                        "List the cells; * marks the fastest of a problem");
  CLI::Option* graph =
      command->add_option("--graph", options->choice.graph, "Fastest cell of this graph")
          ->type_name("GRAPH")
          ->default_str("the only one")
          ->excludes(list);
  CLI::Option* cluster =
      command->add_option("--cluster", options->choice.cluster, "Fastest cell of this cluster")
          ->type_name("CLUSTER")
          ->default_str("the only one")
          ->excludes(list);
  add_cell(*command, options->choice.id)->excludes(list)->excludes(graph)->excludes(cluster);
  add_output(*command, options->output, "Write the placement here")
      ->default_str("standard output")
      ->excludes(list);
  add_json(
      *command, options->json,
      "Print the list, or the step, as JSON; without --output the step includes the placement");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      if (options->list) {
        list_cells(*options, use_color(invocation.color));
      } else {
        write_placement(*options);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
