#include "allowed_threads.hpp"
#include "command.hpp"
#include "graph_facts.hpp"
#include "grouping_report.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "placed_step.hpp"
#include "policy_facts.hpp"
#include "terminal.hpp"

#include <emplace/bench/grouping_comparison.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/json.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Align = TextTable::Align;

constexpr std::array kCostSources = {CostSource::kMeasured, CostSource::kInterpolated,
                                     CostSource::kRoofline, CostSource::kGuess};

struct ShowOptions {
  ProblemOptions problem;
  bool compares_groupings = false;
  std::int64_t evaluations = kDefaultEvaluations;
  std::int64_t seed = 0;
  int threads = 0;
  std::string picture;
  std::string placement;  // of ops, to draw the groups in the colors of their devices
  bool json = false;
};

// The whole graph on one device of a class, without gaps and transfers.
struct ClassTotals {
  std::string profile{};
  std::string device_class{};
  double all_ops_us = 0;
  std::array<std::int64_t, kCostSources.size()> ops_by_cost_source{};
};

// What the graph is on a cluster.
struct ClusterFacts {
  std::string name{};
  double bound_us = 0;
  double largest_share = 0;  // of the work, in the heaviest group
  std::vector<ClassTotals> classes{};
};

ClusterFacts cluster_facts_of(const Problem& problem) {
  ClusterFacts facts{.name = problem.cluster().name,
                     .bound_us = lower_bounds(problem).best_us(),
                     .largest_share = bench::numbers_of(problem).largest_share};
  const IdSpan<DeviceId, const Device> devices(std::span(problem.cluster().devices));
  std::vector<bool> seen(problem.cluster().profiles.size());
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::size_t at = devices[device].profile;
    if (seen[at]) {
      continue;
    }
    seen[at] = true;
    const DeviceProfile& profile = problem.cluster().profiles[at];
    ClassTotals totals{profile.name, profile.device_class, 0, {}};
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      totals.all_ops_us += problem.cost_us(op, device);
      ++totals.ops_by_cost_source[static_cast<std::size_t>(problem.cost_source(op, device))];
    }
    facts.classes.push_back(std::move(totals));
  }
  return facts;
}

std::string cluster_to_text(const ClusterFacts& facts) {
  std::string text = fmt::format(
      "\non {}, where no placement that fits is faster than {:.3f} ms and the largest group has "
      "{:.1f} % of the work\n\n",
      facts.name, facts.bound_us / 1e3, facts.largest_share * 100);
  TextTable classes({{"profile"},
                     {"device class"},
                     {"all ops [ms]", Align::kRight},
                     {"measured", Align::kRight, 1},
                     {"interpolated", Align::kRight, 3},
                     {"roofline", Align::kRight, 2},
                     {"guess", Align::kRight, 2}});
  for (const ClassTotals& totals : facts.classes) {
    std::vector<std::string> row = {totals.profile, totals.device_class,
                                    fmt::format("{:.3f}", totals.all_ops_us / 1e3)};
    for (const std::int64_t ops : totals.ops_by_cost_source) {
      row.push_back(fmt::format("{}", ops));
    }
    classes.add_row(std::move(row));
  }
  return text + classes.to_terminal(false, table_width());
}

void add_to_json(Json& json, const ClusterFacts& facts) {
  json.add("cluster", facts.name);
  json.add("bound_us", facts.bound_us);
  json.add("largest_group_share", facts.largest_share);
  Json classes = Json::array();
  for (const ClassTotals& totals : facts.classes) {
    Json cost_sources = Json::object();
    for (const CostSource source : kCostSources) {
      cost_sources.add(to_string(source),
                       totals.ops_by_cost_source[static_cast<std::size_t>(source)]);
    }
    classes.push_back({{"profile", totals.profile},
                       {"device_class", totals.device_class},
                       {"all_ops_us", totals.all_ops_us},
                       {"ops_by_cost_source", std::move(cost_sources)}});
  }
  json.add("device_classes", classes);
}

