#pragma once

// Tells what a suite takes, without running it: `emplace run SUITE --dry-run`.

#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>

#include <cstdint>
#include <string>

namespace emplace::cli {

/// Prints cells, evaluations, the time of their simulation on this machine and disk of a shard of
/// `suite`. With the `folder` of a run it prints what is left of that. Throws as bench::costs_of()
/// and read_store() do, and kUsage where the folder is of another run.
void dry_run(const bench::Suite& suite, std::uint64_t root_seed, bench::Shard shard,
             const std::string& folder, bool json);

}  // namespace emplace::cli
