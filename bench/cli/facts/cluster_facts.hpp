#pragma once

// What a graph costs on the devices of a cluster.

#include <emplace/base/json.hpp>
#include <emplace/sim/problem.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::cli {

/// The whole graph on one device of a class, without gaps and transfers.
struct ClassTotals {
  std::string profile{};
  std::string device_class{};
  double all_ops_us = 0;
  std::array<std::int64_t, 4> ops_by_cost_source{};  ///< by CostSource
};

/// What a graph is on a cluster.
struct ClusterFacts {
  std::string name{};
  double bound_us = 0;
  double largest_share = 0;  ///< of the work, in the heaviest group
  std::vector<ClassTotals> classes{};
};

/// Returns the facts of the graph and the cluster of a problem.
ClusterFacts cluster_facts_of(const Problem& problem);

/// Returns lines for people.
std::string to_text(const ClusterFacts& facts);

/// Adds the facts to the JSON object of a graph.
void add_to_json(Json& json, const ClusterFacts& facts);

}  // namespace emplace::cli
