#include <emplace/agents/registry.hpp>
#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/bench/run_comparison.hpp>
#include <emplace/bench/suite_index.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace emplace::bench {
namespace {

using Results = std::vector<const CellResult*>;

// Graph, cluster and label of an agent.
struct Coordinates {
  std::string graph{};
  std::string cluster{};
  std::string agent{};

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
  auto operator<=>(const Coordinates&) const = default;
};

// The repetitions of each agent on each graph and cluster.
class Repetitions {
 public:
  explicit Repetitions(const StoredRun& run) {
    const SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
    for (const CellResult& result : run.results) {
      Coordinates key{result.cell.graph, result.cell.cluster, index.label_of(result.cell)};
      Results& results = results_[key];
      if (results.empty()) {
        order_.push_back(std::move(key));
      }
      results.push_back(&result);
    }
  }

  // All coordinates in the order of the suite.
  const std::vector<Coordinates>& order() const { return order_; }

  // Null if there are no results.
  const Results* find(const Coordinates& key) const {
    const auto found = results_.find(key);
    return found == results_.end() ? nullptr : &found->second;
  }

 private:
  std::vector<Coordinates> order_;
  std::map<Coordinates, Results> results_;
};

// Collects differences, each once.
class Differences {
 public:
  void add(const std::string& what, const std::string& a, const std::string& b) {
    if (a != b && known_.insert(what).second) {
      list_.push_back({what, a, b});
    }
  }

  std::vector<InputDifference> take() { return std::move(list_); }

 private:
  std::set<std::string> known_;
  std::vector<InputDifference> list_;
};

// What all starts of a run say, joined where they differ.
template <class Fact>
std::string facts_of(const Manifest& manifest, Fact fact) {
  std::vector<std::string> facts;
  for (const Start& start : manifest.starts) {
    if (std::string text = fact(start.build); std::ranges::find(facts, text) == facts.end()) {
      facts.push_back(std::move(text));
    }
  }
  return fmt::format("{}", fmt::join(facts, ", then "));
}

std::string library_of(const BuildInfo& build, const std::string& name) {
  for (const auto& [library, version] : build.libraries) {
    if (library == name) {
      return version;
    }
  }
  return "-";
}

void add_runs(Differences& differences, const Manifest& a, const Manifest& b) {
  differences.add("suite", a.suite.name, b.suite.name);
  differences.add("seed", fmt::format("{}", a.root_seed), fmt::format("{}", b.root_seed));
  const auto add = [&](const std::string& what, const auto& fact) {
    differences.add(what, facts_of(a, fact), facts_of(b, fact));
  };
  add("program", [](const BuildInfo& build) {
    return fmt::format("{} (git {})", build.version, build.git_revision);
  });
  add("compiler", [](const BuildInfo& build) { return build.compiler; });
  add("build type", [](const BuildInfo& build) { return build.build_type; });
  for (const Manifest* manifest : {&a, &b}) {
    for (const Start& start : manifest->starts) {
      for (const auto& library : start.build.libraries) {
        add("library " + library.first,
            [&](const BuildInfo& build) { return library_of(build, library.first); });
      }
    }
  }
}

std::string policy_of(const Cell& cell) {
  return cell.policy.empty() ? "-"
                             : fmt::format("{} (training {}{})", cell.policy, cell.training,
                                           cell.learns ? ", learns on" : "");
}

void add_cells(Differences& differences, const Coordinates& key, const Cell& a, const Cell& b) {
  differences.add("parameters of " + key.agent, a.agent.text(), b.agent.text());
  differences.add("evaluations of " + key.agent, fmt::format("{}", a.max_evaluations),
                  fmt::format("{}", b.max_evaluations));
  differences.add(fmt::format("policy of {} on {}", key.agent, key.cluster), policy_of(a),
                  policy_of(b));
  const auto grouping = [](const Cell& cell) {
    return cell.groups > 0 ? fmt::format("{}, {} groups", cell.grouping, cell.groups)
                           : cell.grouping;
  };
  differences.add("grouping of " + key.graph, grouping(a), grouping(b));
}

const ProblemHash& problem_of(const Manifest& manifest, const Coordinates& key) {
  const auto found = std::ranges::find_if(manifest.problems, [&](const ProblemHash& problem) {
    return problem.graph == key.graph && problem.cluster == key.cluster;
  });
  if (found == manifest.problems.end()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("manifest of suite '{}': no hash of the problem {} on {}",
                            manifest.suite.name, excerpt(key.graph), excerpt(key.cluster)));
  }
  return *found;
}

