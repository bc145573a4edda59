#include "heuristics.hpp"
#include "memory_fit.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {

// Baechi's m-TOPO (fill_in_order()), repaired where the step does not fit.
Placement m_topo(const Problem& problem, Budget& budget) {
  const auto fill = [&problem](const MemoryReserve& reserve) {
    return fill_in_order(problem, reserve);
  };
  return fit_into_memory(problem, budget, fill(MemoryReserve(problem.num_devices(), 0)), fill);
}

namespace {

class MTopo final : public Agent {
 public:
  explicit MTopo(const Params&) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    return m_topo(problem, evaluator.budget());
  }
};

EMPLACE_REGISTER_AGENT(
    MTopo, {.name = "m-topo",
            .kind = AgentKind::kHeuristic,
            .summary = "fills one device after the other to an even share of the "
                       "memory",
            .description = "Walks the groups in topological order and fills one device "
                           "after the other, each up to an even share of the memory that "
                           "all groups need. It is Baechi's simplest rule: few "
                           "transfers, no overlap of work. Use it as a quick placement "
                           "that fits where a single device is too small.",
            .reference = "Baechi: Jeon et al., SoCC 2020"});

}  // namespace
}  // namespace emplace::agents
