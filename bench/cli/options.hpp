#pragma once

// Options that several commands share, and how mistakes in them are told.

#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/constraints.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Not <CLI/App.hpp>, which takes seconds to compile: most users of this header add no option.
namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
class Option;
}  // namespace CLI

namespace emplace::cli {

/// Evaluations that an agent may use unless told otherwise.
inline constexpr std::int64_t kDefaultEvaluations = 1000;

/// Most episodes that a user may ask for.
inline constexpr std::int64_t kMaxEpisodes = 1'000'000'000;

/// Names a problem.
struct ProblemOptions {
  std::string graph{};
  std::string cluster{};
  std::int64_t groups = 0;             ///< 0: the default of the grouping
  std::string given_grouping{};        ///< strategy; if empty, that of grouping()
  bool no_framework = false;           ///< costs are those of ops alone
  Constraints constraints{};           ///< on placements
  std::string constraints_file{};      ///< path of a file with more of them, or empty
  std::vector<std::string> changes{};  ///< to parameters of the graph, or of the cluster's parts
  std::string objective{"step"};       ///< or "throughput"
  std::int64_t steps_in_flight = 0;    ///< for throughput; 0: as many as keep all devices busy

  /// Returns the strategy that the options mean.
  std::string grouping() const { return std::string(grouping_for(given_grouping, groups)); }

  /// Makes `no_framework`, constraints and changes parameters of the graph and the cluster, where
  /// these are named.
  void add_parameters();
};

/// Says who places, and with what.
struct AgentOptions {
  std::string agent{};
  std::int64_t evaluations = kDefaultEvaluations;
  std::optional<double> time_limit_s{};  ///< instead of evaluations
  std::int64_t seed = 0;
  std::string from{};  ///< path of a placement file from which a search starts, or empty
};

/// Chooses a cell of a run. Without its id, it is the fastest one of the graph and the cluster.
struct CellChoice {
  std::string folder{};   ///< of the run, or empty
  std::string id{};       ///< of the cell or the first digits of it, or empty
  std::string graph{};    ///< empty: the only one of the run
  std::string cluster{};  ///< empty: the only one of the run
};

/// A format of answers, and the ending of the files that have it.
struct AnswerFormat {
  std::string_view name{};
  std::string_view ending{};
  bool needs_file = false;  ///< it is no text
};

/// Throws kUsage if two outputs, each with what it is called and its path (empty: none), are one
/// file, which need not exist yet: the second would overwrite the first.
void refuse_same_files(std::span<const std::pair<std::string_view, std::string>> files);

/// Throws kIo unless the file `path` (empty: none) could be written: what took minutes to measure
/// must not be lost for a misspelt name.
void expect_writable(const std::string& path);

/// Throws kUsage if `path`, the value of `option`, has an ending that is none of `endings`.
void expect_ending(std::string_view option, std::string_view path,
                   std::span<const std::string_view> endings);

/// Adds GRAPH.
CLI::Option* add_graph(CLI::App& command, std::string& graph);

/// Adds GRAPH...
CLI::Option* add_graphs(CLI::App& command, std::vector<std::string>& graphs);

/// Adds --cluster.
CLI::Option* add_cluster(CLI::App& command, std::string& cluster);

/// Adds --groups and --grouping.
void add_grouping_options(CLI::App& command, ProblemOptions& options);

/// Adds --pin, --together, --exclude, --memory-limit and --constraints.
void add_constraint_options(CLI::App& command, ProblemOptions& options);

/// Adds GRAPH, --cluster, --groups and --grouping, --set, and those of constraints.
void add_problem_options(CLI::App& command, ProblemOptions& options);

/// Adds --objective and --steps-in-flight.
void add_objective_options(CLI::App& command, ProblemOptions& options);

/// Adds --agent, --evaluations, --time-limit and --seed.
void add_agent_options(CLI::App& command, AgentOptions& options);

/// Adds --placement.
CLI::Option* add_placement(CLI::App& command, std::string& placement);

/// Adds --evaluations.
CLI::Option* add_evaluations(CLI::App& command, std::int64_t& evaluations);

/// Adds --seed.
CLI::Option* add_seed(CLI::App& command, std::int64_t& seed);

/// Adds -o, --output for what `what` says, a TYPE such as "FILE".
CLI::Option* add_output(CLI::App& command, std::string& output, const std::string& what,
                        const std::string& type = "FILE");

/// Adds --format, one of `formats` or "terminal".
void add_format(CLI::App& command, std::string& format, std::span<const AnswerFormat> formats);

/// Returns the format of an answer: "json" with --json, otherwise the one that was `given`,
/// otherwise the one that the ending of the file `output` implies, otherwise "terminal". Throws
/// kUsage if that ending implies none, and where a format needs a file.
std::string choose_format(bool json, const std::string& given, std::string_view output,
                          std::span<const AnswerFormat> formats);

/// Parses the command line. Returns false if it asked for help or the version, which are then
/// printed. Throws Error of kUsage, with the nearest names for a command or option that does not
/// exist.
bool parse(CLI::App& app, int argc, const char* const* argv);

}  // namespace emplace::cli