ComparedResult summarize(const Results& results) {
  ComparedResult summary{.repetitions = static_cast<std::int64_t>(results.size())};
  std::vector<double> times_us;
  std::vector<double> evaluations;
  for (const CellResult* result : results) {
    summary.out_of_memory += result->status == CellStatus::kOutOfMemory ? 1 : 0;
    summary.failed += result->status == CellStatus::kFailed ? 1 : 0;
    if (result->status == CellStatus::kOk) {
      times_us.push_back(result->step_time_us);
    }
    if (result->status != CellStatus::kFailed) {
      evaluations.push_back(static_cast<double>(result->evaluations_to_near_best));
    }
  }
  if (!times_us.empty()) {
    summary.step_time_us = median(std::move(times_us));
  }
  if (!evaluations.empty()) {
    summary.evaluations_to_near_best = median(std::move(evaluations));
  }
  return summary;
}

// A repetition without a placement that fits takes for ever.
std::vector<double> times_of(const Results& results) {
  std::vector<double> times_us;
  for (const CellResult* result : results) {
    times_us.push_back(result->status == CellStatus::kOk ? positive_time(result->step_time_us)
                                                         : std::numeric_limits<double>::infinity());
  }
  return times_us;
}

std::vector<double> finite(std::vector<double> times) {
  std::erase(times, std::numeric_limits<double>::infinity());
  return times;
}

bool is_deterministic(const agents::AgentSpec& agent) {
  const std::vector<std::string> known = agents::AgentRegistry::global().names();
  return std::ranges::binary_search(known, agent.name()) && agent.info().deterministic;
}

bool end_alike(const Results& a, const Results& b) {
  return std::ranges::equal(a, b, [](const CellResult* one, const CellResult* other) {
    return one->cell.repetition == other->cell.repetition && one->status == other->status &&
           one->step_time_us == other->step_time_us;
  });
}

GraphComparison compare(const Coordinates& key, const Results& a, const Results& b, bool same_costs,
                        double threshold) {
  GraphComparison row{
      .graph = key.graph,
      .cluster = key.cluster,
      .agent = key.agent,
      .a = summarize(a),
      .b = summarize(b),
      .same_costs = same_costs,
      .identical = end_alike(a, b),
      .exact = is_deterministic(a.front()->cell.agent) && is_deterministic(b.front()->cell.agent)};
  const std::vector<double> a_us = times_of(a);
  const std::vector<double> b_us = times_of(b);
  if (row.a.step_time_us && row.b.step_time_us) {
    row.ratio = row.exact
                    ? SampleRatio{.ratio = time_ratio(*row.b.step_time_us, *row.a.step_time_us)}
                    : ratio_of_samples(finite(b_us), finite(a_us));
  }
  if (!same_costs) {
    return row;
  }
  if (!row.exact) {
    row.significance = test_samples(a_us, b_us, threshold);
  } else if (row.ratio) {
    row.verdict = verdict_of_ratio(row.ratio->ratio, threshold);
  } else if (row.a.step_time_us || row.b.step_time_us) {
    row.verdict = row.a.step_time_us ? Verdict::kSlower : Verdict::kFaster;
  }
  return row;
}

std::vector<AgentComparison> compare_agents(const std::vector<GraphComparison>& rows,
                                            double threshold) {
  struct Pairs {
    std::vector<double> a_us{};
    std::vector<double> b_us{};
  };
  std::vector<AgentComparison> agents;
  std::vector<Pairs> pairs;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const GraphComparison& row : rows) {
    if (!row.same_costs) {
      continue;
    }
    const auto [found, is_new] = index.emplace(std::pair(row.agent, row.cluster), agents.size());
    if (is_new) {
      agents.push_back({.agent = row.agent, .cluster = row.cluster});
      pairs.emplace_back();
    }
    AgentComparison& agent = agents[found->second];
    if (row.a.step_time_us && row.b.step_time_us) {
      pairs[found->second].a_us.push_back(positive_time(*row.a.step_time_us));
      pairs[found->second].b_us.push_back(positive_time(*row.b.step_time_us));
    } else {
      agent.only_a += row.a.step_time_us ? 1 : 0;
      agent.only_b += row.b.step_time_us ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!pairs[i].a_us.empty()) {
      agents[i].pairs = compare_pairs(pairs[i].b_us, pairs[i].a_us);
      agents[i].significance = test_pairs(pairs[i].a_us, pairs[i].b_us, threshold);
    }
  }
  return agents;
}

