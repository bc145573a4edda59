#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/suite_run.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

namespace emplace::bench {
namespace {

std::vector<Cell> unfinished(const std::vector<Cell>& cells,
                             const std::vector<CellResult>& finished) {
  std::set<std::string> done;
  for (const CellResult& result : finished) {
    done.insert(result.cell.id());
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
std::string policy_path(const std::string& folder, const SuiteTraining& training) {
  return folder + "/policies/" + training.file_name();
}

std::string curve_path(const std::string& folder, const SuiteTraining& training) {
  return folder + "/policies/" + training.curve_file_name();
}

}  // namespace

SuiteRun::SuiteRun(const Suite& suite, std::uint64_t root_seed)
    : suite_(suite),
      root_seed_(root_seed),
      cells_(cells_of(suite, root_seed)),
      trainings_(trainings_of(suite, root_seed)),
      problems_(cells_),
      hashes_(problems_.hashes()) {
  std::ranges::copy(hash_trained(suite, trainings_, problems_.hashes()),
                    std::back_inserter(hashes_));
}

void SuiteRun::open(const std::string& folder, const std::vector<std::string>& arguments,
                    bool resume) {
  folder_ = folder;
  store_ = std::make_unique<ResultStore>(
      ResultStore::open(folder,
                        {.suite = suite_,
                         .root_seed = root_seed_,
                         .num_cells = static_cast<std::int64_t>(cells_.size()),
                         .problems = hashes_,
                         .starts = {start_now(arguments)}},
                        resume));
  remaining_ = unfinished(cells_, store_->finished());
  trainings_ = needed(std::move(trainings_), remaining_);
}

std::vector<SuiteTraining> SuiteRun::untrained() const {
  std::error_code error;
  std::vector<SuiteTraining> left;
  std::ranges::copy_if(trainings_, std::back_inserter(left), [&](const SuiteTraining& training) {
    return !std::filesystem::exists(policy_path(folder_, training), error);
  });
  return left;
}

void SuiteRun::train(const std::vector<SuiteTraining>& trainings, int threads,
                     const std::atomic<bool>& stop,
                     const std::function<void(const SuiteTraining&)>& sink) {
  std::error_code error;
  // Writing tells why it could not.
  std::filesystem::create_directories(folder_ + "/policies", error);
  train_policies(trainings, threads, stop,
                 [&](const SuiteTraining& training, const TrainedPolicy& trained) {
                   // A policy that is there is not trained again, so its curve must be there
                   // before.
                   write_text_file(curve_path(folder_, training), trained.curve);
                   write_text_file(policy_path(folder_, training), trained.policy);
                   sink(training);
                 });
}

Policies SuiteRun::read_policies() const {
  Policies policies;
  for (const SuiteTraining& training : trainings_) {
    const std::string path = policy_path(folder_, training);
    PolicyFile file = read_policy_file(read_text_file(path), path);
    if (file.origin.plan != training.plan) {
      throw Error(ErrorCode::kFormat, path + ": the policy was trained by another plan");
    }
    policies.emplace(hash_of(training.plan), std::move(file.policy));
  }
  return policies;
}

std::vector<CellFault> SuiteRun::run(int threads, const std::atomic<bool>& stop,
                                     const std::function<void(const CellResult&)>& sink) {
  if (stop) {
    return {};
  }
  const Policies policies = read_policies();
  return run_cells(remaining_, problems_, policies, threads, stop, [&](const CellResult& result) {
    store_->append(result);
    sink(result);
  });
}

}  // namespace emplace::bench
