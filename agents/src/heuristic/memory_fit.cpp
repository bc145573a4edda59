#include "memory_fit.hpp"

#include <emplace/sim/repair.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <utility>

namespace emplace::agents {
namespace {

constexpr int kMaxAttempts = 8;
constexpr std::int64_t kMaxSimulations = 50;  // of a repair

bool is_better(const Repair& a, const Repair& b) {
  return std::pair(a.bytes_over, a.step_time_us) < std::pair(b.bytes_over, b.step_time_us);
}

// Adds what a step takes on each device beyond its memory.
void add_bytes_over(const Problem& problem, const SimResult& result, MemoryReserve& reserve) {
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::int64_t over = result.peak_bytes[device] - problem.memory_bytes(device);
    reserve[device] += std::max<std::int64_t>(over, 0);
  }
}

}  // namespace

Placement fit_into_memory(const Problem& problem, Placement published,
                          const std::function<Placement(const MemoryReserve&)>& schedule) {
  Simulator simulator(problem);
  if (simulator.run(published).status == StepStatus::kOk) {
    return published;
  }
  Repair best = repair(problem, simulator, published, kMaxSimulations);
  Placement last = std::move(published);
  MemoryReserve reserve(problem.num_devices(), 0);
  for (int attempt = 0; attempt < kMaxAttempts && best.status != RepairStatus::kInfeasible;
       ++attempt) {
    Placement placement = schedule(reserve);
    const SimResult& result = simulator.run(placement);
    const bool fits = result.status == StepStatus::kOk;
    add_bytes_over(problem, result, reserve);
    if (placement != last) {
      last = placement;
      Repair repaired = repair(problem, simulator, std::move(placement), kMaxSimulations);
      if (is_better(repaired, best)) {
        best = std::move(repaired);
      }
    }
    if (fits) {
      break;
    }
  }
  return std::move(best.placement);
}

}  // namespace emplace::agents
