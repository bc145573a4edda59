#include "best_known_searches.hpp"

#include "placed_step.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/sim/placement_file.hpp>

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <memory>
#include <utility>

namespace emplace::cli {
namespace {

using bench::BestKnown;

std::string this_version() {
  const bench::BuildInfo build = bench::build_info();
  return fmt::format("{} (git {})", build.version, build.git_revision);
}

std::optional<BestKnown> search_with_agent(const std::string& graph, const std::string& cluster,
                                           const AgentOptions& agent, const Problem& problem,
                                           const std::optional<BestKnown>& present) {
  const PlacedStep step = place_with_agent(
      {.graph = graph, .cluster = cluster, .given_grouping = std::string(bench::kFinestGrouping)},
      agent, present ? std::optional(present->placement) : std::nullopt);
  std::string comment;
  if (agent.time_limit_s) {
    comment = fmt::format("in {} s", *agent.time_limit_s);
  }
  if (step.was_stopped) {
    comment += fmt::format("{}stopped early", comment.empty() ? "" : ", ");
  }
  if (present) {
    comment += fmt::format("{}from {:.3f} ms by {}", comment.empty() ? "" : ", ",
                           present->step_time_us / 1e3, present->found.by);
  }
  return bench::make_best_known(
      graph, cluster, problem, step.record.placement,
      {.by = agent.agent,
       .evaluations = agent.time_limit_s || step.was_stopped ? step.evaluations : agent.evaluations,
       .seed = agent.seed,
       .comment = std::move(comment),
       .version = this_version()});
}

// A cell whose problem has changed since is run again.
Placement run_again(const bench::CellResult& result, const bench::ProblemSet& problems) {
  const bench::Cell& cell = result.cell;
  const std::atomic<bool>& stop = stop_on_signal();
  bench::CellResult again = bench::run_cell(cell, problems.find(cell), {}, stop);
  if (stop) {
    throw Error(ErrorCode::kUnsupported, "interrupted");
  }
  if (again.status == bench::CellStatus::kFailed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("agent {} failed: {}", cell.agent.text(), again.message));
  }
  if (again.placement_hash != result.placement_hash) {
    note(fmt::format(
        "emplace: warning: {} on {}: {} now gives a different placement than in its run",
        cell.graph, cell.cluster, cell.agent.text()));
  }
  return std::move(again.placement);
}

std::optional<BestKnown> best_known_of(const bench::CellResult& result,
                                       const bench::Manifest& manifest, const Problem& problem) {
  const bench::Cell& cell = result.cell;
  const bench::ProblemSet problems({cell});
  const Problem& own = problems.find(cell).problem;
  const bool is_kept = bench::had_problem(manifest, cell.graph, cell.cluster, own);
  // All groupings hold together what the finest one does, unless ops were parted on purpose.
  const std::optional<Placement> placement = bench::at_grouping(
      problem.grouping(), own, is_kept ? result.placement : run_again(result, problems));
  if (!placement) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("the grouping {} separates ops that must share a device", cell.grouping));
  }
  return bench::make_best_known(
      cell.graph, cell.cluster, problem, *placement,
      {.by = cell.agent.text(),
       .evaluations = cell.max_evaluations,
       .seed = static_cast<std::int64_t>(cell.root_seed),
       .comment = fmt::format("cell of a suite: repetition {}, grouping {}, groups {}",
                              cell.repetition, cell.grouping, cell.groups),
       .version = this_version()});
}

// The fastest cell of each graph and cluster.
void add_results(std::vector<BestKnownSearch>& searches, const std::string& folder) {
  std::map<std::pair<std::string, std::string>, const bench::CellResult*> best;
  const auto run = std::make_shared<const bench::StoredRun>(bench::read_store(folder));
  bool has_policies = false;
  for (const bench::CellResult& result : run->results) {
    if (result.status != bench::CellStatus::kOk) {
      continue;
    }
    if (!result.cell.policy.empty()) {
      has_policies = true;
      continue;
    }
    const bench::CellResult*& least = best[{result.cell.graph, result.cell.cluster}];
    if (least == nullptr || result.step_time_us < least->step_time_us) {
      least = &result;
    }
  }
  if (has_policies) {
    note(fmt::format("emplace: warning: {}: cells whose agents start from a policy are left out",
                     folder));
  }
  for (const auto& [problem, result] : best) {
    searches.push_back({.graph = problem.first,
                        .cluster = problem.second,
                        .run =
                            [run, result = result](const Problem& finest, const auto&) {
                              return best_known_of(*result, run->manifest, finest);
                            },
                        .least_us = result->step_time_us});
  }
}

void add_placement_file(std::vector<BestKnownSearch>& searches, const std::string& path) {
  const std::string text = read_text_file(path);
  const JsonDocument document = JsonDocument::parse(text, path);
  const std::string graph = document.root().at("graph").non_empty_text();
  const std::string cluster = document.root().at("cluster").non_empty_text();
  searches.push_back(
      {.graph = graph, .cluster = cluster, .run = [=](const Problem& problem, const auto&) {
         return bench::make_best_known(graph, cluster, problem,
                                       read_placement_json(text, path, problem),
                                       {.by = "a placement file", .version = this_version()});
       }});
}

}  // namespace

std::vector<BestKnownSearch> searches_of(const BestKnownSources& sources,
                                         const std::string& folder) {
  std::vector<BestKnownSearch> searches;
  for (const std::string& path : sources.from) {
    if (bench::holds_store(path)) {
      add_results(searches, path);
    } else {
      add_placement_file(searches, path);
    }
  }
  if (!sources.from.empty()) {
    return searches;
  }
  if (sources.graphs.empty() != sources.clusters.empty()) {
    throw Error(ErrorCode::kUsage,
                "give both GRAPH and --cluster, or neither for all entries (see emplace dev "
                "best-known --help)");
  }
  for (const std::string& graph : sources.graphs) {
    for (const std::string& cluster : sources.clusters) {
      searches.push_back({.graph = graph, .cluster = cluster});
    }
  }
  if (sources.graphs.empty()) {
    for (const BestKnown& entry : bench::read_best_known_folder(folder)) {
      searches.push_back({.graph = entry.graph, .cluster = entry.cluster});
    }
  }
  if (!sources.agent.agent.empty()) {
    for (BestKnownSearch& search : searches) {
      search.run = [graph = search.graph, cluster = search.cluster, agent = sources.agent](
                       const Problem& problem, const auto& present) {
        return search_with_agent(graph, cluster, agent, problem, present);
      };
    }
  }
  return searches;
}

}  // namespace emplace::cli
