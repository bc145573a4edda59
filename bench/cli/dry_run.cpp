#include "dry_run.hpp"

#include "terminal.hpp"

#include <emplace/bench/manifest.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_costs.hpp>
#include <emplace/bench/suite_run.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/unit_text.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

using bench::Cell;
using bench::CostModel;
using bench::Piece;
using bench::ShardWork;
using bench::SuiteCosts;
using bench::TextTable;
using Align = TextTable::Align;

constexpr double kUsPerHour = 3.6e9;
constexpr double kUsPerS = 1e6;
// A report reads all results: two to four times their size on disk (docs/concepts/scale.md).
constexpr std::int64_t kReportBytesPerByte = 3;
constexpr double kNoGain = 0.02;  // cores that end sooner by less than this share do not pay

// What one agent, or the trainings of one policy, take.
struct Line {
  std::string name{};
  std::int64_t runs = 0;
  std::int64_t cost_us = 0;
  std::string source{};
};

// What so many cores take.
struct Division {
  std::int64_t cores = 0;
  std::int64_t shards_us = 0;  // as shards of one core: until the longest ends
  double busy = 0;             // share of the time of all shards until then
  std::int64_t ranks_us = 0;   // as ranks, which get single trainings, and then single cells
};

struct Estimate {
  std::vector<Line> lines{};
  std::int64_t num_cells = 0;
  std::int64_t num_trainings = 0;
  std::int64_t num_problems = 0;
  std::int64_t cost_us = 0;
  std::int64_t longest_us = 0;
  std::string longest{};
  std::int64_t problems_bytes = 0;
  std::int64_t results_bytes = 0;
  std::int64_t policies_bytes = 0;
  std::int64_t thread_bytes = 0;  // of the cell or training that takes most
  std::string largest{};          // that one
  std::vector<Division> divisions{};
};

std::string describe(const Cell& cell) {
  return fmt::format("{} on {}, {}", cell.agent.text(), cell.graph, cell.cluster);
}

std::string describe(const bench::SuiteTraining& training) {
  return fmt::format("the training of {} on {} ({})", training.policy, training.family,
                     training.plan.clusters.front());
}

std::string describe(const Piece& piece, const SuiteCosts& costs) {
  return piece.trainings.empty()
             ? describe(costs.cells[piece.cells.front()])
             : fmt::format("{}, with its {}", describe(costs.trainings[piece.trainings.front()]),
                           counted(std::ssize(piece.cells), "cell"));
}

// The least time of work that is divided into single costs: whoever is free takes the longest left.
std::int64_t divided_us(const std::vector<std::int64_t>& costs_us, std::int64_t cores) {
  const std::int64_t sum_us = std::accumulate(costs_us.begin(), costs_us.end(), std::int64_t{0});
  return costs_us.empty() ? 0 : std::max(sum_us / cores, std::ranges::max(costs_us));
}

bool is_sooner(std::int64_t us, std::int64_t before_us) {
  return static_cast<double>(us) < (1 - kNoGain) * static_cast<double>(before_us);
}

// Twice as many cores each time, for as long as shards or ranks end sooner.
std::vector<Division> divisions_of(const std::vector<Piece>& pieces, const SuiteCosts& costs,
                                   std::int64_t cost_us) {
  std::vector<Division> divisions;
  for (std::int64_t cores = 1; cores <= bench::kMaxShards; cores *= 2) {
    std::int64_t shards_us = 0;
    for (const ShardWork& work : bench::divide(pieces, cores)) {
      shards_us = std::max(shards_us, work.cost_us);
    }
    const std::int64_t ranks_us =
        divided_us(costs.trainings_us, cores) + divided_us(costs.cells_us, cores);
    if (!divisions.empty() && !is_sooner(shards_us, divisions.back().shards_us) &&
        !is_sooner(ranks_us, divisions.back().ranks_us)) {
      break;
    }
    divisions.push_back({.cores = cores,
                         .shards_us = shards_us,
                         .busy = shards_us == 0 ? 1
                                                : static_cast<double>(cost_us) /
                                                      static_cast<double>(shards_us * cores),
                         .ranks_us = ranks_us});
  }
  return divisions;
}

