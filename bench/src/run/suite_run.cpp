#include "suite_cell.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/rank_executor.hpp>
#include <emplace/bench/suite_costs.hpp>
#include <emplace/bench/suite_run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

namespace emplace::bench {
namespace {

std::vector<Cell> unfinished(const std::vector<Cell>& cells, const std::vector<Cell>& finished) {
  std::set<std::string> done;
  for (const Cell& cell : finished) {
    done.insert(cell.id());
  }
  std::vector<Cell> left;
  for (const Cell& cell : cells) {
    if (!done.contains(cell.id())) {
      left.push_back(cell);
    }
  }
  return left;
}

// Leaves out what no remaining cell needs.
std::vector<SuiteTraining> needed(std::vector<SuiteTraining> trainings,
                                  const std::vector<Cell>& remaining) {
  std::set<std::string> hashes;
  for (const Cell& cell : remaining) {
    hashes.insert(cell.training);
  }
  std::erase_if(trainings, [&](const SuiteTraining& training) {
    return !hashes.contains(hash_of(training.plan));
  });
  return trainings;
}

// Where a trained policy is kept, in the folder of the run.
std::string curve_path(const std::string& folder, const SuiteTraining& training) {
  return folder + "/policies/" + training.curve_file_name();
}

// Writes a file in the folder of the run.
void write_own(const std::string& path, std::string_view text) {
  expect_plain_file(path);
  write_text_file(path, text);
}

}  // namespace

std::string policy_path(const std::string& folder, const SuiteTraining& training) {
  return folder + "/policies/" + training.file_name();
}

SuiteRun::SuiteRun(const Suite& suite, std::uint64_t root_seed, Shard shard)
    : suite_(suite), root_seed_(root_seed), shard_(shard), problems_({}) {
  if (shard_.is_whole()) {
    load_all();
  } else {
    load_shard();
  }
}

void SuiteRun::load_all() {
  cells_ = cells_of(suite_, root_seed_);
  num_suite_cells_ = static_cast<std::int64_t>(cells_.size());
  trainings_ = trainings_of(suite_, root_seed_);
  problems_ = ProblemSet(cells_);
  hashes_ = problems_.hashes();
  std::ranges::copy(hash_trained(suite_, trainings_, problems_.hashes()),
                    std::back_inserter(hashes_));
}

// Every shard hashes all problems, so that stores of other inputs are never united; it keeps only
// its own.
void SuiteRun::load_shard() {
  SuiteCosts costs = costs_of(suite_, root_seed_);
  const ShardWork work = costs.work_of(shard_);
  num_suite_cells_ = static_cast<std::int64_t>(costs.cells.size());
  hashes_ = std::move(costs.problems);
  cells_.reserve(work.cells.size());
  for (const std::size_t cell : work.cells) {
    cells_.push_back(std::move(costs.cells[cell]));
  }
  trainings_.reserve(work.trainings.size());
  for (const std::size_t training : work.trainings) {
    trainings_.push_back(std::move(costs.trainings[training]));
  }
  problems_ = ProblemSet(cells_);
}

void SuiteRun::open(const std::string& folder, const std::vector<std::string>& arguments,
                    bool resume, const Libraries& libraries) {
  Start start = start_now(arguments);
  Libraries& all = start.build.libraries;
  all.insert(all.end(), libraries.begin(), libraries.end());
  std::ranges::sort(all);  // as they are read back
  folder_ = folder;
  store_ = std::make_unique<ResultStore>(
      ResultStore::open(folder,
                        {.suite = suite_,
                         .root_seed = root_seed_,
                         .num_cells = num_suite_cells_,
                         .shard = shard_,
                         .num_shard_cells = static_cast<std::int64_t>(cells_.size()),
                         .problems = hashes_,
                         .starts = {std::move(start)}},
                        resume));
  remaining_ = unfinished(cells_, store_->finished());
  if (remaining_.size() + store_->finished().size() != cells_.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: cannot resume: it has cells that are not of shard {}; the emplace "
                            "that started it divided the suite differently",
                            folder, shard_.text()));
  }
  trainings_ = needed(std::move(trainings_), remaining_);
}

std::string SuiteRun::fingerprint() const {
  const Manifest manifest{.suite = suite_,
                          .root_seed = root_seed_,
                          .num_cells = num_suite_cells_,
                          .shard = shard_,
                          .problems = hashes_,
                          .starts = {{.build = start_now({}).build}}};
  return fmt::format("{:016x}", stable_hash(write_manifest(manifest)));
}

void SuiteRun::work_for_root(Communicator& ranks, int threads) const {
  bench::work_for_root(ranks, threads, {cells_, trainings_, problems_});
}

std::vector<double> SuiteRun::work() const { return work_of(remaining_, problems_); }

std::vector<SuiteTraining> SuiteRun::untrained() const {
  std::error_code error;
  std::vector<SuiteTraining> left;
  std::ranges::copy_if(trainings_, std::back_inserter(left), [&](const SuiteTraining& training) {
    return !std::filesystem::exists(policy_path(folder_, training), error);
  });
  return left;
}

void SuiteRun::train(const std::vector<SuiteTraining>& trainings, Executor& executor,
                     const std::atomic<bool>& stop,
                     const std::function<void(const SuiteTraining&)>& sink) {
  std::error_code error;
  // Writing tells why it could not.
  std::filesystem::create_directories(folder_ + "/policies", error);
  executor.train_policies(trainings, stop,
                          [&](const SuiteTraining& training, const TrainedPolicy& trained) {
                            // A policy that is there is not trained again, so its curve must be
                            // there before.
                            write_own(curve_path(folder_, training), trained.curve);
                            write_own(policy_path(folder_, training), trained.policy);
                            sink(training);
                          });
}

Policies SuiteRun::read_policies() const {
  Policies policies;
  for (const SuiteTraining& training : trainings_) {
    const std::string path = policy_path(folder_, training);
    std::string text = read_plain_file(path);
    PolicyFile file = read_policy_file(text, path);
    if (file.origin.plan != training.plan) {
      throw Error(ErrorCode::kFormat, path + ": the policy was trained with another plan");
    }
    policies.emplace(hash_of(training.plan), PolicyAndText{std::move(file), std::move(text)});
  }
  return policies;
}

std::vector<CellFault> SuiteRun::run(Executor& executor, const std::atomic<bool>& stop,
                                     const std::function<void(const CellResult&)>& sink) {
  if (stop) {
    return {};
  }
  const Policies policies = read_policies();
  return executor.run_cells(remaining_, problems_, policies, stop, [&](const CellResult& result) {
    store_->append(result);
    sink(result);
  });
}

}  // namespace emplace::bench
