#include "kept_trainings.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace emplace::cli {

std::vector<bench::PageTraining> kept_trainings(const bench::StoredRun& run,
                                                const std::string& folder) {
  std::set<std::string> used;  // by cells, as hashes of plans
  for (const bench::CellResult& result : run.results) {
    used.insert(result.cell.training);
  }
  std::vector<bench::PageTraining> trainings;
  for (const bench::SuiteTraining& training :
       bench::trainings_of(run.manifest.suite, run.manifest.root_seed)) {
    bench::PageTraining page{.policy = training.policy,
                             .family = training.family,
                             .cluster = training.plan.clusters.front()};
    const std::string path = folder + "/policies/" + training.curve_file_name();
    if (std::error_code error; std::filesystem::exists(path, error)) {
      page.points = bench::read_curve_means(read_plain_file(path), path);
    } else if (!run.manifest.shard.is_whole() && !used.contains(hash_of(training.plan))) {
      continue;  // of another shard
    }
    trainings.push_back(std::move(page));
  }
  return trainings;
}

}  // namespace emplace::cli
