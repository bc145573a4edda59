#include "allowed_threads.hpp"
#include "command.hpp"
#include "facts/cluster_facts.hpp"
#include "facts/cluster_text.hpp"
#include "facts/file_facts.hpp"
#include "facts/graph_facts.hpp"
#include "facts/grouping_report.hpp"
#include "facts/listing_text.hpp"
#include "facts/listings.hpp"
#include "facts/policy_facts.hpp"
#include "facts/profile_picture.hpp"
#include "facts/profile_report.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "picture_file.hpp"
#include "step/picture.hpp"
#include "step/placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/grouping_comparison.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

struct ShowOptions {
  ProblemOptions problem;  // whose graph may be any name or file
  bool compares_groupings = false;
  std::int64_t evaluations = kDefaultEvaluations;
  std::int64_t seed = 0;
  std::string placement;  // colors the picture of the groups, as for place_from()
  std::string profile;    // of a cluster
  std::string output;

  const std::string& name() const { return problem.graph; }
};

// Everything that `show` prints comes from here, with what it needs to know.
class Show {
 public:
  Show(const ShowOptions& options, const CLI::App& command, const Invocation& invocation)
      : options_(options), command_(command), invocation_(invocation) {}

  void run() const {
    std::error_code ignored;
    const std::string& name = options_.name();
    if (std::filesystem::is_directory(name, ignored) && bench::holds_store(name)) {
      throw Error(ErrorCode::kUsage, fmt::format("{} holds the results of a run: emplace report {}",
                                                 name, escape_shell(name)));
    }
    if (names_several_graphs(name)) {
      show_graph();
    } else if (names_graph_file(name)) {
      show_file();
    } else {
      show_name();
    }
  }

