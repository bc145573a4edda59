#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "step/memory_overflow.hpp"
#include "step/placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/placement_format.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/uncounted_work.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

struct ConvertOptions {
  std::string graph;
  std::string from;
  std::string cluster;
  std::string placement;  // as for place_from()
  std::string to;
  std::string output;
};

// The format of our own files, of graphs and of placements.
constexpr std::string_view kOwnFormat = "emplace";

// Most changes that are listed one by one.
constexpr std::size_t kMaxNotes = 10;

struct ReadGraph {
  OpGraph graph;
  std::string format;  // of its file; empty for a graph of the catalog
};

// Reads a file in the format that the user names, or that its content or ending implies.
ReadGraph read_graph_file(const ConvertOptions& options) {
  const GraphFormats& formats = GraphFormats::global();
  const GraphFile file = find_graph_file(options.graph);
  const std::string source = file.path == "-" ? "standard input" : file.path;
  const std::string bytes = read_text_file(file.path);
  Spec format = options.from.empty() ? Spec{.name = formats.guess(bytes, source).name}
                                     : Spec::parse(options.from);
  if (!file.parameters.empty()) {
    const Spec more = Spec::parse(format.name + ":" + file.parameters);
    format.given.insert(format.given.end(), more.given.begin(), more.given.end());
  }
  OpGraph graph = formats.read(format, bytes, source);
  note_warnings(graph);
  if (const std::string uncounted = describe_uncounted(graph); !uncounted.empty()) {
    note(escape_terminal(fmt::format("emplace: warning: {}", uncounted)));
  }
  return {graph, format.name};
}

ReadGraph read_graph(const ConvertOptions& options) {
  const bool is_file = names_graph_file(options.graph) && !names_several_graphs(options.graph);
  if (options.from.empty() && options.graph != "-" && !is_file) {
    return {load_graph(options.graph), ""};
  }
  return read_graph_file(options);
}

Spec graph_format_of(const ConvertOptions& options) {
  if (!options.to.empty()) {
    return Spec::parse(options.to);
  }
  const GraphFormat* implied = GraphFormats::global().find_by_ending(options.output);
  if (implied == nullptr && std::filesystem::path(options.output).has_extension()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("--output: the ending of '{}' implies no format: give --to (see emplace "
                    "list formats)",
                    excerpt(options.output)));
  }
  return {.name = implied == nullptr ? std::string(kOwnFormat) : implied->name};
}

void convert_graph(const ConvertOptions& options, bool json) {
  const Spec format = graph_format_of(options);
  if (std::ranges::count(bench::placement_format_names(), format.name) > 0 &&
      std::ranges::count(GraphFormats::global().names(), format.name) == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is a format of placements: give --placement FILE", format.name));
  }
  const ReadGraph read = read_graph(options);
  const std::string bytes = GraphFormats::global().write(format, read.graph);
  if (options.output.empty()) {
    if (!read.format.empty() && options.from.empty()) {
      note(fmt::format("emplace: read as format {}", read.format));
    }
    // Our own JSON loses nothing by it; what other formats need is not ours to change.
    print(format.name == kOwnFormat ? escape_json(bytes) : bytes);
    return;
  }
  write_answer(options.output, bytes);
  const std::string& name = read.graph[boost::graph_bundle].name;
  const auto ops = num_ops(read.graph);
  const auto edges = boost::num_edges(read.graph);
  if (json) {
    print_json({{"schema_version", 1},
                {"graph", name},
                {"from", read.format.empty() ? Json(nullptr) : Json(read.format)},
                {"to", format.name},
                {"ops", ops},
                {"edges", edges},
                {"output", options.output}});
  } else if (options.output != "-") {
    print_text(
        fmt::format("{}: {}, {}, {}written to {} as format {}\n", name, counted(ops, "op"),
                    counted(edges, "edge"),
                    read.format.empty() ? "" : fmt::format("read as format {}, ", read.format),
                    options.output, format.name));
  }
}

std::vector<std::string> names_of(const PlacedStep& step, const std::vector<DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const DeviceId device : devices) {
    names.push_back(step.problem().device(device).name);
  }
  return names;
}

// Says what the other program runs otherwise than the placement says.
void note_changes(const PlacedStep& step, const bench::PlacementExport& exported,
                  const std::string& format, const StepRecord& record) {
  if (!exported.keeps_order) {
    note(fmt::format(
        "emplace: warning: the format {} cannot store an order: the priorities are left out",
        format));
  }
  for (std::size_t i = 0; i < exported.colocated.size() && i < kMaxNotes; ++i) {
    const bench::ColocatedOps& colocated = exported.colocated[i];
    note(fmt::format(
        "emplace: note: {}{} was on {}, and is now on {}",
        colocated.what.empty() ? "the model" : fmt::format("'{}'", excerpt(colocated.what)),
        colocated.shared_by.empty()
            ? ""
            : fmt::format(", which {} share,", bench::sharing_modules(colocated)),
        fmt::join(names_of(step, colocated.devices), " and "),
        step.problem().device(colocated.device).name));
  }
  if (exported.colocated.size() > kMaxNotes) {
    note(fmt::format("emplace: note: and {} more, which --json lists",
                     exported.colocated.size() - kMaxNotes));
  }
  if (exported.placement != step.record.placement) {
    note(
        fmt::format("emplace: note: as {} runs it, the step takes {:.3f} ms instead of {:.3f} ms{}",
                    format, record.makespan_us / 1e3, step.record.makespan_us / 1e3,
                    record.status == StepStatus::kOk ? "" : ", and does not fit into memory"));
  }
}

