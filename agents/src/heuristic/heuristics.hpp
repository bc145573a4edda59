#pragma once

// The heuristics that agents offer by name, as functions. They evaluate nothing; what they simulate
// to fit into memory is charged to the budget (memory_fit.hpp). Where the budget is stopped, list
// schedulers put all groups on one device.

#include <emplace/agents/budget.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>

namespace emplace::agents {

/// Says in which order devices run the groups of a placement.
enum class StepOrder : std::uint8_t {
  kQueue,   ///< that of the cluster: the placement has no priorities
  kPlan,    ///< that of the schedule, as priorities
  kFaster,  ///< whichever of the two gives the faster step
};

/// A list scheduler.
using ListScheduler = Placement(const Problem& problem, Budget& budget, StepOrder order);

ListScheduler heft, etf, cpop, dls, peft, min_min, max_min, m_etf;

Placement m_topo(const Problem& problem, Budget& budget);

Placement single_gpu(const Problem& problem);

Placement human_expert(const Problem& problem);

Placement data_parallel_expert(const Problem& problem);

Placement pipeline_expert(const Problem& problem, Budget& budget);

}  // namespace emplace::agents
