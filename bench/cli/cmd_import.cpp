#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/escape.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/graphs/uncounted_work.hpp>

#include <fmt/format.h>

#include <memory>

namespace emplace::cli {

namespace {

// The format that the user names or the file tells, with the parameters that stand behind either.
Spec format_of(const std::string& named, const GraphFile& file, const std::string& bytes,
               const std::string& source) {
  Spec format = named.empty() ? Spec{.name = GraphFormats::global().guess(bytes, source).name}
                              : Spec::parse(named);
  if (!file.parameters.empty()) {
    const Spec behind = Spec::parse(format.name + ":" + file.parameters);
    format.given.insert(format.given.end(), behind.given.begin(), behind.given.end());
  }
  return format;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  struct Options {
    std::string input;
    std::string format;
    std::string output;
    bool json = false;
  };
  CLI::App* command =
      app.add_subcommand("import", "Convert a graph of another program to a graph file");
  command->group("Exchange and measure");
  set_examples(*command, {"emplace import graph.dot -o graph.json",
                          "emplace import pipedream.txt --format pipedream:device-class=gpu-k80 "
                          "-o pipedream.json"});
  const auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->input,
                   "The file to read, FILE[:key=value,...]; - for standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "NAME[:key=value,...] (emplace list formats)")
      ->type_name("FORMAT")
      ->default_str("from its content or ending");
  CLI::Option* output = add_output(*command, options->output, "Write the graph file here")
                            ->default_str("standard output");
  add_json(*command, options->json, "Print as JSON what was written")->needs(output);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      const GraphFormats& formats = GraphFormats::global();
      const GraphFile file = find_graph_file(options->input);
      const std::string source = file.path == "-" ? "standard input" : file.path;
      const std::string bytes = read_text_file(file.path);
      const Spec format = format_of(options->format, file, bytes, source);
      const OpGraph graph = formats.read(format, bytes, source);
      if (const std::string uncounted = describe_uncounted(graph); !uncounted.empty()) {
        note(escape_terminal(fmt::format("emplace: warning: {}", uncounted)));
      }
      if (options->output.empty()) {
        if (options->format.empty()) {
          note(fmt::format("emplace: read as format {}", format.name));
        }
        print(escape_json(write_graph_json(graph)));
        return Outcome::kOk;
      }
      write_text_file(options->output, write_graph_json(graph));
      if (options->json) {
        print_json({{"schema_version", 1},
                    {"graph", graph[boost::graph_bundle].name},
                    {"format", format.name},
                    {"ops", num_ops(graph)},
                    {"edges", boost::num_edges(graph)},
                    {"output", options->output}});
      } else {
        print_text(fmt::format("{}: {}, {}, read as format {}, written to {}\n",
                               graph[boost::graph_bundle].name, counted(num_ops(graph), "op"),
                               counted(boost::num_edges(graph), "edge"), format.name,
                               options->output));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
