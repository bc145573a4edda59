#include "command.hpp"
#include "terminal.hpp"

#include <emplace/graphs/dnn_partitioning.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/text_file.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace emplace::cli {

void add_import(CLI::App& app, Action& action) {
  struct Options {
    std::string input;
    std::string format = "dnn-partitioning";
    std::string output;
    bool json = false;
  };
  CLI::App* command = app.add_subcommand("import", "Turn another program's graph into ours");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->input, "What to read, '-' for standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("--format", options->format,
                   "dnn-partitioning (the default), or emplace to check and tidy a graph of ours")
      ->check(CLI::IsMember({"dnn-partitioning", "emplace"}))
      ->type_name("FORMAT");
  command
      ->add_option("-o,--output", options->output,
                   "Graph file to write; by default it is the answer")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Tell in JSON what was written");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      const std::string text = read_text_file(options->input);
      const OpGraph graph = options->format == "emplace"
                                ? read_graph_json(text, options->input)
                                : read_dnn_partitioning(text, options->input);
      if (options->output.empty()) {
        print(write_graph_json(graph));
        return Outcome::kOk;
      }
      write_text_file(options->output, write_graph_json(graph));
      if (options->json) {
        print_json({{"schema_version", 1},
                    {"graph", graph[boost::graph_bundle].name},
                    {"ops", num_ops(graph)},
                    {"edges", boost::num_edges(graph)},
                    {"output", options->output}});
      } else {
        print(fmt::format("{}: {} ops, {} edges, written to {}\n", graph[boost::graph_bundle].name,
                          num_ops(graph), boost::num_edges(graph), options->output));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
