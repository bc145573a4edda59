#include "dry_run.hpp"

#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_costs.hpp>
#include <emplace/bench/suite_run.hpp>
#include <emplace/bench/unit_text.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::Cell;
using bench::ShardWork;
using bench::SuiteCosts;

// Measures how long one op takes in a simulation, over several problems.
class SimulationRate {
 public:
  // Simulates random placements of `problem` for a moment; of many problems, only the first.
  void measure(const Problem& problem) {
    if (++problems_ > kMostProblems) {
      return;
    }
    using Clock = std::chrono::steady_clock;
    const std::span<const DeviceId> devices = problem.placeable_devices();
    RandomStream random(0);
    Placement placement(problem.num_groups());
    Simulator simulator(problem);
    simulator.run(placement);  // takes its memory
    std::vector<double> runs_s;
    for (const Clock::time_point begin = Clock::now(); Clock::now() - begin < kMoment;) {
      // Another one each time: a simulator is faster where little has changed.
      for (GroupId group = 0; group < placement.size(); ++group) {
        placement[group] = devices[random.below(devices.size())];
      }
      const Clock::time_point start = Clock::now();
      simulator.run(placement);
      runs_s.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    ops_ += static_cast<double>(problem.num_ops());
    seconds_ += median(std::move(runs_s));
  }

  double seconds_per_op() const { return ops_ > 0 ? seconds_ / ops_ : 0; }

 private:
  static constexpr std::chrono::milliseconds kMoment{20};
  static constexpr int kMostProblems = 100;
  int problems_ = 0;
  double ops_ = 0;
  double seconds_ = 0;  // of one simulation of each
};

struct Forecast {
  std::int64_t cells = 0;
  std::int64_t problems = 0;
  std::int64_t trainings = 0;
  std::int64_t evaluations = 0;
  double seconds = 0;
  std::int64_t results_bytes = 0;
  std::int64_t policies_bytes = 0;
};

// Takes out of `work` what the run in `folder` has.
void leave_out_finished(ShardWork& work, const SuiteCosts& costs, const std::string& folder,
                        const bench::Manifest& wanted) {
  std::set<std::string> finished;
  const bench::StoredRun stored = bench::read_store(
      folder, [&](const bench::CellResult& result) { finished.insert(result.cell.id()); });
  bench::check_same_run(stored.manifest, wanted, folder);
  std::set<std::string> needed;  // plans of policies, by their hashes
  std::erase_if(work.cells, [&](std::size_t at) {
    const Cell& cell = costs.cells[at];
    const bool is_finished = finished.contains(cell.id());
    if (!is_finished && !cell.policy.empty()) {
      needed.insert(cell.training);
    }
    return is_finished;
  });
  std::erase_if(work.trainings, [&](std::size_t at) {
    const bench::SuiteTraining& training = costs.trainings[at];
    return !needed.contains(hash_of(training.plan)) ||
           std::filesystem::exists(bench::policy_path(folder, training));
  });
}

Forecast forecast_of(const SuiteCosts& costs, const ShardWork& work, double seconds_per_op) {
  Forecast forecast{.cells = std::ssize(work.cells), .trainings = std::ssize(work.trainings)};
  std::set<std::string> problems;
  for (const std::size_t at : work.cells) {
    const Cell& cell = costs.cells[at];
    problems.insert(bench::problem_key(cell));
    forecast.evaluations += bench::evaluations_of(cell);
    forecast.seconds += seconds_per_op * costs.cells_work[at];
    forecast.results_bytes += bench::expected_bytes(cell, costs.sizes[at]);
  }
  for (const std::size_t at : work.trainings) {
    forecast.evaluations += costs.trainings_evaluations[at];
    forecast.seconds += seconds_per_op * costs.trainings_work[at];
    forecast.policies_bytes += costs.policies_bytes[at];
  }
  forecast.problems = std::ssize(problems);
  return forecast;
}

std::string to_text(const Forecast& forecast, const bench::Suite& suite, bench::Shard shard) {
  return fmt::format(
      "{}{}: {} on {}, {} to train\n"
      "Evaluations: at most {}.\n"
      "Time: {} on one core of this machine, were each evaluation the simulation of a random "
      "placement. Searches take less, agents that learn more.\n"
      "Disk: {} of results, {} of policies.\n",
      suite.name, shard.is_whole() ? "" : ", shard " + shard.text(),
      counted(forecast.cells, "cell"), counted(forecast.problems, "problem"),
      counted(forecast.trainings, "policy", "policies"), forecast.evaluations,
      bench::time_text(forecast.seconds * 1e6),
      bench::bytes_text(static_cast<double>(forecast.results_bytes)),
      bench::bytes_text(static_cast<double>(forecast.policies_bytes)));
}

Json to_json(const Forecast& forecast, const bench::Suite& suite, std::uint64_t root_seed,
             bench::Shard shard) {
  return {{"schema_version", 1},
          {"suite", suite.name},
          {"root_seed", root_seed},
          {"shard", shard.text()},
          {"cells", forecast.cells},
          {"problems", forecast.problems},
          {"trainings", forecast.trainings},
          {"evaluations", forecast.evaluations},
          {"simulation_s", forecast.seconds},
          {"results_bytes", forecast.results_bytes},
          {"policies_bytes", forecast.policies_bytes}};
}

}  // namespace

void dry_run(const bench::Suite& suite, std::uint64_t root_seed, bench::Shard shard,
             const std::string& folder, bool json) {
  SimulationRate rate;
  const SuiteCosts costs =
      bench::costs_of(suite, root_seed, [&rate](const Problem& problem) { rate.measure(problem); });
  ShardWork work = costs.work_of(shard);
  if (!folder.empty()) {
    leave_out_finished(work, costs, folder,
                       {.suite = suite,
                        .root_seed = root_seed,
                        .num_cells = static_cast<std::int64_t>(costs.cells.size()),
                        .shard = shard,
                        .num_shard_cells = static_cast<std::int64_t>(work.cells.size()),
                        .problems = costs.problems});
  }
  const Forecast forecast = forecast_of(costs, work, rate.seconds_per_op());
  if (json) {
    print_json(to_json(forecast, suite, root_seed, shard));
  } else {
    print_text(to_text(forecast, suite, shard));
  }
}

}  // namespace emplace::cli
