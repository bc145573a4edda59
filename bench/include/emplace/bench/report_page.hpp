#pragma once

// A run as one HTML page that needs no network and no other file: tables that sort and filter,
// convergence curves, a performance profile, paired comparisons, and for each graph and cluster the
// steps of the agents' fastest placements as timelines next to their graphs. All numbers are
// computed here and stored in the page as JSON; its script (bench/page) only shows them. The page
// treats names as text, whatever they contain.

#include <emplace/base/ids.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/placement_comparison.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The step of an agent's fastest placement of one graph and cluster.
struct PageStep {
  std::string graph{};
  std::string cluster{};
  std::string agent{};    ///< label of the agent that placed it; empty if no placement fits
  std::string cell{};     ///< id
  std::string data{};     ///< what describe_step() returned; empty if there is no step
  std::string missing{};  ///< why there is no step
};

/// Steps of more ops are left out of a page, because few browsers could open it.
inline constexpr OpId kMostPageOps = 200'000;

/// The steps of other agents than the fastest take at most so much of a page.
inline constexpr std::size_t kMostOtherStepBytes = 6'000'000;

/// Returns a sentence that the page leaves out the step of a cell, why, and how to look at it.
std::string left_out(std::string_view why, std::string_view cell);

/// The course of the training of one of the run's policies.
struct PageTraining {
  std::string policy{};
  std::string family{};
  std::string cluster{};
  std::vector<CurveMean> points{};  ///< of LearningCurve::means(); empty if they were not kept
};

/// Returns a step as JSON for the page: ops and transfers in lanes, the critical path, the memory
/// of each device, and the groups with their places in a layered drawing. Requires: `record` is a
/// run on `problem` that was not stopped.
std::string describe_step(const Problem& problem, const StepRecord& record);

/// Returns the page. `steps` and `trainings` are of the run, in any order.
std::string write_html(const Report& report, const StoredRun& run, std::span<const PageStep> steps,
                       std::span<const PageTraining> trainings = {});

/// Returns a page of compared placements: their tables, and the first two steps next to each other;
/// others can be chosen. Requires: `placements` are those that were compared.
std::string write_html(const PlacementComparison& comparison,
                       std::span<const SimulatedPlacement> placements);

}  // namespace emplace::bench
