#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/escape.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/json.hpp>
#include <emplace/graphs/json_cursor.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/placement_format.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

struct ExportOptions {
  std::string graph;
  std::string cluster;
  std::string placement;
  std::string format;
  std::string output;
  bool json = false;
};

// Most changes that are told one by one.
constexpr std::size_t kMaxNotes = 10;

// Returns the format that the user named, or that the ending of the output file tells.
Spec format_of(const std::string& given, const std::string& output) {
  if (!given.empty()) {
    return Spec::parse(given);
  }
  const GraphFormat* format = GraphFormats::global().find_by_ending(output);
  if (format == nullptr) {
    throw Error(ErrorCode::kUsage,
                "export needs --format NAME[:key=value,...] (see emplace list formats), or "
                "--output with a file name whose ending implies the format");
  }
  return {.name = format->name};
}

void export_graph(const ExportOptions& options) {
  const Spec format = format_of(options.format, options.output);
  if (std::ranges::count(placement_format_names(), format.name) > 0 &&
      std::ranges::count(GraphFormats::global().names(), format.name) == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is a format of placements: give --placement FILE", format.name));
  }
  const OpGraph graph = load_graph(options.graph);
  const std::string bytes = GraphFormats::global().write(format, graph);
  if (options.output.empty()) {
    // Our own JSON loses nothing by it; what other formats need is not ours to change.
    print(format.name == "emplace" ? escape_json(bytes) : bytes);
    return;
  }
  write_text_file(options.output, bytes);
  const std::string& name = graph[boost::graph_bundle].name;
  if (options.json) {
    print_json({{"schema_version", 1},
                {"graph", name},
                {"format", format.name},
                {"ops", num_ops(graph)},
                {"edges", boost::num_edges(graph)},
                {"output", options.output}});
  } else if (options.output != "-") {
    print_text(fmt::format("{}: {}, {}, written to {} as format {}\n", name,
                           counted(num_ops(graph), "op"), counted(boost::num_edges(graph), "edge"),
                           options.output, format.name));
  }
}

// Returns what a placement file says of its `member`, a graph or a cluster that emplace has by
// name. Throws Error where that is to be given on the command line.
std::string named_in(const ExportOptions& options, const char* member, const std::string& option,
                     const std::vector<std::string>& known) {
  const JsonDocument file = JsonDocument::read(options.placement);
  const auto name = file.root().find(member);
  if (!name) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: no {} is named: give {}", options.placement, member, option));
  }
  std::string text = name->text();
  if (std::ranges::find(known, text.substr(0, text.find(':'))) == known.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: /{}: '{}' is not built into emplace: give {}",
                                               options.placement, member, excerpt(text), option));
  }
  return text;
}

std::vector<std::string> names_of(const PlacedStep& step, const std::vector<DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const DeviceId device : devices) {
    names.push_back(step.problem().device(device).name);
  }
  return names;
}

// Tells what the other program runs otherwise than the placement says.
void note_changes(const PlacedStep& step, const PlacementExport& exported,
                  const std::string& format, const StepRecord& record) {
  if (!exported.keeps_order) {
    note(fmt::format(
        "emplace: warning: the format {} cannot store an order: the priorities are left out",
        format));
  }
  for (std::size_t i = 0; i < exported.joined.size() && i < kMaxNotes; ++i) {
    const JoinedOps& joined = exported.joined[i];
    note(fmt::format("emplace: note: {} was on {}, and is now on {}",
                     joined.what.empty() ? "the model" : fmt::format("'{}'", excerpt(joined.what)),
                     fmt::join(names_of(step, joined.devices), " and "),
                     step.problem().device(joined.device).name));
  }
  if (exported.joined.size() > kMaxNotes) {
    note(fmt::format("emplace: note: and {} more, which --json lists",
                     exported.joined.size() - kMaxNotes));
  }
  if (exported.placement != step.record.placement) {
    note(
        fmt::format("emplace: note: as {} runs it, the step takes {:.3f} ms instead of {:.3f} ms{}",
                    format, record.makespan_us / 1e3, step.record.makespan_us / 1e3,
                    record.status == StepStatus::kOk ? "" : ", and does not fit into memory"));
  }
}

