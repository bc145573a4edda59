#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/merge_stores.hpp>
#include <emplace/bench/suite.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

using bench::Cell;
using bench::Merge;
using bench::Shard;

constexpr std::size_t kMostNamed = 3;

struct MergeOptions {
  std::vector<std::string> stores;
  std::string output;
};

// The first few, and how many more.
template <class Items, class Text>
std::string first_of(const Items& items, const Text& text) {
  std::string named;
  for (std::size_t i = 0; i < items.size() && i < kMostNamed; ++i) {
    named += (i == 0 ? "" : ", ") + text(items[i]);
  }
  return items.size() <= kMostNamed
             ? named
             : fmt::format("{} and {} more", named, items.size() - kMostNamed);
}

void tell_missing(const Merge& merge, const MergeOptions& options) {
  if (!merge.absent.empty()) {
    note("not given: shards " +
         first_of(merge.absent, [](const Shard& shard) { return shard.text(); }));
  }
  if (!merge.missing_policies.empty()) {
    note(fmt::format(
        "{} that cells started from are missing from all stores: {}",
        counted(std::ssize(merge.missing_policies), "policy", "policies"),
        first_of(merge.missing_policies, [](const std::string& name) { return name; })));
  }
  if (merge.missing.empty()) {
    return;
  }
  note(fmt::format("{} of {} are missing: {}", merge.missing.size(),
                   counted(merge.manifest.num_cells, "cell"),
                   first_of(merge.missing, [](const Cell& cell) {
                     return fmt::format("{} on {} {} (repetition {})", cell.graph, cell.cluster,
                                        cell.agent.text(), cell.repetition);
                   })));
  const std::string& name = merge.manifest.suite.name;
  const std::vector<std::string> shipped = bench::suite_names();
  note(fmt::format("run them: emplace run {} -o {} --seed {} --resume",
                   std::ranges::find(shipped, name) == shipped.end() ? "SUITE" : name,
                   escape_shell(options.output), merge.manifest.root_seed));
}

Json to_json(const Merge& merge, const MergeOptions& options) {
  Json missing = Json::array();
  for (const Cell& cell : merge.missing) {
    missing.push_back({{"id", cell.id()},
                       {"graph", cell.graph},
                       {"cluster", cell.cluster},
                       {"agent", cell.agent.text()},
                       {"repetition", cell.repetition}});
  }
  Json absent = Json::array();
  for (const Shard& shard : merge.absent) {
    absent.push_back(shard.text());
  }
  return {{"schema_version", 1},
          {"suite", merge.manifest.suite.name},
          {"root_seed", merge.manifest.root_seed},
          {"output", options.output},
          {"cells_finished", merge.num_cells},
          {"cells_total", merge.manifest.num_cells},
          {"duplicates", merge.num_duplicates},
          {"policies", merge.num_policies},
          {"missing_policies", merge.missing_policies},
          {"absent_shards", std::move(absent)},
          {"missing", std::move(missing)}};
}

Outcome merge(const MergeOptions& options, bool json) {
  const Merge merge = bench::merge_stores(options.stores, options.output);
  if (merge.has_several_builds) {
    note(
        "emplace: warning: these stores come from several builds of emplace; their manifests list "
        "them");
  }
  tell_missing(merge, options);
  if (json) {
    print_json(to_json(merge, options));
  } else {
    print_text(fmt::format("{}: {} of {} from {}, {} of them in several, {}; results in {}\n",
                           merge.manifest.suite.name, merge.num_cells,
                           counted(merge.manifest.num_cells, "cell"),
                           counted(std::ssize(options.stores), "store"), merge.num_duplicates,
                           counted(merge.num_policies, "policy", "policies"), options.output));
  }
  return Outcome::kOk;
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("merge", "Merge the results of shards, or of other parts of a run");
  command->group("Experiments");
  set_examples(
      *command,
      {"emplace merge results/quickstart results/quickstart-shard-1-of-4 -o results/merged"});
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("STORE", options->stores, "Folders of results of one suite and seed")
      ->required()
      ->type_name("DIR");
  add_output(*command, options->output, "New folder for the merged results", "DIR")->required();
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) { return merge(*options, invocation.json); };
  });
}

}  // namespace emplace::cli
