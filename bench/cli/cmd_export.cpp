#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace emplace::cli {
namespace {

// Returns the format that the user named, or that the ending of the output file tells.
Spec format_of(const std::string& given, const std::string& output) {
  if (!given.empty()) {
    return Spec::parse(given);
  }
  const GraphFormat* format = GraphFormats::global().find_by_ending(output);
  if (format == nullptr) {
    throw Error(ErrorCode::kUsage,
                "export needs --format NAME[:key=value,...] (see emplace list formats), or "
                "--output with a file name whose ending tells the format");
  }
  return {.name = format->name};
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  struct Options {
    std::string graph;
    std::string format;
    std::string output;
    bool json = false;
  };
  CLI::App* command = app.add_subcommand("export", "Write a graph for another program");
  command->group("Exchange and measure");
  set_examples(*command, {"emplace export inception-v3 -o inception.graphml",
                          "emplace export nmt:batch=16 --format dot"});
  const auto options = std::make_shared<Options>();
  add_graph(*command, options->graph)->required();
  command->add_option("--format", options->format, "NAME[:key=value,...] (emplace list formats)")
      ->type_name("FORMAT")
      ->default_str("as the ending of FILE tells")
      ->group("Output");
  CLI::Option* output =
      add_output(*command, options->output, "Write the graph here")->default_str("standard output");
  add_json(*command, options->json, "Tell in JSON what was written")->needs(output);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      const Spec format = format_of(options->format, options->output);
      const OpGraph graph = load_graph(options->graph);
      const std::string bytes = GraphFormats::global().write(format, graph);
      if (options->output.empty()) {
        print(bytes);
        return Outcome::kOk;
      }
      write_text_file(options->output, bytes);
      const std::string& name = graph[boost::graph_bundle].name;
      if (options->json) {
        print_json({{"schema_version", 1},
                    {"graph", name},
                    {"format", format.name},
                    {"ops", num_ops(graph)},
                    {"edges", boost::num_edges(graph)},
                    {"output", options->output}});
      } else if (options->output != "-") {
        print(fmt::format("{}: {} ops, {} edges, written to {} as format {}\n", name,
                          num_ops(graph), boost::num_edges(graph), options->output, format.name));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
