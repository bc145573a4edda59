#pragma once

// How Ctrl-C ends long commands in good order.

#include <atomic>

namespace emplace::cli {

/// From now on the first SIGINT or SIGTERM only turns the flag that this returns to true; the
/// second ends the process as usual.
const std::atomic<bool>& stop_on_signal();

/// Says whether such a signal came.
bool was_interrupted();

}  // namespace emplace::cli
