#include "allowed_threads.hpp"

#include "terminal.hpp"

#include <emplace/bench/threads.hpp>

#include <fmt/format.h>
#include <tbb/info.h>

namespace emplace::cli {

int allowed_threads(int wanted) {
  const int count = wanted == 0 ? tbb::info::default_concurrency() : wanted;
  const int allowed = bench::available_threads(count);
  if (allowed < count) {
    note(fmt::format("emplace: warning: the system allows {} of {} threads; continuing with these",
                     allowed, count));
  }
  return allowed;
}

}  // namespace emplace::cli
