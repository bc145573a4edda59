#pragma once

// Reads what earlier commands stored, and warns where damage in it would go unseen.

#include <emplace/bench/result_store.hpp>

#include <cstdint>
#include <string>

namespace emplace::cli {

/// Reads the store in `folder` as bench::read_store() does; warns if lines have no checksum.
bench::StoredRun read_run(const std::string& folder);

/// Reads a policy or a checkpoint; warns if it has no checksum. Throws kIo.
std::string read_trained(const std::string& path);

/// Warns that `count` results in `folder` have no checksum, if any.
void warn_without_checksum(const std::string& folder, std::int64_t count);

}  // namespace emplace::cli
