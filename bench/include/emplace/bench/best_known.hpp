#pragma once

// The best placements known, one JSON file for each graph and cluster
// (bench/schema/best_known.schema.json). Those of bench/best_known are shipped. Reports show their
// steps next to the lower bound, because the optimum lies between the two:
//
//     lower bound <= optimum <= best known
//
// The library holds only the steps, which are a small part of the files.
//
// A placement is kept at the finest grouping, in which any other can be written. An entry is valid
// for problems with its step hash, whatever their grouping. If costs, graph or cluster have
// changed, it is stale until it is renewed. Step times are exact: a simulation gives the same value
// again, to the last bit.
//
// Functions may be called from any thread. Checking an entry costs one simulation and a hash of the
// problem, O(ops * devices + edges).

#include <emplace/base/json.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The grouping strategy of all best-known placements: only what must share a device.
inline constexpr std::string_view kFinestGrouping = "colocation";

/// How a placement was found.
struct HowFound {
  std::string by{};                           ///< an agent with its parameters, or other words
  std::optional<std::int64_t> evaluations{};  ///< budget of the agent
  std::optional<std::int64_t> seed{};         ///< of the agent's random numbers
  std::string comment{};  ///< what else is needed to find it again; may be empty
  std::string version{};  ///< of emplace

  bool operator==(const HowFound&) const = default;
};

/// Returns how a placement was found as JSON.
Json to_json(const HowFound& found);

/// What is known of the best step of one graph on one cluster.
struct BestKnownStep {
  std::string graph{};      ///< of the catalog, as for load_graph()
  std::string cluster{};    ///< a shipped one
  std::string step_hash{};  ///< step_hash_of() the problem
  double step_time_us = 0;
  HowFound found{};
  GroupId groups = 0;  ///< of kFinestGrouping

  bool operator==(const BestKnownStep&) const = default;
};

/// The best placement known of one graph on one cluster. It fits into all memories.
struct BestKnown {
  std::string graph{};      ///< of the catalog, as for load_graph()
  std::string cluster{};    ///< a shipped one
  std::string step_hash{};  ///< step_hash_of() the problem
  double step_time_us = 0;
  HowFound found{};
  std::vector<std::string> devices{};  ///< names, in the order in which `placement` counts
  Placement placement{};               ///< index into `devices` of each group of kFinestGrouping

  /// Returns what the library holds of it.
  BestKnownStep step() const;

  /// Returns the name of its file, without a folder.
  std::string file_name() const;

  bool operator==(const BestKnown&) const = default;
};

/// Returns the entry as JSON text.
std::string write_best_known(const BestKnown& entry);

/// Reads such text; `source` names it in errors. Throws kFormat. Whether graph and cluster exist is
/// not checked.
BestKnown read_best_known(std::string_view text, const std::string& source);

/// Reads the members of such text that describe the step; others need not be there. Throws kFormat.
BestKnownStep read_best_known_step(std::string_view text, const std::string& source);

/// Returns all entries in the folder `path`, sorted by file name. Throws kIo or kFormat, also if a
/// file does not have the name of its entry.
std::vector<BestKnown> read_best_known_folder(const std::string& path);

/// Returns the entry of a graph and cluster in the folder `path`, if there is one; it may be stale.
/// Throws kIo or kFormat.
std::optional<BestKnown> read_best_known_of(const std::string& path, std::string_view graph,
                                            std::string_view cluster);

/// Returns the steps that this program was built with, sorted by the names of their files.
std::vector<BestKnownStep> shipped_best_known();

/// Returns the shipped step of a graph and cluster, if there is one; it may be stale.
std::optional<BestKnownStep> find_best_known(std::string_view graph, std::string_view cluster);

/// Loads a graph and a cluster with the groups of best-known placements. Throws kUnknownName unless
/// the graph is in the catalog and the cluster is shipped.
Problem load_finest_problem(std::string_view graph, std::string_view cluster);

/// Writes a placement of `problem`, whatever its grouping, in the groups of `finest`, which take
/// the priorities of the groups that they were part of; nothing if two ops of such a group are on
/// different devices. Requires: both are groupings of one graph.
std::optional<Placement> at_grouping(const Grouping& finest, const Problem& problem,
                                     const Placement& placement);

/// Simulates a placement of a problem of load_finest_problem() and makes it an entry; nothing if it
/// runs out of memory.
std::optional<BestKnown> make_best_known(std::string_view graph, std::string_view cluster,
                                         const Problem& problem, const Placement& placement,
                                         HowFound found);

/// Whether an entry is still valid.
struct BestKnownCheck {
  std::string complaint{};             ///< why the entry is not valid; empty if it is
  std::optional<BestKnown> renewed{};  ///< the same placement, simulated again, if it still fits

  bool valid() const { return complaint.empty(); }
};

/// Simulates an entry again and compares hash and step time, bit for bit. Requires: `problem` is of
/// load_finest_problem() for its graph and cluster.
BestKnownCheck check_best_known(const BestKnown& entry, const Problem& problem);

/// What an update did with an entry.
enum class BestKnownUpdate : std::uint8_t {
  kAdded,     ///< there was none
  kImproved,  ///< the candidate is faster
  kRenewed,   ///< there was one that was not valid
  kKept,      ///< the candidate is no faster, or there is none
  kNoneFits,  ///< neither the candidate nor a placement that was there fits; nothing was written
};

/// Returns "added", "improved", "renewed", "kept" or "none fits".
std::string_view to_string(BestKnownUpdate update);

/// What an update did.
struct BestKnownUpdateResult {
  BestKnownUpdate update = BestKnownUpdate::kKept;
  std::optional<BestKnown> before{};  ///< what was in the folder, valid or not
  std::optional<BestKnown> now{};     ///< what is in the folder now; nothing if none fits
};

/// Writes the better of `candidate` and the entry in the folder `path` for this graph and cluster.
/// For an entry that is not valid, its placement is simulated again. The folder is made if there is
/// none. Other processes may update it at the same time: it is locked while entries are compared,
/// and each is replaced as a whole. Throws kIo or kFormat. Requires: as check_best_known().
BestKnownUpdateResult update_best_known(const std::string& path, std::string_view graph,
                                        std::string_view cluster, const Problem& problem,
                                        const std::optional<BestKnown>& candidate);

}  // namespace emplace::bench