Json to_json(const PlacedStep& step, const PlacementExport& exported, const std::string& format,
             const std::string& output, const StepRecord& record) {
  Json joined = Json::array();
  for (const JoinedOps& ops : exported.joined) {
    joined.push_back({{"what", ops.what},
                      {"devices", names_of(step, ops.devices)},
                      {"device", step.problem().device(ops.device).name}});
  }
  return {{"schema_version", 1},
          {"graph", step.graph},
          {"cluster", step.cluster},
          {"format", format},
          {"step_time_us", step.record.makespan_us},
          {"exported_step_time_us", record.makespan_us},
          {"exported_status", to_string(record.status)},
          {"keeps_order", exported.keeps_order},
          {"joined", std::move(joined)},
          {"output", output}};
}

void export_placement(const ExportOptions& options) {
  if (options.format.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("export --placement needs --format, one of {}",
                                               fmt::join(placement_format_names(), ", ")));
  }
  const PlacementFormat& format = find_placement_format(options.format);
  const ProblemOptions problem{
      .graph = options.graph.empty()
                   ? named_in(options, "graph", "GRAPH", GraphCatalog::global().names())
                   : options.graph,
      .cluster = options.cluster.empty()
                     ? named_in(options, "cluster", "--cluster", cluster_names())
                     : options.cluster};
  const PlacedStep step = place_from_file(problem, options.placement);
  const PlacementExport exported = format.write(step.problem(), step.record.placement);
  const StepRecord record = exported.placement == step.record.placement
                                ? step.record
                                : Simulator(step.problem()).record(exported.placement);
  note_changes(step, exported, options.format, record);
  if (options.output.empty()) {
    print(exported.text);
    return;
  }
  write_text_file(options.output, exported.text);
  if (options.json) {
    print_json(to_json(step, exported, options.format, options.output, record));
  } else if (options.output != "-") {
    print_text(fmt::format(
        "the placement of {} on {}, step {:.3f} ms, written to {} as format {}\n", step.graph,
        step.cluster, record.makespan_us / 1e3, options.output, options.format));
  }
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("export", "Write a graph, or a placement of it, for another program");
  command->group("Exchange and measure");
  set_examples(*command, {"emplace export inception-v3 -o inception.graphml",
                          "emplace export nmt:batch=16 --format dot",
                          "emplace export inception-v3 --cluster p2-8xlarge-2 --placement "
                          "placement.json --format torch-fx"});
  const auto options = std::make_shared<ExportOptions>();
  add_graph(*command, options->graph)->default_str("as named in the placement");
  CLI::Option* cluster =
      add_cluster(*command, options->cluster)->default_str("as named in the placement");
  CLI::Option* placement =
      command
          ->add_option("--placement", options->placement,
                       "Write this placement, in a format of placements (emplace list "
                       "placement-formats)")
          ->type_name("FILE")
          ->group("Problem");
  cluster->needs(placement);
  command
      ->add_option(
          "--format", options->format,
          "NAME[:key=value,...] (emplace list formats); with --placement a NAME of emplace "
          "list placement-formats")
      ->type_name("OUTPUT_FORMAT")
      ->default_str("for a graph: from the ending of FILE")
      ->group("Output");
  CLI::Option* output =
      add_output(*command, options->output, "Write it here")->default_str("standard output");
  add_json(*command, options->json, "Print as JSON what was written")->needs(output);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      refuse_two_answers(options->json, options->output, "--output");
      if (!options->placement.empty()) {
        export_placement(*options);
      } else if (options->graph.empty()) {
        throw Error(ErrorCode::kUsage,
                    "missing GRAPH or --placement FILE (see emplace export --help)");
      } else {
        export_graph(*options);
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
