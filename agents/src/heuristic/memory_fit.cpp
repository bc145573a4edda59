#include "memory_fit.hpp"

#include "repair/repair.hpp"

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

// Looks for the best placement of a problem that fits.
class FitSearch {
 public:
  FitSearch(const Problem& problem, Budget& budget, Simulator& simulator)
      : problem_(problem), budget_(budget), simulator_(simulator) {}

  // Repairs a placement and keeps it if it is the best. Its first simulation was made before.
  // Requires: the budget is not spent.
  void repair_one(const Placement& placement) {
    Repair repaired = repair(problem_, simulator_, placement, kMaxSimulations, budget_);
    if (best_.placement.size() == 0 || is_better(repaired, best_)) {
      best_ = std::move(repaired);
    }
  }

  // Repairs what `schedule` makes of it, which is told to keep more and more free.
  void repair_all(const std::function<Placement(const MemoryReserve&)>& schedule) {
    MemoryReserve reserve(problem_.num_devices(), 0);
    Placement last;
    for (int attempt = 0; attempt < kMaxAttempts && !budget_.exhausted(); ++attempt) {
      const Placement placement = schedule(reserve);
      const SimResult& result = simulator_.run(placement);
      budget_.charge(1);
      const bool fits = result.status == StepStatus::kOk;
      add_bytes_over(problem_, result, reserve);
      if (placement != last && !budget_.exhausted()) {
        repair_one(placement);
      }
      if (fits) {
        return;
      }
      last = placement;
    }
  }

  const Repair& best() const { return best_; }

 private:
  const Problem& problem_;
  Budget& budget_;
  Simulator& simulator_;
  Repair best_;
};

}  // namespace

Placement fit_into_memory(const Problem& problem, Budget& budget, Placement published,
                          const std::function<Placement(const MemoryReserve&)>& schedule) {
  if (budget.exhausted()) {
    return published;
  }
  Simulator simulator(problem);
  if (simulator.run(published).status == StepStatus::kOk) {
    return published;
  }
  FitSearch search(problem, budget, simulator);
  search.repair_one(published);
  if (search.best().status == RepairStatus::kInfeasible) {
    return published;
  }
  search.repair_all(schedule);
  if (search.best().status == RepairStatus::kGivenUp) {
    search.repair_all(
        [&problem](const MemoryReserve& reserve) { return fill_in_order(problem, reserve); });
  }
  return search.best().placement;
}

}  // namespace emplace::agents
