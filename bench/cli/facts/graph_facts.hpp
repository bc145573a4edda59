#pragma once

// The facts of a graph that `show` and `list graphs --details` tell.

#include <emplace/base/json.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::cli {

/// Holds sums over the ops of one kind.
struct KindTotals {
  std::int64_t ops = 0;
  std::int64_t flops = 0;
  std::int64_t output_bytes = 0;  ///< without variables' values
};

/// Holds what a graph computes and keeps.
struct GraphFacts {
  std::string name{};
  std::string source{};
  std::int64_t ops = 0;
  std::int64_t edges = 0;
  std::int64_t groups = 0;
  std::string grouping{};      ///< strategy
  std::int64_t cut_bytes = 0;  ///< between groups, as of emplace::cut_bytes()
  GraphTotals totals{};
  std::int64_t forward_flops = 0;
  std::int64_t activation_bytes = 0;  ///< outputs of the forward pass
  std::map<std::string, KindTotals> kinds{};

  /// Returns what a step on one device keeps: weights, slots and the outputs of the forward pass.
  std::int64_t memory_bytes() const { return totals.persistent_bytes + activation_bytes; }
};

/// Returns the facts of a graph and its grouping, which the strategy `name` made.
GraphFacts facts_of(const OpGraph& graph, std::string_view name, const Grouping& grouping);

/// Builds every graph of the catalog at its defaults, in parallel; returns the facts with the
/// default grouping, by name.
std::vector<GraphFacts> facts_of_catalog();

/// Returns lines for people: the facts, and a table of the op kinds.
std::string to_text(const GraphFacts& facts);

/// Returns a JSON answer, schema_version first.
Json to_json(const GraphFacts& facts);

}  // namespace emplace::cli
