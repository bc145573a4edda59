#pragma once

// The problems of a run, loaded by name and compiled once; all cells and threads share them.

#include <emplace/bench/cell.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Groups the ops of a graph by the strategy `grouping`; `groups` is the target count, 0 for the
/// default. An empty `grouping` means that of grouping_for(). Throws Error.
Grouping group_graph(const OpGraph& graph, std::int64_t groups, std::string_view grouping = {});

/// Loads a graph and a cluster by name or path and compiles them, with the ops grouped as by
/// group_graph(). Throws Error.
Problem load_problem(std::string_view graph, std::string_view cluster, std::int64_t groups,
                     std::string_view grouping = {});

/// Returns 16 hexadecimal digits, a hash of all properties of `problem` that can change a result.
/// Results of two runs may be compared if their problems have the same hash.
std::string hash_of(const Problem& problem);

/// Returns 16 hexadecimal digits, a hash of what decides whether a placement of the ops is allowed,
/// how long its step takes and whether it fits. It is the same for all groupings of a problem, so
/// step times of two runs may be compared if it is the same.
std::string step_hash_of(const Problem& problem);

/// A problem and the hashes of its contents.
struct ProblemHash {
  std::string graph{};
  std::string cluster{};
  std::string hash{};       ///< see hash_of()
  std::string step_hash{};  ///< see step_hash_of()

  bool operator==(const ProblemHash&) const = default;
};

/// Returns a text that is the same for cells of one problem: graph, cluster and grouping.
std::string problem_key(const Cell& cell);

/// Compiles each problem of `cells`, in the order of their first cells, and passes it to `visit`
/// with that cell. One graph is kept in memory at a time, so cells of a graph should be next to
/// each other, as those of a suite are. Throws Error.
void for_each_problem(const std::vector<Cell>& cells,
                      const std::function<void(const Cell&, Problem)>& visit);

/// The problems of a list of cells.
class ProblemSet {
 public:
  /// Loads every graph and cluster of `cells` and compiles each pair that occurs; throws Error.
  explicit ProblemSet(const std::vector<Cell>& cells);

  /// One problem with its lower bounds.
  struct Entry {
    Problem problem;
    LowerBounds bounds;
  };

  /// Returns the problem of a cell. Requires: its graph and cluster were among the cells.
  const Entry& find(const Cell& cell) const;

  /// Returns the hashes of all problems, in the order of their first cells.
  const std::vector<ProblemHash>& hashes() const { return hashes_; }

 private:
  std::map<std::string, std::unique_ptr<const Entry>> entries_;
  std::vector<ProblemHash> hashes_;
};

}  // namespace emplace::bench
