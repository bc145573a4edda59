#pragma once

// Compares the steps of placements of one graph: which ops moved, and what each device and link
// gained or lost. The clusters may differ; devices and links are compared by their names.

#include <emplace/sim/draws.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// A placement and its step.
struct SimulatedPlacement {
  std::string name{};     ///< such as the path of its file
  std::string graph{};    ///< as the user names it
  std::string cluster{};  ///< as the user names it
  Problem problem;        ///< in which each op is a group
  StepRecord record{};
};

/// Describes ops that are on another device than in the first placement.
struct MovedOps {
  /// The outermost scope all of whose ops moved alike; else the scope of these ops, or the name of
  /// an op without a scope.
  std::string what{};
  std::string from{};  ///< device in the first placement
  std::string to{};
  std::int64_t ops = 0;
  double from_us = 0;  ///< sum of their costs there
  double to_us = 0;
};

/// How a placement does in the draws of uncertain costs.
struct ComparedDraws {
  DrawSummary summary{};
  DrawComparison against_first{};  ///< how likely it beats the first placement
};

/// A placement, compared with the first.
struct ComparedPlacement {
  std::string name{};
  std::string cluster{};
  StepStatus status = StepStatus::kOk;
  double step_time_us = 0;
  double exposed_us = 0;          ///< no op ran while a transfer was under way
  double over_first = 0;          ///< step time over that of the first, less 1
  std::vector<MovedOps> moved{};  ///< longest first; none in the first
  std::optional<ComparedDraws> draws{};
};

/// A device or link in the steps of all placements.
struct ComparedResource {
  struct Use {
    double path_us = 0;      ///< on the critical path
    double busy_us = 0;      ///< of a device: sum over its ops
    std::int64_t bytes = 0;  ///< of a device: the peak of its memory; of a link: bytes moved
  };

  std::string name{};
  bool is_device = true;
  std::vector<std::optional<Use>> uses{};  ///< by placement; nothing if its cluster has none
};

struct PlacementComparison {
  std::string graph{};  ///< of the first
  std::vector<ComparedPlacement> placements{};
  std::vector<ComparedResource> resources{};  ///< devices, then links that carry anything
};

/// Compares placements with the first; with `draws`, simulates draws of uncertain costs as well, in
/// the caller's oneTBB arena. Throws kUsage if the graphs have other ops, or if there are draws and
/// the clusters or graphs have other names. Requires: at least two placements, and records of steps
/// that were not stopped.
PlacementComparison compare_placements(std::span<const SimulatedPlacement> placements,
                                       const std::optional<DrawOptions>& draws = std::nullopt);

/// Returns "Placements of vgg-16 on dgx-a100", without the cluster if there are several.
std::string title_of(const PlacementComparison& comparison);

/// Returns the comparison for a terminal of `width` columns, 0 for no limit.
std::string write_terminal(const PlacementComparison& comparison, std::size_t width = 0);

/// Returns the same as Markdown, as a part of a page, and as one JSON object with schema_version,
/// which has all rows.
std::string write_markdown(const PlacementComparison& comparison);
std::string write_html_tables(const PlacementComparison& comparison);
std::string write_json(const PlacementComparison& comparison);

}  // namespace emplace::bench
