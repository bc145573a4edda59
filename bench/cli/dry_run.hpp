#pragma once

// Tells what a suite is expected to take, without running it: `emplace run SUITE --dry-run`.

#include "command.hpp"

#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>

#include <cstdint>

namespace emplace::cli {

/// Prints cells, core-hours, memory and disk of a shard of `suite`, and of the whole suite how many
/// shards pay. Throws as bench::costs_of() does.
void dry_run(const bench::Suite& suite, std::uint64_t root_seed, bench::Shard shard, bool json,
             const Invocation& invocation);

}  // namespace emplace::cli