// Corrects the tests of all rows and draws their verdicts.
template <class Row>
void decide(std::vector<Row>& rows) {
  std::vector<Significance*> tests;
  for (Row& row : rows) {
    if (row.significance) {
      tests.push_back(&*row.significance);
    }
  }
  correct(tests);
  for (Row& row : rows) {
    if (row.significance) {
      row.verdict = row.significance->verdict();
    }
  }
}

std::vector<MissingResults> missing_from(const Repetitions& other, const Repetitions& run,
                                         bool in_a) {
  std::vector<MissingResults> missing;
  for (const Coordinates& key : run.order()) {
    if (other.find(key) != nullptr) {
      continue;
    }
    auto found = std::ranges::find_if(missing, [&](const MissingResults& each) {
      return each.agent == key.agent && each.cluster == key.cluster;
    });
    if (found == missing.end()) {
      missing.push_back({.in_a = in_a, .agent = key.agent, .cluster = key.cluster});
      found = missing.end() - 1;
    }
    found->graphs.push_back(key.graph);
  }
  return missing;
}

ComparedRun named(const StoredRun& run) {
  return {.suite = run.manifest.suite.name,
          .cells_finished = static_cast<std::int64_t>(run.results.size()),
          .cells_total = run.manifest.num_own_cells()};
}

}  // namespace

std::int64_t RunComparison::count(Verdict verdict) const {
  return std::ranges::count(agents, verdict, &AgentComparison::verdict) +
         std::ranges::count(graphs, verdict, &GraphComparison::verdict);
}

RunComparison compare_runs(const StoredRun& a, const StoredRun& b, double threshold) {
  RunComparison comparison{.a = named(a), .b = named(b), .threshold = threshold};
  const Repetitions of_a(a);
  const Repetitions of_b(b);
  Differences differences;
  add_runs(differences, a.manifest, b.manifest);
  for (const Coordinates& key : of_a.order()) {
    const Results* const theirs = of_b.find(key);
    if (theirs == nullptr) {
      continue;
    }
    const Results& ours = *of_a.find(key);
    add_cells(differences, key, ours.front()->cell, theirs->front()->cell);
    const ProblemHash& problem_a = problem_of(a.manifest, key);
    const ProblemHash& problem_b = problem_of(b.manifest, key);
    const std::string place = fmt::format("{} on {}", key.graph, key.cluster);
    const bool same_costs = problem_a.step_hash == problem_b.step_hash;
    if (same_costs) {
      differences.add("groups, kinds or scopes of " + place, problem_a.hash, problem_b.hash);
    } else {
      differences.add("costs of " + place, problem_a.step_hash, problem_b.step_hash);
    }
    comparison.graphs.push_back(compare(key, ours, *theirs, same_costs, threshold));
  }
  if (comparison.graphs.empty()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the runs of '{}' and '{}' have no agent on the same graph and "
                            "cluster in common",
                            comparison.a.suite, comparison.b.suite));
  }
  if (std::ranges::none_of(comparison.graphs, &GraphComparison::same_costs)) {
    throw Error(ErrorCode::kFormat,
                fmt::format("costs, graphs or clusters of all {} common results differ, such as "
                            "{} on {}, so step times cannot be compared",
                            comparison.graphs.size(), excerpt(comparison.graphs.front().graph),
                            excerpt(comparison.graphs.front().cluster)));
  }
  comparison.agents = compare_agents(comparison.graphs, threshold);
  decide(comparison.graphs);
  // Rows without tests keep their verdicts.
  decide(comparison.agents);
  comparison.differences = differences.take();
  comparison.missing = missing_from(of_b, of_a, true);
  std::ranges::move(missing_from(of_a, of_b, false), std::back_inserter(comparison.missing));
  return comparison;
}

}  // namespace emplace::bench