Json to_json(const PlacedStep& step, const bench::PlacementExport& exported,
             const std::string& format, const std::string& output, const StepRecord& record) {
  Json colocated = Json::array();
  for (const bench::ColocatedOps& ops : exported.colocated) {
    Json change{{"what", ops.what},
                {"devices", names_of(step, ops.devices)},
                {"device", step.problem().device(ops.device).name}};
    if (!ops.shared_by.empty()) {
      change.add("shared_by", ops.shared_by);
    }
    colocated.push_back(change);
  }
  return {{"schema_version", 1},
          {"graph", step.graph},
          {"cluster", step.cluster},
          {"to", format},
          {"step_time_us", step.record.makespan_us},
          {"exported_step_time_us", record.makespan_us},
          {"exported_status", to_string(record.status)},
          {"keeps_order", exported.keeps_order},
          {"colocated", std::move(colocated)},
          {"output", output}};
}

// In our own format nothing changes.
bench::PlacementExport export_placement(const PlacedStep& step, const std::string& format) {
  const Placement& placement = step.record.placement;
  return format == kOwnFormat
             ? bench::PlacementExport{.text = write_placement_json(step.problem(), placement),
                                      .placement = placement}
             : bench::find_placement_format(format).write(step.problem(), placement);
}

void convert_placement(const ConvertOptions& options, bool json) {
  const std::string format = options.to.empty() ? std::string(kOwnFormat) : options.to;
  if (format != kOwnFormat) {
    bench::find_placement_format(format);  // a mistyped name is reported before the graph is built
  }
  PlacedStep step =
      place_from({.graph = options.graph, .cluster = options.cluster}, options.placement);
  if (format == kOwnFormat) {
    note_out_of_memory(step);
  } else if (!step.from_file) {
    step = op_by_op(step);
  }
  const bench::PlacementExport exported = export_placement(step, format);
  const StepRecord record = exported.placement == step.record.placement
                                ? step.record
                                : Simulator(step.problem()).record(exported.placement);
  note_changes(step, exported, format, record);
  if (options.output.empty()) {
    print(format == kOwnFormat ? escape_json(exported.text) : exported.text);
    return;
  }
  write_answer(options.output, exported.text);
  if (json) {
    print_json(to_json(step, exported, format, options.output, record));
  } else if (options.output != "-") {
    print_text(
        fmt::format("the placement of {} on {}, step {:.3f} ms, written to {} as format {}\n",
                    step.graph, step.cluster, record.makespan_us / 1e3, options.output, format));
  }
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "convert", "Convert a graph, or a placement of it, from or for another program");
  command->group("Place a graph");
  set_examples(
      *command,
      {"emplace convert model.onnx:batch=32 -o graph.json",
       "emplace convert pipedream.txt --from pipedream:device-class=gpu-k80 -o graph.json",
       "emplace convert inception-v3 -o inception.graphml",
       "emplace convert --cluster p2-8xlarge-2 --placement results/quickstart -o best.json",
       "emplace convert --placement placement.json --to torch-fx"});
  const auto options = std::make_shared<ConvertOptions>();
  add_graph(*command, options->graph)
      ->description(
          "NAME[:key=value,...] (emplace list graphs), or FILE[:key=value,...], - for standard "
          "input; a placement may name it instead");
  CLI::Option* from =
      command
          ->add_option("--from", options->from,
                       "Format of the graph's file, NAME[:key=value,...] (emplace list formats)")
          ->type_name("FORMAT")
          ->default_str("by its content or ending")
          ->group("Problem");
  CLI::Option* cluster =
      add_cluster(*command, options->cluster)->default_str("as named in the placement");
  CLI::Option* placement = add_placement(*command, options->placement)->excludes(from);
  cluster->needs(placement);
  command
      ->add_option("--to", options->to,
                   "Format to write, NAME[:key=value,...] (emplace list formats); with --placement "
                   "a NAME of emplace list placement-formats")
      ->type_name("OUTPUT_FORMAT")
      ->default_str("by the ending of --output, else emplace")
      ->group("Output");
  add_output(*command, options->output, "Write it here")->default_str("standard output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      refuse_two_answers(invocation.json, options->output, "--output");
      if (invocation.json && options->output.empty()) {
        throw Error(ErrorCode::kUsage, "--json needs --output here: it says what was written");
      }
      if (!options->placement.empty()) {
        convert_placement(*options, invocation.json);
      } else if (options->graph.empty()) {
        throw Error(ErrorCode::kUsage,
                    "missing GRAPH or --placement FILE (see emplace convert --help)");
      } else {
        convert_graph(*options, invocation.json);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
