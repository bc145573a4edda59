#include "command.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr std::array kRungs = {CostRung::kMeasured, CostRung::kInterpolated, CostRung::kRoofline,
                               CostRung::kGuess};

// Sums over the ops of one kind.
struct KindTotals {
  std::int64_t ops = 0;
  std::int64_t flops = 0;
  std::int64_t output_bytes = 0;
};

// The whole graph on one device of a class, without gaps and transfers.
struct ClassTotals {
  std::string profile{};
  std::string device_class{};
  double all_ops_us = 0;
  std::array<std::int64_t, kRungs.size()> ops_by_rung{};
};

struct GraphFacts {
  std::string name{};
  std::string source{};
  std::int64_t ops = 0;
  std::int64_t edges = 0;
  std::int64_t groups = 0;
  GraphTotals totals{};
  std::int64_t forward_flops = 0;
  std::int64_t activation_bytes = 0;
  std::map<std::string, KindTotals> kinds{};
  std::string cluster{};
  double bound_us = 0;
  std::vector<ClassTotals> classes{};
};

void add_ops(GraphFacts& facts, const OpGraph& graph) {
  for (OpId id = 0; id < num_ops(graph); ++id) {
    const Op& op = graph[static_cast<std::size_t>(id)];
    KindTotals& kind = facts.kinds[op.kind];
    ++kind.ops;
    kind.flops += op.flops;
    std::int64_t bytes = 0;
    for (const Output& output : op.outputs) {
      bytes += output.persistent ? 0 : output.bytes;
    }
    kind.output_bytes += bytes;
    if (op.phase == Phase::kForward) {
      facts.forward_flops += op.flops;
      facts.activation_bytes += bytes;
    }
  }
}

void add_cluster(GraphFacts& facts, const Problem& problem) {
  facts.cluster = problem.cluster().name;
  facts.bound_us = lower_bounds(problem).best_us();
  std::vector<bool> seen(problem.cluster().profiles.size());
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::size_t index = problem.cluster().devices[static_cast<std::size_t>(device)].profile;
    if (seen[index]) {
      continue;
    }
    seen[index] = true;
    const DeviceProfile& profile = problem.cluster().profiles[index];
    ClassTotals totals{profile.name, profile.device_class, 0, {}};
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      totals.all_ops_us += problem.cost_us(op, device);
      ++totals.ops_by_rung[static_cast<std::size_t>(problem.cost_rung(op, device))];
    }
    facts.classes.push_back(std::move(totals));
  }
}

GraphFacts facts_of(const OpGraph& graph, const Grouping& grouping) {
  GraphFacts facts{.name = graph[boost::graph_bundle].name,
                   .source = graph[boost::graph_bundle].source,
                   .ops = num_ops(graph),
                   .edges = static_cast<std::int64_t>(boost::num_edges(graph)),
                   .groups = grouping.size(),
                   .totals = totals(graph)};
  add_ops(facts, graph);
  return facts;
}

