#pragma once

// A problem as Python sees it: its arrays, and what can be asked of a placement. It owns its
// problem, so arrays over its memory may outlive everything else. Any number of Python threads may
// use it; what takes long runs without the GIL.

#include "arrays.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/sim/simulator.hpp>
#include <emplace/sim/step_record.hpp>

#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace emplace::python {

/// Says how the user named a problem, so that a cell can name it again.
struct ProblemNames {
  std::string graph{};
  std::string cluster{};
  std::int64_t groups = 0;  ///< 0 for the default of the grouping
  std::string grouping{};
};

/// The class emplace.Problem; see the head of this file.
class PythonProblem {
 public:
  PythonProblem(Problem problem, ProblemNames names);

  const Problem& problem() const { return entry_.problem; }
  const ProblemNames& names() const { return names_; }

  /// Returns the problem with its lower bounds, which are computed at the first call. Call it
  /// without the GIL.
  const bench::ProblemSet::Entry& bounded();

  /// Simulates all placements on the threads of the present TBB arena, without the GIL. Throws
  /// kUsage.
  std::vector<agents::Evaluation> evaluate(const PlacementBatch& batch);

  /// Simulates one step, without the GIL.
  StepRecord record(const Placement& placement);

 private:
  bench::ProblemSet::Entry entry_;
  ProblemNames names_;
  std::once_flag has_bounds_;
  tbb::enumerable_thread_specific<Simulator> simulators_;
};

/// Returns evaluations as an emplace.Evaluations, or as an emplace.Evaluation if `is_single`.
py::object to_python(const std::vector<agents::Evaluation>& evaluations, bool is_single);

/// Adds the classes Problem and Step to the module.
void bind_problem(py::module_& module);

}  // namespace emplace::python
