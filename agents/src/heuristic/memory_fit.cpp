#include "memory_fit.hpp"

#include <emplace/sim/repair.hpp>
#include <emplace/sim/simulator.hpp>

#include <utility>
#include <cstdlib>
#include <cstdio>

namespace emplace::agents {

Placement fit_into_memory(const Problem& problem, Placement published) {
  Simulator simulator(problem);
  Repair r = repair(problem, simulator, std::move(published));
  if (std::getenv("MEMDBG")) std::fprintf(stderr, "repair: status %d, %ld sims, %.1f ms, over %.4f GB\n", (int)r.status, (long)r.simulations, r.step_time_us/1e3, (double)r.bytes_over/1e9);
  return std::move(r.placement);
}

}  // namespace emplace::agents
