#pragma once

// What parts of a suite refer to each other.

#include <emplace/bench/suite.hpp>

#include <optional>
#include <string>

namespace emplace::bench {

/// A member of a published figure that names nothing in its suite.
struct Misfit {
  const char* member = nullptr;
  std::string message{};
};

/// Says why a figure is none of the suite's; nothing if it is.
std::optional<Misfit> misfit_of(const Suite& suite, const PublishedFigure& figure);

/// Returns whether the suite has an agent of this label.
bool has_agent(const Suite& suite, const std::string& label);

/// Returns whether two agents of the suite would be the same on a graph: their groupings may differ
/// in name only.
bool share_a_cell(const Suite& suite, const SuiteAgent& agent, const SuiteAgent& other);

/// Removes what no longer applies because graphs, clusters or agents are missing: clusters in the
/// lists of graphs, graphs without a cluster, families without test graphs, policies that no agent
/// uses, baselines and published figures.
void drop_misfits(Suite& suite);

}  // namespace emplace::bench
