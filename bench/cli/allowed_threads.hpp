#pragma once

namespace emplace::cli {

/// Returns how many of the `wanted` threads (0: as many as there are cores) this process may have,
/// and warns if those are fewer.
int allowed_threads(int wanted);

}  // namespace emplace::cli
