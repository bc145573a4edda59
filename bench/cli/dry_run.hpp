#pragma once

// Tells what a suite is expected to take, without running it: `emplace run SUITE --dry-run`.

#include "command.hpp"

#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>

#include <cstdint>
#include <string>

namespace emplace::cli {

/// Prints cells, core-hours, memory and disk of a shard of `suite`, and of the whole suite how many
/// shards pay. With the `folder` of a run it prints what is left of that, without the latter.
/// Throws as bench::costs_of() and read_store() do, and kUsage where the folder is of another run.
void dry_run(const bench::Suite& suite, std::uint64_t root_seed, bench::Shard shard,
             const std::string& folder, bool json, const Invocation& invocation);

}  // namespace emplace::cli
