#include "command.hpp"
#include "terminal.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_export.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/text_file.hpp>

#include <CLI/Validators.hpp>

#include <memory>

namespace emplace::cli {

void add_export(CLI::App& app, Action& action) {
  struct Options {
    std::string graph;
    std::string format;
    std::string output;
  };
  CLI::App* command = app.add_subcommand("export", "Write a graph for another program");
  const auto options = std::make_shared<Options>();
  command->add_option("GRAPH", options->graph, "NAME[:key=value,...], or a graph file")
      ->required()
      ->type_name("");
  command
      ->add_option("--format", options->format, "json (emplace's own), dot (Graphviz) or graphml")
      ->check(CLI::IsMember({"json", "dot", "graphml"}))
      ->required()
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->output, "File to write; by default the answer")
      ->type_name("FILE");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      const OpGraph graph = load_graph(options->graph);
      const std::string text = options->format == "json"  ? write_graph_json(graph)
                               : options->format == "dot" ? write_dot(graph)
                                                          : write_graphml(graph);
      if (options->output.empty()) {
        print(text);
      } else {
        write_text_file(options->output, text);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