class Lines {
 public:
  // `agent` is the one that takes the time.
  void add(const std::string& name, const agents::AgentSpec& agent, std::int64_t cost_us) {
    const auto [at, is_new] = at_.emplace(name, lines_.size());
    if (is_new) {
      lines_.push_back(
          {.name = name, .source = std::string(to_string(CostModel::shipped().source_of(agent)))});
    }
    ++lines_[at->second].runs;
    lines_[at->second].cost_us += cost_us;
  }

  // The longest first.
  std::vector<Line> take() {
    std::ranges::stable_sort(lines_, std::greater(), &Line::cost_us);
    return std::move(lines_);
  }

 private:
  std::map<std::string, std::size_t> at_;
  std::vector<Line> lines_;
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

Estimate estimate(const SuiteCosts& costs, const ShardWork& work) {
  Estimate estimate{.num_cells = static_cast<std::int64_t>(work.cells.size()),
                    .num_trainings = static_cast<std::int64_t>(work.trainings.size())};
  const auto needs = [&](std::int64_t bytes, const auto& what) {
    if (bytes > estimate.thread_bytes) {
      estimate.thread_bytes = bytes;
      estimate.largest = describe(what);
    }
  };
  Lines lines;
  std::set<std::string> problems;
  for (const std::size_t at : work.cells) {
    const Cell& cell = costs.cells[at];
    std::string name = cell.agent.text();
    if (!cell.policy.empty()) {
      name += fmt::format(", {} policy {}", cell.learns ? "from" : "as", cell.policy);
    }
    const bench::ProblemSize& size = costs.sizes[at];
    const std::int64_t agent_us =
        std::llround(CostModel::shipped().seconds(cell.agent, cell.max_evaluations, size,
                                                  cell.groups_are_given()) *
                     kUsPerS);
    lines.add(name, cell.agent, agent_us);
    if (size.has_spreads) {
      lines.add("draws of costs", "random", costs.cells_us[at] - agent_us);
    }
    estimate.cost_us += costs.cells_us[at];
    needs(costs.cells_bytes[at], cell);
    estimate.results_bytes += bench::expected_bytes(cell, size);
    if (problems.insert(bench::problem_key(cell)).second) {
      estimate.problems_bytes += bench::expected_bytes(size);
    }
  }
  for (const std::size_t at : work.trainings) {
    lines.add("training of policy " + costs.trainings[at].policy, costs.trainings[at].plan.agent,
              costs.trainings_us[at]);
    estimate.cost_us += costs.trainings_us[at];
    needs(costs.trainings_bytes[at], costs.trainings[at]);
    estimate.policies_bytes += costs.policies_bytes[at];
  }
  estimate.lines = lines.take();
  estimate.num_problems = static_cast<std::int64_t>(problems.size());
  return estimate;
}

// Adds how a whole suite is divided.
void add_divisions(Estimate& estimate, const SuiteCosts& costs) {
  const std::vector<Piece> pieces = costs.pieces();
  const Piece& longest = *std::ranges::max_element(pieces, {}, &Piece::cost_us);
  estimate.longest_us = longest.cost_us;
  estimate.longest = describe(longest, costs);
  estimate.divisions = divisions_of(pieces, costs, estimate.cost_us);
}

double share(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string to_text(const Estimate& estimate, const bench::Suite& suite, bench::Shard shard,
                    bool color) {
  std::string text =
      fmt::format("{}{}: {} on {}, {} to train\n\n", suite.name,
                  shard.is_whole() ? "" : ", shard " + shard.text(),
                  counted(estimate.num_cells, "cell"), counted(estimate.num_problems, "problem"),
                  counted(estimate.num_trainings, "policy", "policies"));
  TextTable lines({{"agent"},
                   {"runs", Align::kRight},
                   {"on one core", Align::kRight},
                   {"share", Align::kRight},
                   {"speed"}});
  for (const Line& line : estimate.lines) {
    lines.add_row({line.name, fmt::format("{}", line.runs),
                   bench::time_text(static_cast<double>(line.cost_us)),
                   fmt::format("{:.1f} %", 100 * share(line.cost_us, estimate.cost_us)),
                   line.source});
  }
  text += lines.to_terminal(color);
  const CostModel& model = CostModel::shipped();
  text += fmt::format(
      "\nTime: {:.3g} core-hours, from speeds recorded on one core of {} ({}).\n"
      "Memory: {} for the problems, {} for the report, and for each thread {}.\n"
      "Disk: {} of results, {} of policies.\n",
      static_cast<double>(estimate.cost_us) / kUsPerHour, model.machine(), model.time(),
      bench::bytes_text(static_cast<double>(estimate.problems_bytes)),
      bench::bytes_text(static_cast<double>(kReportBytesPerByte * estimate.results_bytes)),
      estimate.largest.empty()
          ? "nothing"
          : fmt::format("up to {} ({})",
                        bench::bytes_text(static_cast<double>(estimate.thread_bytes)),
                        estimate.largest),
      bench::bytes_text(static_cast<double>(estimate.results_bytes)),
      bench::bytes_text(static_cast<double>(estimate.policies_bytes)));
  if (estimate.divisions.empty()) {
    return text;
  }
  text += fmt::format("Longest piece of a shard, which is not divided: {}, {}.\n\n",
                      bench::time_text(static_cast<double>(estimate.longest_us)), estimate.longest);
  TextTable divisions({{"cores", Align::kRight},
                       {"as shards", Align::kRight},
                       {"busy", Align::kRight},
                       {"as ranks", Align::kRight}});
  for (const Division& division : estimate.divisions) {
    divisions.add_row({fmt::format("{}", division.cores),
                       bench::time_text(static_cast<double>(division.shards_us)),
                       fmt::format("{:.0f} %", 100 * division.busy),
                       bench::time_text(static_cast<double>(division.ranks_us))});
  }
  return text + divisions.to_terminal(color) +
         "\nShards are separate runs; the ranks of mpirun share one run, cell by cell.\n"
         "Adding more cores would not help.\n";
}

Json to_json(const Estimate& estimate, const bench::Suite& suite, std::uint64_t root_seed,
             bench::Shard shard) {
  const auto hours = [](std::int64_t us) { return static_cast<double>(us) / kUsPerHour; };
  Json lines = Json::array();
  for (const Line& line : estimate.lines) {
    lines.push_back({{"agent", line.name},
                     {"runs", line.runs},
                     {"core_hours", hours(line.cost_us)},
                     {"speed", line.source}});
  }
  Json divisions = Json::array();
  for (const Division& division : estimate.divisions) {
    divisions.push_back({{"shards", division.cores},
                         {"hours", hours(division.shards_us)},
                         {"busy", division.busy},
                         {"hours_of_ranks", hours(division.ranks_us)}});
  }
  return {{"schema_version", 1},
          {"suite", suite.name},
          {"root_seed", root_seed},
          {"shard", shard.text()},
          {"cells", estimate.num_cells},
          {"problems", estimate.num_problems},
          {"trainings", estimate.num_trainings},
          {"core_hours", hours(estimate.cost_us)},
          {"longest_piece_hours", hours(estimate.longest_us)},
          {"longest_piece", estimate.longest},
          {"problems_bytes", estimate.problems_bytes},
          {"thread_bytes", estimate.thread_bytes},
          {"largest", estimate.largest},
          {"results_bytes", estimate.results_bytes},
          {"policies_bytes", estimate.policies_bytes},
          {"speeds_of", CostModel::shipped().machine()},
          {"agents", std::move(lines)},
          {"divisions", std::move(divisions)}};
}

}  // namespace

void dry_run(const bench::Suite& suite, std::uint64_t root_seed, bench::Shard shard,
             const std::string& folder, bool json, const Invocation& invocation) {
  const SuiteCosts costs = bench::costs_of(suite, root_seed);
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
  Estimate expected = estimate(costs, work);
  // A run that has begun is not divided any more.
  if (shard.is_whole() && folder.empty() && !costs.cells.empty()) {
    add_divisions(expected, costs);
  }
  if (json) {
    print_json(to_json(expected, suite, root_seed, shard));
  } else {
    const bool color = use_color(invocation.color);
    print_text(to_text(expected, suite, shard, color), color);
  }
}

}  // namespace emplace::cli
