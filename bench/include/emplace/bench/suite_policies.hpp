#pragma once

// The policies of a suite: what each is trained on, and its training. An executor trains all of
// them in parallel (executor.hpp). A policy depends on its plan alone, not on the order, the thread
// or the process in which it is trained. Its file is named by a hash of the plan, so a resumed run
// can use it again.

#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/suite.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// Returns what a policy of a suite is trained on for the cells of one family, cluster and
/// repetition. Repetitions differ in their root seed.
TrainingPlan plan_of(const Suite& suite, const SuitePolicy& policy, const SuiteFamily& family,
                     const std::string& cluster, std::int64_t repetition, std::uint64_t root_seed);

/// Returns 16 hexadecimal digits, the hash of everything in a plan.
std::string hash_of(const TrainingPlan& plan);

/// Names one training of a suite.
struct SuiteTraining {
  std::string policy{};  ///< name in the suite
  std::string family{};
  TrainingPlan plan{};

  /// Returns what its file is called: POLICY-HASH.json.
  std::string file_name() const;

  /// Returns what the file with its learning curve is called: POLICY-HASH.curve.json.
  std::string curve_file_name() const;
};

/// The texts of two files.
struct TrainedPolicy {
  std::string policy{};
  std::string curve{};  ///< see LearningCurve::means_json()
};

/// Returns the trainings of a suite in the order of its lists: by policy, family, cluster,
/// repetition.
std::vector<SuiteTraining> trainings_of(const Suite& suite, std::uint64_t root_seed);

/// Returns the hashes of all training problems, each once. `visit`, which may be empty, gets each
/// training (its position) with each of its problems. Throws kFormat if one of them is among the
/// test problems `tested`, even under another name, and what for_each_problem() throws.
std::vector<ProblemHash> hash_trained(
    const Suite& suite, std::span<const SuiteTraining> trainings,
    std::span<const ProblemHash> tested,
    const std::function<void(std::size_t, const Problem&)>& visit = {});

/// Trains one policy. When `stop` turns true it ends early, and what it returns is not finished.
/// `threads` are as of Training::run(), and so is what it throws.
TrainedPolicy train_policy(const SuiteTraining& training, int threads,
                           const std::atomic<bool>& stop);

/// The file of a trained policy: its content and its text.
struct PolicyAndText {
  PolicyFile file;
  std::string text{};
};

/// Trained policies by the hashes of their plans.
using Policies = std::map<std::string, PolicyAndText>;

}  // namespace emplace::bench