// Tells of a grouped graph, and if there is a problem of it, of that too.
void tell(const ShowOptions& options, const OpGraph& graph, const Grouping& grouping,
          const Problem* problem) {
  const GraphFacts facts = facts_of(graph, options.problem.grouping(), grouping);
  std::string text = to_text(facts);
  Json json = to_json(facts);
  if (problem != nullptr) {
    const ClusterFacts on_cluster = cluster_facts_of(*problem);
    text += cluster_to_text(on_cluster);
    add_to_json(json, on_cluster);
  }
  if (options.compares_groupings) {
    const bench::GroupingComparison comparison =
        bench::on_threads(allowed_threads(options.threads), [&] {
          return bench::compare_groupings(options.problem.graph, options.problem.cluster,
                                          options.problem.groups, options.evaluations,
                                          static_cast<std::uint64_t>(options.seed));
        });
    text += cli::to_text(comparison);
    json.add("groupings", cli::to_json(comparison));
  }
  if (!options.picture.empty()) {
    std::optional<PlacedStep> step;
    if (!options.placement.empty()) {
      step = place_from_file(options.problem, options.placement);
    }
    write_group_picture(options.picture, graph, grouping, options.problem.grouping(),
                        step ? &*step : nullptr);
  }
  if (options.json) {
    print_json(json);
  } else {
    print_text(text);
  }
}

// Tells of an agent, which has neither groups nor a picture.
void show_policy(const ShowOptions& options) {
  const std::string& agent = options.problem.graph;
  const std::string& cluster = options.problem.cluster;
  if (cluster.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the policy of agent '{}' depends on the devices; give --cluster", agent));
  }
  if (options.compares_groupings || !options.picture.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("'{}' is an agent; --compare-groupings and "
                                               "--picture are for graphs",
                                               agent));
  }
  const PolicyFacts facts = facts_of_policy(agent, cluster);
  if (options.json) {
    print_json(to_json(facts));
  } else {
    print_text(to_text(facts));
  }
}

void show(const ShowOptions& options) {
  if (names_agent(options.problem.graph)) {
    show_policy(options);
    return;
  }
  if (!options.picture.empty()) {
    check_picture_path(options.picture, kGroupPictures);
  }
  const ProblemOptions& problem_options = options.problem;
  const std::string grouping = problem_options.grouping();
  if (problem_options.cluster.empty()) {
    find_grouping(grouping);  // a mistyped name is told before the graph is built
    const OpGraph graph = load_graph(problem_options.graph);
    tell(options, graph, bench::group_graph(graph, problem_options.groups, grouping), nullptr);
  } else {
    const Problem problem = bench::load_problem(problem_options.graph, problem_options.cluster,
                                                problem_options.groups, grouping);
    tell(options, problem.graph(), problem.grouping(), &problem);
  }
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("show", "Show a graph, what it costs on a cluster, or an agent's policy");
  command->group("Look up");
  set_examples(*command, {"emplace show inception-v3 --cluster p2-8xlarge-2",
                          "emplace show placeto --cluster p2-8xlarge-2"});
  const auto options = std::make_shared<ShowOptions>();
  add_graph(*command, options->problem.graph)
      ->required()
      ->description(
          "NAME[:key=value,...] of a graph (emplace list graphs) or of an agent (emplace "
          "list agents), or a graph file");
  CLI::Option* cluster = add_cluster(*command, options->problem.cluster);
  add_grouping_options(*command, options->problem);
  CLI::Option* compare =
      command
          ->add_flag("--compare-groupings", options->compares_groupings,
                     "Search for a placement with every grouping, and compare the results")
          ->needs(cluster)
          ->group("Comparison");
  add_evaluations(*command, options->evaluations)->needs(compare)->group("Comparison");
  add_seed(*command, options->seed)->needs(compare)->group("Comparison");
  add_threads(*command, options->threads)->needs(compare)->group("Comparison");
  CLI::Option* picture = command
                             ->add_option("--picture", options->picture,
                                          "Draw the groups: FILE.svg, or FILE.dot for Graphviz")
                             ->type_name("FILE")
                             ->group("Output");
  command
      ->add_option("--placement", options->placement,
                   "Color the groups of the picture by the devices of a placement file (JSON)")
      ->type_name("FILE")
      ->needs(cluster)
      ->needs(picture)
      ->group("Output");
  add_json(*command, options->json);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      show(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