 private:
  // Options of one kind of thing are refused for another.
  void expect_options(std::string_view kind,
                      std::initializer_list<std::string_view> allowed) const {
    for (const CLI::Option* option : command_.get_options()) {
      const std::string name = option->get_name();
      if (!option->get_positional() && option->count() > 0 &&
          std::ranges::find(allowed, name) == allowed.end()) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("'{}' is of the kind {}, for which there is no {}", options_.name(),
                                kind, name));
      }
    }
  }

  void answer(const std::string& text, const Json& json) const {
    if (invocation_.json) {
      print_json(json);
    } else {
      print_text(text);
    }
  }

  void answer(const FileFacts& facts) const { answer(facts.text, facts.json); }

  void show_file() const {
    const std::string& path = options_.name();
    switch (kind_of_file(path)) {
      case FileKind::kGraph:
        return show_graph();
      case FileKind::kCluster:
        return show_cluster_file();
      case FileKind::kDeviceProfile:
        return show_profile(load_device_profiles(path).front());
      case FileKind::kPlacement:
        expect_options("placement", {});
        return answer(facts_of_placement(path));
      case FileKind::kPolicy:
        expect_options("policy", {});
        return answer(facts_of_policy_file(path));
      case FileKind::kSuite:
        expect_options("suite", {});
        return answer(facts_of_suite(path));
      case FileKind::kOther:
        throw Error(ErrorCode::kUnsupported,
                    fmt::format("{}: there is nothing to show of such a file", path));
    }
  }

  // What has this name: an agent and a grouping may share one.
  std::vector<const Listing*> listings_with(const std::string& name) const {
    std::vector<const Listing*> found;
    for (const Listing& listing : listings()) {
      const std::vector<std::string> names = listing.names();
      if (std::ranges::find(names, name) != names.end()) {
        found.push_back(&listing);
      }
    }
    return found;
  }

  void show_name() const {
    const std::string name = options_.name().substr(0, options_.name().find(':'));
    const std::vector<const Listing*> found = listings_with(name);
    if (found.empty()) {
      fail_unknown(name);
    }
    const std::string_view what = found.size() == 1 ? found.front()->what : "";
    if (what == "graphs") {
      return show_graph();
    }
    if (what == "clusters") {
      return show_cluster(std::string(shipped_cluster_file(name)));
    }
    if (what == "profiles") {
      return show_profile(load_device_profile(name));
    }
    if (what == "suites") {
      expect_options("suite", {"--output"});
      return show_text_file(bench::write_suite(bench::load_suite(name)));
    }
    show_details(name, found);
  }

  [[noreturn]] static void fail_unknown(const std::string& name) {
    std::vector<std::string> all;
    for (const Listing& listing : listings()) {
      std::ranges::copy(listing.names(), std::back_inserter(all));
    }
    const std::vector<std::string> nearest = nearest_names(name, all);
    throw Error(ErrorCode::kUnknownName,
                fmt::format("nothing is called '{}'{} (see emplace list --help)", excerpt(name),
                            nearest.empty() ? "" : suggest_names(name, all)));
  }

  void show_details(const std::string& name, const std::vector<const Listing*>& found) const {
    const bool is_agent = std::ranges::any_of(
        found, [](const Listing* listing) { return listing->what == "agents"; });
    if (is_agent) {
      expect_options("agent", {"--cluster"});
    } else {
      expect_options(found.front()->one, {});
    }
    std::string text;
    Json json = {{"schema_version", 1}};
    for (const Listing* listing : found) {
      text += (text.empty() ? "" : "\n") + details_of(*listing, name);
      std::string member(listing->one);
      std::ranges::replace(member, ' ', '_');
      json.add(member, listing->entry(name).json);
    }
    if (is_agent && !options_.problem.cluster.empty()) {
      const PolicyFacts facts = facts_of_policy(options_.name(), options_.problem.cluster);
      text += "\n" + to_text(facts);
      json.add("policy", to_json(facts));
    }
    answer(text, json);
  }

  // Prints or writes a file, ready to edit.
  void show_text_file(const std::string& file) const {
    if (options_.output.empty()) {
      print(escape_json(file));
    } else {
      write_answer(options_.output, file);
    }
  }

  void show_cluster(const std::string& file) const {
    expect_options("cluster", {"--profile", "--output"});
    const Cluster cluster = load_cluster(options_.name());
    if (!options_.profile.empty()) {
      return show_profile_of(cluster);
    }
    note(describe(cluster));
    if (const std::string_view name = without_cluster_parameters(options_.name());
        name != options_.name()) {
      note(fmt::format("The file is that of {}, without these parameters.", name));
    }
    show_text_file(file);
  }

  // Who has the file wants to know what is in it.
  void show_cluster_file() const {
    const Cluster cluster = load_cluster(options_.name());
    if (!options_.profile.empty()) {
      return show_profile_of(cluster);
    }
    expect_options("cluster", {});
    std::string text = describe(cluster);
    Json profiles = Json::array();
    for (const DeviceProfile& profile : cluster.profiles) {
      text += "\n" + cli::to_text(profile);
      profiles.push_back(cli::to_json(profile));
    }
    answer(text, {{"schema_version", 1},
                  {"kind", "cluster"},
                  {"name", cluster.name},
                  {"profiles", std::move(profiles)}});
  }

  static std::string describe(const Cluster& cluster) {
    return fmt::format("{}: {}\n{}", cluster.name, cluster.summary, cluster_text(cluster));
  }

  void show_profile_of(const Cluster& cluster) const {
    std::vector<std::string> names;
    for (const DeviceProfile& profile : cluster.profiles) {
      if (profile.name == options_.profile) {
        return show_profile(profile);
      }
      names.push_back(profile.name);
    }
    throw_unknown_name("device profile", options_.profile, names);
  }

  void show_profile(const DeviceProfile& profile) const {
    expect_options("device profile", {"--profile", "--output"});
    if (options_.output.ends_with(".json")) {
      write_answer(options_.output, write_device_profile_json(profile));
    } else if (!options_.output.empty()) {
      check_profile_picture_path(options_.output);
      write_profile_picture(options_.output, profile);
    }
    Json json = {{"schema_version", 1}};
    json.add_all(cli::to_json(profile));
    answer(cli::to_text(profile), json);
  }

  void show_graph() const {
    const ProblemOptions& problem_options = options_.problem;
    if (!options_.output.empty()) {
      check_picture_path(options_.output);
    }
    expect_options("graph", {"--cluster", "--groups", "--grouping", "--compare-groupings",
                             "--evaluations", "--seed", "--placement", "--output"});
    const std::string grouping = problem_options.grouping();
    if (problem_options.cluster.empty()) {
      find_grouping(grouping);  // a mistyped name is reported before the graph is built
      const OpGraph graph = load_graph(problem_options.graph);
      show_grouped(graph, bench::group_graph(graph, problem_options.groups, grouping), nullptr);
    } else {
      const Problem problem = bench::load_problem(problem_options.graph, problem_options.cluster,
                                                  problem_options.groups, grouping);
      show_grouped(problem.graph(), problem.grouping(), &problem);
    }
  }

  // Shows a grouped graph, and if there is a problem of it, that too.
  void show_grouped(const OpGraph& graph, const Grouping& grouping, const Problem* problem) const {
    const ProblemOptions& problem_options = options_.problem;
    note_warnings(graph);
    const GraphFacts facts = facts_of(graph, problem_options.grouping(), grouping);
    std::string text = to_text(facts);
    Json json = to_json(facts);
    if (problem != nullptr) {
      const ClusterFacts on_cluster = cluster_facts_of(*problem);
      text += to_text(on_cluster);
      add_to_json(json, on_cluster);
    } else if (const Listing& graphs = find_listing("graphs"); !names_graph_file(options_.name())) {
      text += parameters_of(graphs.entry(options_.name().substr(0, options_.name().find(':'))));
    }
    if (options_.compares_groupings) {
      const bench::GroupingComparison comparison =
          bench::on_threads(allowed_threads(invocation_.threads), [&] {
            return bench::compare_groupings(problem_options.graph, problem_options.cluster,
                                            problem_options.groups, options_.evaluations,
                                            static_cast<std::uint64_t>(options_.seed));
          });
      text += cli::to_text(comparison);
      json.add("groupings", cli::to_json(comparison));
    }
    if (!options_.output.empty()) {
      std::optional<PlacedStep> step;
      if (!options_.placement.empty()) {
        step = place_from(problem_options, options_.placement);
      }
      const PlacedStep* const placed = step ? &*step : nullptr;
      const bool folds = problem_options.groups == 0 && problem_options.given_grouping.empty();
      GroupingPicture picture =
          folds ? draw_folded_groups(graph, grouping, placed)
                : draw_groups(graph, grouping, problem_options.grouping(), placed);
      write_answer(options_.output, encode_picture(std::move(picture.svg), options_.output));
    }
    answer(text, json);
  }

  const ShowOptions& options_;
  const CLI::App& command_;
  const Invocation& invocation_;
};

}  // namespace

