#include "stop_signal.hpp"

#include <csignal>

namespace emplace::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler may set it");

void request_stop(int /*signal*/) {
  stop_requested = true;
  for (const int either : {SIGINT, SIGTERM}) {
    std::signal(either, SIG_DFL);
  }
}

}  // namespace

const std::atomic<bool>& stop_on_signal() {
  // Once: after a signal a second one must end the process, whoever asks for the flag again.
  [[maybe_unused]] static const bool is_installed = [] {
    std::signal(SIGINT, request_stop);
    std::signal(SIGTERM, request_stop);
    return true;
  }();
  return stop_requested;
}

bool was_interrupted() { return stop_requested; }

}  // namespace emplace::cli
