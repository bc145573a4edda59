#pragma once

// Judges the simulator by steps that others published (published_steps.hpp): each is simulated with
// the shipped profiles and compared with what was measured.
//
//     error of a step = |predicted - measured| / measured
//
// A step on one device is simulated on a cluster of one device of its profile, in the `physical`
// model. A profile's step factors (device_profile.hpp) were fitted to these steps. So a step is
// predicted with factors fitted to the steps of all other publishers (owners of the repositories
// that the figures are from), and judges them. A step that runs out of memory still has a time,
// which counts. Steps to which a profile was fitted are shown but do not count in errors, nor in
// factors. Steps that cannot be simulated are counted, with the reason.
//
// Deterministic. Complexity: one compiled problem and one simulation for each step, two for each
// speed-up.

#include <emplace/bench/published_steps.hpp>
#include <emplace/profiles/roofline.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// What the simulator predicts for a step.
struct StepPrediction {
  std::optional<double> us{};           ///< nothing if it could not be simulated
  double alone_us = 0;                  ///< the same without step factors
  StepStatus status = StepStatus::kOk;  ///< of the simulation
  std::int64_t bytes_over = 0;          ///< what exceeds the memory
  std::string why_none{};               ///< why there is no time; empty if there is

  bool operator==(const StepPrediction&) const = default;
};

/// What the simulator predicts for a speed-up.
struct SpeedupPrediction {
  StepPrediction one{};     ///< on one device
  StepPrediction placed{};  ///< on several

  /// Returns the step on one device over the placed step, if both could be simulated.
  std::optional<double> speedup() const;

  bool operator==(const SpeedupPrediction&) const = default;
};

/// Step factors, and the publisher whose steps they are not fitted to.
struct LeftOut {
  std::string publisher{};  ///< empty: they are fitted to all
  StepFactors factors{};

  bool operator==(const LeftOut&) const = default;
};

/// Published steps with the prediction for each.
struct Fidelity {
  PublishedSteps published{};
  std::vector<StepPrediction> steps{};        ///< of each step
  std::vector<SpeedupPrediction> speedups{};  ///< of each speed-up
  std::vector<LeftOut> factors{};             ///< of each publisher of steps, then of none

  /// Returns predicted over measured of a step, if there is a prediction.
  std::optional<double> ratio(std::size_t step) const;

  /// Returns whether a step counts in the errors: it was simulated, and no profile was fitted to
  /// it.
  bool judges(std::size_t step) const;
};

/// Simulates all steps and speed-ups. `progress` is called before each with the number done, the
/// number of all, and what comes next; it may be empty.
Fidelity predict_published(
    PublishedSteps published,
    const std::function<void(std::size_t, std::size_t, const std::string&)>& progress);

/// Summarizes how good predictions of steps are.
struct Accuracy {
  std::string profile{};           ///< of the steps; empty: of any
  std::string numbers{};           ///< in which they compute (numbers_of()); empty: in any
  std::string publisher{};         ///< of the steps; empty: any
  std::int64_t steps = 0;          ///< published
  std::int64_t not_simulated = 0;  ///< among them
  std::int64_t out_of_memory = 0;  ///< among them
  std::int64_t used_for_fit = 0;   ///< among them
  std::int64_t judging = 0;        ///< steps that the following figures are over
  /// Over the steps that count; nothing if there is none.
  std::optional<double> median_ratio{};
  std::optional<double> median_error{};
  std::optional<double> mean_error{};
  std::optional<double> tau{};  ///< Kendall's, of predicted and measured times

  bool operator==(const Accuracy&) const = default;
};

/// Returns a summary for each profile, in the order in which the steps name them first, then for
/// each kind of numbers, for each publisher, and at the end that of all.
std::vector<Accuracy> accuracy_of(const Fidelity& fidelity);

/// Returns who published a step: the owner of the source's repository.
std::string publisher_of(const PublishedSteps& published, const PublishedStep& step);

/// Returns in which numbers a step computes: the `dtype` of its graph, or its math if the graph
/// cannot be parsed.
std::string numbers_of(const PublishedStep& step);

/// Returns the report for a terminal of `width` columns (0: no limit), as Markdown, as JSON, or as
/// comma-separated values with one line for each step and speed-up.
std::string write_terminal(const Fidelity& fidelity, bool color, std::size_t width = 0);
std::string write_markdown(const Fidelity& fidelity);
std::string write_json(const Fidelity& fidelity);
std::string write_csv(const Fidelity& fidelity);

/// Returns the scatter plot as SVG: predicted against measured on logarithmic axes, with the
/// identity and bands of 10 % and 25 %. Viewers show the name of a point when the pointer is on it.
std::string draw_fidelity(const Fidelity& fidelity);

/// Returns a page of HTML that needs no other file: the plot, tables and sources.
std::string write_html(const Fidelity& fidelity);

}  // namespace emplace::bench