void add_show(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "show",
      "Show a graph, cluster, device profile, agent, or anything else that has a name or a file");
  command->group("Look up");
  set_examples(*command,
               {"emplace show inception-v3 --cluster p2-8xlarge-2", "emplace show learned-search",
                "emplace show p2-8xlarge-2 > my-cluster.json", "emplace show k80 -o k80.svg",
                "emplace show placement.json"});
  const auto options = std::make_shared<ShowOptions>();
  command
      ->add_option("NAME", options->problem.graph,
                   "NAME[:key=value,...] of emplace list, or a file: graph, cluster, device "
                   "profile, placement, policy or suite")
      ->required()
      ->type_name("ANYTHING");
  CLI::Option* cluster = add_cluster(*command, options->problem.cluster);
  cluster->description(
      "Show what the graph costs on this cluster, or the policy of the agent for it");
  add_grouping_options(*command, options->problem);
  command
      ->add_option("--profile", options->profile, "Show this device profile of the cluster instead")
      ->type_name("NAME")
      ->group("Problem");
  CLI::Option* compare =
      command
          ->add_flag("--compare-groupings", options->compares_groupings,
                     "Search for a placement with every grouping, and compare the results")
          ->needs(cluster)
          ->group("Comparison");
  add_evaluations(*command, options->evaluations)->needs(compare)->group("Comparison");
  add_seed(*command, options->seed)->needs(compare)->group("Comparison");
  CLI::Option* output =
      add_output(*command, options->output,
                 "Write the file of a cluster, suite or device profile (FILE.json), or a picture: "
                 "the groups of a graph (.svg, .png, .pdf; as many as a screen shows, unless "
                 "--groups or --grouping is given), the rooflines of a profile (also .html)");
  add_placement(*command, options->placement)
      ->description("Color the groups of the picture by the devices of this placement")
      ->needs(cluster)
      ->needs(output)
      ->group("Output");
  command->callback([options, command, &action] {
    action = [options, command](const Invocation& invocation) {
      Show(*options, *command, invocation).run();
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
