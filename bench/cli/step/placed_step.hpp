#pragma once

// A problem, a placement of it and the simulated step, which `place` and `simulate` report. The
// step is simulated once.

#include "options.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>
#include <emplace/sim/throughput.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {

/// Holds what became of one device in a step.
struct DeviceUse {
  std::string name{};
  double busy_us = 0;               ///< time in which it runs an op
  double utilization = 0;           ///< busy time over step time
  std::int64_t peak_bytes = 0;      ///< of its memory, in use at once
  std::int64_t capacity_bytes = 0;  ///< of its memory
};

/// Describes steps that overlap without end.
struct OverlappingSteps {
  Problem step;  ///< one of them
  std::int64_t in_flight = 0;
  std::int64_t searched = 0;  ///< steps that an agent sees, one after the other
  double bound_us = 0;        ///< no placement has a shorter period
  Throughput throughput{};    ///< of the placement
};

/// The step of a placement that needs no search, to hold the answer of one against.
struct ReferenceStep {
  std::string_view name;   ///< two words at most
  std::string_view agent;  ///< that makes the placement
  StepStatus status = StepStatus::kOk;
  double step_time_us = 0;
};

/// Holds a placement and the step that it gives, or, if the objective is throughput, the first of
/// the steps that overlap.
struct PlacedStep {
  bench::ProblemSet::Entry entry;
  StepRecord record{};                        ///< of the placement
  std::optional<OverlappingSteps> overlap{};  ///< if the objective is throughput
  std::string graph{};
  std::string cluster{};
  std::string grouping{};            ///< strategy; "ungrouped" for a placement file
  std::string placed_by{};           ///< an agent, or the path of a placement file
  std::int64_t decision_groups = 0;  ///< on which the agent decided; 0 for a file
  bool from_file = false;            ///< the placement is a file's
  bool was_stopped = false;          ///< the user stopped the search
  IdVector<DeviceId, DeviceUse> devices{};
  std::array<std::int32_t, 4> ops_by_cost_source{};  ///< by CostSource, of the ops on their devices
  std::int64_t evaluations = 0;                      ///< of the agent; 0 for a file
  std::int64_t evaluations_to_best = 0;              ///< of the agent; 0 for a file
  /// Of the same problem. Nothing if none is known, or if the placement parts ops that must share a
  /// device.
  std::optional<double> best_known_us{};
  std::vector<ReferenceStep> references{};  ///< of add_references()
  /// Of several graphs, the time at which each has ended, by its name within them.
  std::vector<std::pair<std::string, double>> graph_ends_us{};

  /// Returns the problem that is placed.
  const Problem& problem() const { return entry.problem; }

  /// Returns the problem of one step.
  const Problem& one_step() const { return overlap ? overlap->step : entry.problem; }

  /// Returns the name of an op.
  const std::string& op_name(OpId op) const;

  /// Says whether the step fits and takes no longer, or its period is no longer, than the lower
  /// bound.
  bool is_optimal() const;

  /// Returns how far the step, or its period, is above the lower bound, as a fraction of the bound.
  double gap() const;

  /// Returns how far the step is above the best known one, as a fraction of that; negative for a
  /// new best. Nothing if none is known, or if this step runs out of memory.
  std::optional<double> above_best_known() const;
};

/// Lets an agent place a problem: the same cell as the first repetition in a suite with this seed,
/// budget and grouping, unless its search starts from a placement: `start`, or that of the file
/// agent.from. Throws Error, also where the agent fails.
PlacedStep place_with_agent(const ProblemOptions& problem, const AgentOptions& agent,
                            std::optional<Placement> start = std::nullopt);

/// Adds what the step takes on one device, and where layers are spread over the devices by their
/// weights, as frameworks do; nothing if the objective is throughput.
void add_references(PlacedStep& step);

/// Says how a trained policy is used.
struct PolicyOptions {
  std::string path{};         ///< of a policy file
  std::int64_t episodes = 0;  ///< to go on learning on this problem; 0: the policy stays as it is
  std::int64_t seed = 0;
  bool groups_as_trained = true;  ///< whatever the options of the problem say
};

/// Lets a trained policy place a problem. Throws Error.
PlacedStep place_with_policy(const ProblemOptions& problem, const PolicyOptions& options);

/// Returns a placement that exists: `source` is a placement file, the folder of a run (its fastest
/// placement of the problem), or FOLDER:CELL (the id of a cell, or its first digits). What
/// `problem` leaves out is what the file names, or the only one of the run. Throws Error.
PlacedStep place_from(const ProblemOptions& problem, const std::string& source);

/// Returns the placement that `result`, a cell of `run` with a placement, kept; `folder` is that of
/// the run. Of `options`, the objective counts. Throws Error, also if its graph or cluster has
/// changed since.
PlacedStep place_from_run(const bench::StoredRun& run, const bench::CellResult& result,
                          const std::string& folder, const ProblemOptions& options = {});

/// Returns the step of a placement file with this text; `path` names it. No grouping holds ops
/// together. Throws Error, kUsage if it does not keep the constraints.
PlacedStep place_op_by_op(const ProblemOptions& problem, const std::string& text,
                          const std::string& path);

/// Returns the same step, read op by op.
PlacedStep op_by_op(const PlacedStep& step);

/// Says on standard error if the costs of some ops are guesses, and how to do better.
void note_guesses(const PlacedStep& step);

/// Notes what the reader of a graph's file warns of.
void note_warnings(const OpGraph& graph);

/// Returns lines for people; `more_times`, lines too, stand under the step time.
std::string to_text(const PlacedStep& step, std::string_view more_times = "");

/// Returns a JSON answer, schema_version first.
Json to_json(const PlacedStep& step);

}  // namespace emplace::cli
