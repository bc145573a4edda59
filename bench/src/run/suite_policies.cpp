#include "suite/length_prefixed.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/bench/suite_policies.hpp>
#include <emplace/bench/training.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace emplace::bench {
namespace {

std::string length_prefixed_list(const std::vector<std::string>& texts) {
  std::string joined = fmt::format("{}", texts.size());
  for (const std::string& text : texts) {
    joined += " " + length_prefixed(text);
  }
  return joined;
}

}  // namespace

TrainingPlan plan_of(const Suite& suite, const SuitePolicy& policy, const SuiteFamily& family,
                     const std::string& cluster, std::int64_t repetition, std::uint64_t root_seed) {
  const std::uint64_t seed =
      stable_hash(fmt::format("policy repetition {} root {}", repetition, root_seed));
  const std::int64_t groups = family.groups.value_or(suite.groups);
  return {.agent = policy.agent,
          .graphs = family.train,
          .clusters = {cluster},
          .groups = groups,
          .grouping = std::string(grouping_for(suite.grouping, groups)),
          .root_seed = seed & static_cast<std::uint64_t>(kMaxRootSeed),
          .episodes = policy.episodes,
          .validation = policy.validated ? family.validation : std::vector<std::string>{}};
}

std::string hash_of(const TrainingPlan& plan) {
  return fmt::format(
      "{:016x}",
      stable_hash(fmt::format(
          "training agent {} graphs {} clusters {} groups {} grouping {} root {} episodes {} "
          "patience {}{}",
          length_prefixed(plan.agent.text()), length_prefixed_list(plan.graphs),
          length_prefixed_list(plan.clusters), plan.groups, length_prefixed(plan.grouping),
          plan.root_seed, plan.episodes, plan.patience,
          plan.validation.empty() ? "" : " validation " + length_prefixed_list(plan.validation))));
}

std::string SuiteTraining::file_name() const {
  return fmt::format("{}-{}.json", policy, hash_of(plan));
}

std::string SuiteTraining::curve_file_name() const {
  return fmt::format("{}-{}.curve.json", policy, hash_of(plan));
}

std::vector<SuiteTraining> trainings_of(const Suite& suite, std::uint64_t root_seed) {
  std::vector<SuiteTraining> trainings;
  for (const SuitePolicy& policy : suite.policies) {
    for (const SuiteFamily& family : suite.families) {
      for (const std::string& cluster : suite.clusters) {
        for (std::int64_t repetition = 0; repetition < suite.repetitions; ++repetition) {
          trainings.push_back(
              {.policy = policy.name,
               .family = family.name,
               .plan = plan_of(suite, policy, family, cluster, repetition, root_seed)});
        }
      }
    }
  }
  return trainings;
}

std::vector<ProblemHash> hash_trained(
    const Suite& suite, std::span<const SuiteTraining> trainings,
    std::span<const ProblemHash> tested,
    const std::function<void(std::size_t, const Problem&)>& visit) {
  // Trainings of one family on one cluster have the same problems.
  using Place = std::pair<std::string, std::string>;
  std::map<Place, std::vector<std::size_t>> trainings_at;
  std::vector<Place> places;  // in the order of the trainings
  for (std::size_t at = 0; at < trainings.size(); ++at) {
    Place place(trainings[at].family, trainings[at].plan.clusters.front());
    std::vector<std::size_t>& there = trainings_at[place];
    if (there.empty()) {
      places.push_back(std::move(place));
    }
    there.push_back(at);
  }
  std::map<std::string_view, const ProblemHash*> test_of;  // by hash: the first
  for (const ProblemHash& test : tested) {
    test_of.emplace(test.hash, &test);
  }
  std::vector<ProblemHash> hashes;
  for (const Place& place : places) {
    const std::vector<std::size_t>& there = trainings_at[place];
    const TrainingPlan& plan = trainings[there.front()].plan;
    const auto hashed = [&](const Cell& cell, const Problem& problem, std::string_view use) {
      ProblemHash hash{cell.graph, cell.cluster, hash_of(problem), step_hash_of(problem)};
      if (const auto test = test_of.find(hash.hash); test != test_of.end()) {
        throw Error(
            ErrorCode::kFormat,
            fmt::format("suite {}: family '{}': the test graph {} is the same problem as the {} "
                        "graph {}",
                        suite.name, place.first, test->second->graph, use, hash.graph));
      }
      return hash;
    };
    const auto cells_of = [&](const std::vector<std::string>& graphs) {
      std::vector<Cell> cells;
      cells.reserve(graphs.size());
      for (const std::string& graph : graphs) {
        cells.push_back({.graph = graph,
                         .cluster = place.second,
                         .groups = plan.groups,
                         .grouping = plan.grouping});
      }
      return cells;
    };
    const auto family = std::ranges::find(suite.families, place.first, &SuiteFamily::name);
    for_each_problem(cells_of(family->validation), [&](const Cell& cell, const Problem& problem) {
      hashed(cell, problem, "validation");
    });
    for_each_problem(cells_of(plan.graphs), [&](const Cell& cell, const Problem& problem) {
      hashes.push_back(hashed(cell, problem, "training"));
      for (const std::size_t training : there) {
        if (visit) {
          visit(training, problem);
        }
      }
    });
  }
  return hashes;
}

TrainedPolicy train_policy(const SuiteTraining& training, int threads,
                           const std::atomic<bool>& stop) {
  Training run(training.plan, &stop);
  run.run(threads, [] { return true; });
  return {.policy = run.policy_file(), .curve = run.curve().means_json()};
}

}  // namespace emplace::bench