std::string to_text(const GraphFacts& facts) {
  std::string text = bench::without_control_characters(facts.name) + "\n";
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<18}{}\n", what, value);
  };
  const auto gigabytes = [](std::int64_t bytes) {
    return fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9);
  };
  const auto gigaflops = [](std::int64_t flops) {
    return fmt::format("{:.3f} GFLOP", static_cast<double>(flops) / 1e9);
  };
  line("source", bench::without_control_characters(facts.source));
  line("ops", fmt::format("{}", facts.ops));
  line("edges", fmt::format("{}", facts.edges));
  line("groups", fmt::format("{}", facts.groups));
  line("step", gigaflops(facts.totals.flops));
  line("forward pass", gigaflops(facts.forward_flops));
  line("parameters",
       fmt::format("{} ({})", facts.totals.parameters, gigabytes(facts.totals.parameter_bytes)));
  line("persistent", gigabytes(facts.totals.persistent_bytes));
  line("activations", gigabytes(facts.activation_bytes));

  TextTable kinds({{"kind"},
                   {"ops", Align::kRight},
                   {"GFLOP", Align::kRight},
                   {"outputs [GB]", Align::kRight}});
  for (const auto& [kind, sums] : facts.kinds) {
    kinds.add_row({kind, fmt::format("{}", sums.ops),
                   fmt::format("{:.3f}", static_cast<double>(sums.flops) / 1e9),
                   fmt::format("{:.3f}", static_cast<double>(sums.output_bytes) / 1e9)});
  }
  text += "\n" + kinds.to_terminal(false);
  if (facts.cluster.empty()) {
    return text;
  }

  text += fmt::format("\non {}, where no placement is faster than {:.3f} ms\n\n", facts.cluster,
                      facts.bound_us / 1e3);
  TextTable classes({{"profile"},
                     {"device class"},
                     {"all ops [ms]", Align::kRight},
                     {"measured", Align::kRight},
                     {"interpolated", Align::kRight},
                     {"roofline", Align::kRight},
                     {"guess", Align::kRight}});
  for (const ClassTotals& totals : facts.classes) {
    std::vector<std::string> row = {totals.profile, totals.device_class,
                                    fmt::format("{:.3f}", totals.all_ops_us / 1e3)};
    for (const std::int64_t ops : totals.ops_by_rung) {
      row.push_back(fmt::format("{}", ops));
    }
    classes.add_row(std::move(row));
  }
  return text + classes.to_terminal(false);
}

Json to_json(const GraphFacts& facts) {
  Json kinds = Json::array();
  for (const auto& [kind, sums] : facts.kinds) {
    kinds.push_back({{"kind", kind},
                     {"ops", sums.ops},
                     {"flops", sums.flops},
                     {"output_bytes", sums.output_bytes}});
  }
  Json json = {{"schema_version", 1},
               {"graph", facts.name},
               {"source", facts.source},
               {"ops", facts.ops},
               {"edges", facts.edges},
               {"groups", facts.groups},
               {"flops", facts.totals.flops},
               {"forward_flops", facts.forward_flops},
               {"parameters", facts.totals.parameters},
               {"parameter_bytes", facts.totals.parameter_bytes},
               {"persistent_bytes", facts.totals.persistent_bytes},
               {"activation_bytes", facts.activation_bytes},
               {"kinds", std::move(kinds)}};
  if (facts.cluster.empty()) {
    return json;
  }

  json["cluster"] = facts.cluster;
  json["bound_us"] = facts.bound_us;
  json["device_classes"] = Json::array();
  for (const ClassTotals& totals : facts.classes) {
    Json rungs = Json::object();
    for (const CostRung rung : kRungs) {
      rungs[std::string(to_string(rung))] = totals.ops_by_rung[static_cast<std::size_t>(rung)];
    }
    json["device_classes"].push_back({{"profile", totals.profile},
                                      {"device_class", totals.device_class},
                                      {"all_ops_us", totals.all_ops_us},
                                      {"ops_by_rung", std::move(rungs)}});
  }
  return json;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  struct Options {
    ProblemOptions problem;
    bool json = false;
  };
  CLI::App* command =
      app.add_subcommand("show", "Show what a graph computes, and what it costs on a cluster");
  const auto options = std::make_shared<Options>();
  command->add_option("GRAPH", options->problem.graph, "NAME[:key=value,...], or a graph file")
      ->required()
      ->type_name("");
  command->add_option("--cluster", options->problem.cluster, "Name, or the path of a cluster file")
      ->type_name("CLUSTER");
  add_groups(*command, options->problem.groups);
  command->add_flag("--json", options->json, "Answer in JSON");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      GraphFacts facts;
      if (options->problem.cluster.empty()) {
        const OpGraph graph = load_graph(options->problem.graph);
        facts = facts_of(graph, bench::group_graph(graph, options->problem.groups));
      } else {
        const Problem problem = bench::load_problem(
            options->problem.graph, options->problem.cluster, options->problem.groups);
        facts = facts_of(problem.graph(), problem.grouping());
        add_cluster(facts, problem);
      }
      if (options->json) {
        print_json(to_json(facts));
      } else {
        print(to_text(facts));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
